/** The HTTP server with its console, started by a program. `statewright serve` starts the same from a config file. */
import './node-version.ts'
import { checkConfig } from '../app/config.ts'
import type { Config } from '../app/load-config.ts'
import type { Fault } from '../faults/fault.ts'

/** What wins over `server` in the config. */
export interface ServeOptions {
  readonly host?: string
  /** Default: 4400, or any free port if that one is taken. */
  readonly port?: number
  /** More names that the server answers to. */
  readonly hosts?: readonly string[]
  /** Files in PEM. Without them the server listens to this machine only. */
  readonly tls?: { readonly cert: string; readonly key: string }
  /** Listens to other machines without TLS, because a proxy in front encrypts. */
  readonly allowPlainHttp?: boolean
  /** Logs warnings only, and not each request. */
  readonly quiet?: boolean
  /** Gets each line of the log. Default: stderr. */
  readonly log?: (line: string) => void
}

/** A server that listens. */
export interface RunningServer {
  /** Such as `http://127.0.0.1:4400`. */
  readonly url: string
  /** The file with the token of the owner; null if the token ends with the process. */
  readonly token_file: string | null
  /** The token, if this start made it; otherwise null. */
  readonly new_token: string | null
  /** Resolves when the store accepts nothing more from this process. Stop the server then, and start again. */
  readonly broken: Promise<Fault>
  /** Ends streams and requests, releases every run at its next boundary, and closes the store. */
  stop(): Promise<void>
}

/** Opens the store, begins to work and listens. Refuses a config that does not fit before anything is opened. */
export async function serve(config: Config, options: ServeOptions = {}): Promise<RunningServer> {
  checkConfig(config)
  // The server is loaded with the first call: a program that only names its types does not load it.
  const { serveConfig } = await import('../app/serve.ts')
  const { host, port, hosts = [], tls, allowPlainHttp = false, quiet = false } = options
  const { log = (line: string) => void process.stderr.write(`${line}\n`) } = options
  const asked = { host, port, hosts, tls, is_quiet: quiet, allow_plain_http: allowPlainHttp }
  const { url, token_file, new_token, broken, stop } = await serveConfig(config, asked, { onRune: () => {}, warn: log })
  return { url, token_file, new_token, broken, stop }
}

export type { ServerConfig } from '../app/statewright.ts'
export type { Limits } from '../server/limits.ts'
export type { Scope } from '../surface/operation.ts'
