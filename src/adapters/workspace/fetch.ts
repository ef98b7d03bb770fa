import { type LookupAddress, lookup as systemLookup } from 'node:dns'
import { type IncomingMessage, request as plainRequest } from 'node:http'
import { request as secureRequest } from 'node:https'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import * as z from 'zod'
import type { Json } from '../../kernel/json.ts'
import { tool, toolDefaults } from '../../runtime/tools/define-tool.ts'
import type { Tool, ToolContext } from '../../runtime/tools/tool.ts'
import { breach } from './root.ts'

/** Options of the fetch tool. */
export interface FetchOptions {
  /** Host names that may be reached: `example.com`, or `*.example.com` for everything below it. */
  readonly allow: readonly string[]
  /** How long one page may take, in milliseconds. Default: 30000. */
  readonly timeoutMs?: number
  /** A longer page is kept whole and cut for the model. Default: 64000. */
  readonly maxOutputBytes?: number
  /** How many redirects are followed. Default: 5. */
  readonly maxRedirects?: number
  /** How names become addresses. A test has its own. */
  readonly lookup?: LookupFunction
  /** Which addresses may be reached. Default: public ones. */
  readonly isReachable?: (address: string) => boolean
}

/** Reads pages of the hosts that the config allows. */
export function fetchTool(options: FetchOptions): Tool {
  const { timeoutMs = 30_000, maxOutputBytes = toolDefaults.maxOutputBytes } = options
  return tool({
    name: 'http.fetch',
    description: `Reads a page over HTTP. It reaches ${options.allow.join(', ')}.`,
    input: z.object({ url: z.string().min(1) }),
    readOnly: true,
    timeoutMs,
    maxOutputBytes,
    run: ({ url }, context) => fetched(url, options, context),
  })
}

const most_bytes = 4_000_000

async function fetched(given: string, options: FetchOptions, { signal, redact }: ToolContext): Promise<Json> {
  let url = given
  const { maxRedirects = 5 } = options
  for (let left = maxRedirects; ; left--) {
    // Each redirect is checked like the first address: an allowed host may redirect to any other.
    const checked = allowed(url, options)
    const response = await get(checked, options, signal)
    const { statusCode: status = 0, headers } = response
    if (status >= 300 && status < 400 && headers.location !== undefined) {
      response.destroy()
      if (left <= 0) throw new Error(`${given} redirects more than ${maxRedirects} times.`)
      url = new URL(headers.location, checked).href
      continue
    }
    const { text, isCut } = await bodyOf(response)
    return { url: checked.href, status, content_type: headers['content-type'] ?? null, body: await redact(text, isCut) }
  }
}

function allowed(given: string, { allow }: FetchOptions): URL {
  if (!URL.canParse(given)) throw new Error(`${given} is not an address; write it in full, with https://.`)
  const url = new URL(given)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw breach(`${url.protocol} is not fetched, only http.`)
  if (url.username !== '' || url.password !== '') throw breach('An address with a name or password in it is refused.')
  const host = url.hostname.replace(/\.$/, '')
  const fits = (pattern: string) =>
    pattern.startsWith('*.') ? host.endsWith(pattern.slice(1).toLowerCase()) : host === pattern.toLowerCase()
  if (!allow.some(fits)) throw breach(`The host ${host} is not allowed. Allowed hosts: ${allow.join(', ') || 'none'}.`)
  return url
}

/** Looks the name up once, and connects to the address that was checked: a second lookup could give another one. */
function get(url: URL, options: FetchOptions, signal: AbortSignal): Promise<IncomingMessage> {
  const { lookup = systemLookup as LookupFunction, isReachable = isPublicAddress } = options
  const judged: LookupFunction = (host, asked, done) =>
    lookup(host, { ...asked, all: true }, (error, found) => {
      if (error) return done(error, [])
      const all = (Array.isArray(found) ? found : [{ address: found, family: isIP(found) }]) as LookupAddress[]
      const bad = all.find(({ address }) => !isReachable(address))
      if (bad !== undefined) return done(breach(`${host} is at ${bad.address}, which is not on the open internet.`), [])
      const [first] = all
      if (asked.all) done(null, all)
      else done(null, first?.address ?? '', first?.family)
    })
  const literal = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(literal) !== 0 && !isReachable(literal)) throw breach(`${literal} is not on the open internet.`)
  const start = url.protocol === 'https:' ? secureRequest : plainRequest
  return new Promise((resolve, reject) => {
    const headers = { 'user-agent': 'statewright', accept: 'text/*, application/json;q=0.9, */*;q=0.1' }
    start(url, { lookup: judged, signal, headers, agent: false }, resolve).on('error', reject).end()
  })
}

async function bodyOf(response: IncomingMessage): Promise<{ readonly text: string; readonly isCut: boolean }> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of response) {
    parts.push(part as Buffer)
    size += (part as Buffer).length
    if (size > most_bytes) break
  }
  return { text: Buffer.concat(parts).toString('utf8'), isCut: size > most_bytes }
}

/** Networks that are not on the open internet: this machine, private networks, and reserved addresses. */
const closed = networks(
  'ipv4',
  `0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
   192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4`,
)
/** Of IPv6 only what is given out to the world is open, and of that not what wraps another address. */
const open6 = networks('ipv6', '2000::/3')
const wrapped6 = networks('ipv6', '2001::/23 2001:db8::/32 2002::/16 3fff::/20')

function networks(family: 'ipv4' | 'ipv6', all: string): BlockList {
  const list = new BlockList()
  for (const [, net = '', bits] of all.matchAll(/(\S+)\/(\d+)/g)) list.addSubnet(net, Number(bits), family)
  return list
}

/** Whether an address belongs to the open internet. */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address)
  if (version === 4) return !closed.check(address, 'ipv4')
  return version === 6 && open6.check(address, 'ipv6') && !wrapped6.check(address, 'ipv6')
}
