/** The HTTP server with its console, started by a program. `statewright serve` starts the same from a config file. */
import './node-version.ts'
import * as z from 'zod'
import { checkConfig } from '../app/config.ts'
import type { StatewrightOptions } from '../app/statewright.ts'
import { faults } from '../faults/catalogue.ts'
import type { Fault } from '../faults/fault.ts'
import { closedObject, fieldProblems, problemSentence } from '../runtime/shape-problems.ts'
import type { ServingOptions } from '../surface/wiring.ts'

/** How a server is started, and where its log goes. */
export interface ServeOptions extends ServingOptions {
  /** Gets each line of the log. Default: stderr. */
  readonly log?: (line: string) => void
}

const serveOptions = closedObject({
  host: z.string().min(1).optional(),
  port: z.int().min(0).max(65_535).optional(),
  hosts: z.array(z.string()).optional(),
  tls: closedObject({ cert: z.string(), key: z.string() }).optional(),
  allowPlainHttp: z.boolean().optional(),
  quiet: z.boolean().optional(),
  log: z.custom((given) => typeof given === 'function', 'It is not a function.').optional(),
})

/** A server that listens. */
export interface RunningServer {
  /** Such as `http://127.0.0.1:4400`. */
  readonly url: string
  /** The file with the token of the owner; null if the token ends with the process. */
  readonly tokenFile: string | null
  /** The token, if this start made it; otherwise null. */
  readonly newToken: string | null
  /** Resolves when the store accepts nothing more from this process. Stop the server then, and start again. */
  readonly broken: Promise<Fault>
  /** Ends streams and requests, releases every run at its next boundary, and closes the store. */
  stop(): Promise<void>
}

/** Opens the store, begins to work and listens. Refuses a config that does not fit before anything is opened. */
export async function serve(config: StatewrightOptions, options: ServeOptions = {}): Promise<RunningServer> {
  checkConfig(config)
  const { store } = config
  const bad = (problem: string) => faults.bad_definition({ what: 'server', name: 'serve', problem })
  if (typeof store !== 'string')
    throw bad('It opens its store itself; give the address of the store, not an open store.')
  const read = serveOptions.safeParse(options)
  if (!read.success) throw bad(`${problemSentence(fieldProblems(read.error))}.`)
  // The server is loaded with the first call: a program that only names its types does not load it.
  const { serveConfig } = await import('../app/serve.ts')
  const { log: warn = (line: string) => void process.stderr.write(`${line}\n`), ...asked } = options
  const io = { onRune: () => {}, warn }
  const { url, token_file, new_token, broken, stop } = await serveConfig({ ...config, store }, asked, io)
  return { url, tokenFile: token_file, newToken: new_token, broken, stop }
}

export type { ServerConfig } from '../app/statewright.ts'
export type { Limits } from '../server/limits.ts'
export type { Scope } from '../surface/operation.ts'
