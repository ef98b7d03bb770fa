import type { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { boundedJson, jsonLimits } from '../../kernel/json.ts'
import { printableJson } from '../../kernel/printable.ts'
import { messageOf } from './failure.ts'

/** The longest message that is taken from a server over HTTP; a local server has the same limit in its library. */
const longestMessage = 10 * 1024 * 1024

/** `fetch` with a limit on each message of the answer. In a stream the limit counts from event to event. */
export async function boundedFetch(...request: Parameters<typeof fetch>): Promise<Response> {
  const response = await withinOrigin(...request)
  if (response.body === null) return response
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  const limited = response.body.pipeThrough(limiting(isStream))
  const { status, statusText, headers } = response
  return Object.defineProperty(new Response(limited, { status, statusText, headers }), 'url', { value: response.url })
}

const redirects = 5

/** The configured headers hold secrets for this server alone: a redirect to another origin is refused. */
async function withinOrigin(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
  let url = new URL(input instanceof Request ? input.url : input)
  for (let left = redirects; ; left--) {
    const response = await fetch(url, { ...init, redirect: 'manual' })
    const to = response.headers.get('location')
    if (response.status < 300 || response.status >= 400 || to === null) return response
    await response.body?.cancel()
    const next = new URL(to, url)
    if (next.origin !== url.origin)
      throw new Error(`it redirects to ${next.origin}; only redirects within ${url.origin} are followed`)
    if (left === 0) throw new Error(`it redirects more than ${redirects} times`)
    url = next
  }
}

function limiting(isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let length = 0
  let last = 0
  return new TransformStream({
    transform(piece, controller) {
      for (const byte of isStream ? piece : []) {
        length = byte === 10 && last === 10 ? 0 : length + 1
        if (byte !== 13) last = byte
        if (length > longestMessage) break
      }
      if (!isStream) length += piece.length
      if (length > longestMessage) controller.error(new Error(`a message has more than ${longestMessage} bytes`))
      else controller.enqueue(piece)
    },
  })
}

type Transport = NonNullable<Client['transport']>

/** The most blocks of a result: the library takes seconds to check 100,000 wrong ones. */
const mostBlocks = 1_000

/** Bounds what a server sends before the library sees it: a deep schema would exhaust the library's stack. */
export function boundMessages(transport: Transport, warn: (problem: string) => void): void {
  const pass = transport.onmessage
  transport.onmessage = (message, extra) => {
    if ('result' in message && Array.isArray(message.result.content))
      message.result.content = message.result.content.slice(0, mostBlocks)
    const unfit =
      'result' in message && Array.isArray(message.result.tools) ? unfitTool(message.result.tools) : undefined
    if (unfit !== undefined && 'result' in message)
      return pass?.({ jsonrpc: '2.0', id: message.id, error: { code: -32603, message: unfit } }, extra)
    const read = 'method' in message ? boundedJson(message.params ?? {}, jsonLimits.arguments) : { value: null }
    if ('value' in read) return pass?.(message, extra)
    warn(`a message was refused: ${read.problem}`)
    if (!('id' in message) || message.id === undefined) return undefined
    const error = { code: -32602, message: `The parameters are refused: ${read.problem}` }
    transport.send({ jsonrpc: '2.0', id: message.id, error }).catch((failure: unknown) => warn(messageOf(failure)))
  }
}

function unfitTool(tools: readonly unknown[]): string | undefined {
  for (const tool of tools) {
    const read = boundedJson(tool, jsonLimits.schema)
    if ('value' in read) continue
    // A name of another type may be a list that is too deep to be written.
    const { name } = Object(tool)
    const shown = typeof name === 'string' ? printableJson(name.slice(0, 80).toWellFormed()) : 'without a name'
    return `its tool ${shown} is refused: ${read.problem}`
  }
  return undefined
}

type Send = StreamableHTTPClientTransport['send']
type Message = Parameters<NonNullable<StreamableHTTPClientTransport['onmessage']>>[0]

/** Identifies one call from the library's request to its transport. */
export type Mark = () => void

/** Calls `lost` when the HTTP stream of a call ends without an answer: the library would wait forever. */
export function watchLostAnswers(transport: StreamableHTTPClientTransport) {
  const awaited = new Set<unknown>()
  const calls = new WeakMap<Mark, () => void>()

  const send = transport.send.bind(transport)
  transport.send = (async (message: Message, options: Parameters<Send>[1]) => {
    if (!('method' in message) || !('id' in message)) return send(message, options)
    awaited.add(message.id)
    const onRequestStreamEnd = () => {
      options?.onRequestStreamEnd?.()
      if (awaited.delete(message.id)) calls.get(options?.onresumptiontoken as Mark)?.()
    }
    return send(message, { ...options, onRequestStreamEnd })
  }) as Send

  const pass = transport.onmessage
  transport.onmessage = (message) => {
    if (!('method' in message)) awaited.delete(message.id)
    pass?.(message)
  }

  return (mark: Mark, lost: () => void) => void calls.set(mark, lost)
}
