import type { Client } from '@modelcontextprotocol/client'
import { boundedJson, jsonLimits } from '../../kernel/bounded-json.ts'

type Transport = NonNullable<Client['transport']>

/** The blocks that a result may have; a library that checks 100,000 wrong ones takes seconds to say so. */
const mostBlocks = 1_000

/**
 * Looks at what a server sends before the library does. A request or a notification beyond `jsonLimits.arguments` is
 * refused, and a result keeps its first blocks only.
 */
export function boundMessages(transport: Transport, warn: (problem: string) => void): void {
  const hear = transport.onmessage
  transport.onmessage = (message, extra) => {
    if ('result' in message && Array.isArray(message.result.content))
      message.result.content = message.result.content.slice(0, mostBlocks)
    const read = 'method' in message ? boundedJson(message.params ?? {}, jsonLimits.arguments) : { value: null }
    if ('value' in read) return hear?.(message, extra)
    warn(`a message was refused: ${read.problem}`)
    if (!('id' in message) || message.id === undefined) return undefined
    const error = { code: -32602, message: `The parameters are refused: ${read.problem}` }
    transport.send({ jsonrpc: '2.0', id: message.id, error }).catch((failure: unknown) => warn(String(failure)))
  }
}
