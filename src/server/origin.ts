import type { IncomingHttpHeaders } from 'node:http'
import { faults } from '../faults/catalogue.ts'
import type { Fault } from '../faults/fault.ts'

/** The names of the machine itself. */
export const loopbackNames = ['localhost', '127.0.0.1', '[::1]'] as const

/** The names under which a server may be reached. */
export interface Names {
  /** What the server may be called in the Host header, without the port. */
  readonly hosts: readonly string[]
  /** Pages of others that may ask, such as `https://ops.example.com`. */
  readonly origins: readonly string[]
}

/**
 * A web page that someone visits can make the browser ask anything of this
 * machine. What gives it away: the name it was reached by (a name of theirs
 * that leads here), the page it comes from, and what the browser says of both.
 */
export function refusedOrigin(
  headers: IncomingHttpHeaders,
  { hosts, origins }: Names,
  isPage: boolean,
): Fault | undefined {
  const { host = '', origin, 'sec-fetch-site': site } = headers
  if (!hosts.includes(nameOf(host))) return faults.host_refused({ host, accepted: hosts })
  if (origin !== undefined && !isOwn(origin, host) && !origins.includes(origin))
    return faults.origin_refused({ origin })
  const isAllowedOrigin = origin !== undefined && origins.includes(origin)
  // A link on another site may lead to the console: the page itself reveals nothing.
  if (site === undefined || site === 'same-origin' || site === 'none' || isPage || isAllowedOrigin) return undefined
  return faults.origin_refused({ origin: origin ?? 'another site' })
}

function nameOf(host: string): string {
  return host.replace(/:\d+$/, '').toLowerCase()
}

function isOwn(origin: string, host: string): boolean {
  return origin === `http://${host}` || origin === `https://${host}`
}
