import type { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'

type Send = StreamableHTTPClientTransport['send']
type Message = Parameters<NonNullable<StreamableHTTPClientTransport['onmessage']>>[0]

/** Goes with one call from the library's request to its transport, and so tells one call from another. */
export type Mark = () => void

/**
 * Over HTTP every request has a line of its own, on which its answer comes. The library does not tell the request when
 * that line ends without one, and would wait for ever. From now on `lost` hears of it.
 */
export function hearLostAnswers(transport: StreamableHTTPClientTransport) {
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

  const hear = transport.onmessage
  transport.onmessage = (message) => {
    if (!('method' in message)) awaited.delete(message.id)
    hear?.(message)
  }

  return (mark: Mark, lost: () => void) => void calls.set(mark, lost)
}
