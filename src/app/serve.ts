import { existsSync, readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { createIds, hostPorts, systemTimers } from '../adapters/host/ports.ts'
import { forgetToken, newToken, openToken } from '../adapters/host/secret-files.ts'
import { refuseName } from '../adapters/sqlite/open-database.ts'
import { faults, fileRefused } from '../faults/catalogue.ts'
import { tokenOf } from '../server/guard.ts'
import { createLogger } from '../server/log.ts'
import { streamRoutes } from '../server/routes.ts'
import { createServer } from '../server/server.ts'
import { createStreams } from '../server/streams/streams.ts'
import { operations } from '../surface/operations/all.ts'
import { parseStoreUrl } from '../surface/store-url.ts'
import {
  defaultHost,
  defaultPort,
  type ServerAsked,
  type Serving,
  type ServingOptions,
  type WorkingIo,
} from '../surface/wiring.ts'
import { isLoopback, isLoopbackHost } from '../wire/common.ts'
import { backendOf } from './backend.ts'
import { type Config, configAt } from './load-config.ts'
import { packageVersion } from './package-version.ts'
import { startWorking } from './start-worker.ts'
import { keyOf, tokenFileOf } from './store-key.ts'
import { cleaning, knownSecrets, logLevel } from './warnings.ts'

/** Starts a server as a config file describes it. */
export async function startServer(asked: ServerAsked, io: WorkingIo): Promise<Serving> {
  return serveConfig(await configAt(asked), asked, io)
}

/** Starts a server for a config. If a step fails, it undoes the steps before. */
export async function serveConfig(config: Config, asked: ServingOptions, io: WorkingIo): Promise<Serving> {
  const { server = {} } = config
  const host = asked.host ?? server.host ?? defaultHost
  if (!isLoopbackHost(host) && asked.tls === undefined && !asked.allowPlainHttp) throw faults.bind_refused({ host })
  const usualLevel = asked.quiet ? 'warn' : 'info'
  const tls = asked.tls === undefined ? {} : { tls: readTls(asked.tls) }
  const own = ownToken(config.store)
  // No token reaches the disk or a log, not even inside a message.
  const secrets = { ...knownSecrets(config), 'token of the owner': own.token }
  // A token that was never shown is removed again: the next start makes another.
  const undo: (() => unknown)[] = [() => own.isNew && own.file !== null && forgetToken(own.file)]
  try {
    const { sw, store, warn, working } = await startWorking(config, io, { secrets, usualLevel })
    undo.unshift(working.stop)
    const ids = createIds(hostPorts.random, hostPorts.now)
    let isLeaving = false
    let isBroken = false
    void working.broken.then(() => {
      isBroken = true
    })
    // The key is made when the server starts, like its token, so that no request makes one.
    const key = keyOf(config.store)
    key.signer()
    const backend = backendOf(sw, key)
    const { limits = {} } = server
    const cleanWarn = cleaning(secrets, store.redactor).cleanWarn(warn)
    const streams = createStreams({ backend, timers: systemTimers, warn: cleanWarn }, limits)
    const app = createServer({
      backend,
      operations,
      streams: streamRoutes(streams),
      tokens: [
        tokenOf('owner', 'admin', own.token),
        ...(server.tokens ?? []).map(({ name, scope, token }) => tokenOf(name, scope, token)),
      ],
      version: packageVersion(),
      newId: () => ids.next('req'),
      timers: systemTimers,
      logger: createLogger(store.redactor, { write: (line) => io.warn(line.trimEnd()) }, logLevel(usualLevel)),
      hosts: [...(server.hosts ?? []), ...(asked.hosts ?? [])],
      origins: server.origins ?? [],
      limits,
      ...tls,
      ...consoleFolder(),
      isLeaving: () => isLeaving,
      isBroken: () => isBroken,
    })
    const url = await listen(app, host, asked.port ?? server.port, asked.tls !== undefined)
    const here = announced(url)
    if (here !== null) store.announce?.(here)
    return {
      ...working,
      url,
      token_file: own.file,
      new_token: own.isNew ? own.token : null,
      async stop() {
        isLeaving = true
        streams.close()
        await app.close()
        await working.stop()
      },
    }
  } catch (error) {
    for (const step of undo) await step()
    throw error
  }
}

/** The address for commands on this machine; null if they need `--server`. */
function announced(url: string): string | null {
  const here = new URL(url)
  if (here.hostname === '0.0.0.0') here.hostname = defaultHost
  if (here.hostname === '[::]') here.hostname = '[::1]'
  return isLoopback(here.origin) ? here.origin : null
}

async function listen(app: ReturnType<typeof createServer>, host: string, port: number | undefined, isSecure: boolean) {
  try {
    await app.listen({ host, port: port ?? defaultPort })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code !== 'EADDRINUSE' || port !== undefined)
      throw faults.address_unusable({ address: `${host}:${port ?? defaultPort}`, problem: `${message}.` })
    await app.listen({ host, port: 0 })
  }
  const { port: bound } = app.server.address() as AddressInfo
  return `${isSecure ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${bound}`
}

/** The owner's token, from its file. A store in memory has a token that ends with the process. */
function ownToken(store: string): { token: string; isNew: boolean; file: string | null } {
  const place = parseStoreUrl(store)
  if (place.kind === 'memory') return { token: newToken(), isNew: true, file: null }
  if (place.kind === 'sqlite') refuseName(place.path)
  const file = tokenFileOf(store)
  return { ...openToken(file), file }
}

function readTls({ cert, key }: { cert: string; key: string }) {
  const read = (file: string) => {
    try {
      return readFileSync(file, 'utf8')
    } catch (error) {
      throw fileRefused(file, error)
    }
  }
  return { cert: read(cert), key: read(key) }
}

/** The built console. The path is the same from `src/app` and from `dist/app`. */
function consoleFolder(): { console_folder?: string } {
  const folder = fileURLToPath(new URL('../../dist/console', import.meta.url))
  return existsSync(`${folder}/index.html`) ? { console_folder: folder } : {}
}
