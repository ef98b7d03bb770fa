import type { Client } from '@modelcontextprotocol/client'
import { boundedJson, jsonLimits } from '../../kernel/bounded-json.ts'
import { printableJson } from '../../kernel/printable.ts'
import { messageOf } from './failure.ts'

type Transport = NonNullable<Client['transport']>

/** The blocks that a result may have; a library that checks 100,000 wrong ones takes seconds to say so. */
const mostBlocks = 1_000

/**
 * Looks at what a server sends before the library does. A request or a notification beyond `jsonLimits.arguments` is
 * refused, and a result keeps its first blocks only. A list of tools with one beyond `jsonLimits.schema` becomes an
 * error: the library would exhaust the stack over a deep schema.
 */
export function boundMessages(transport: Transport, warn: (problem: string) => void): void {
  const hear = transport.onmessage
  transport.onmessage = (message, extra) => {
    if ('result' in message && Array.isArray(message.result.content))
      message.result.content = message.result.content.slice(0, mostBlocks)
    const unfit =
      'result' in message && Array.isArray(message.result.tools) ? unfitTool(message.result.tools) : undefined
    if (unfit !== undefined && 'result' in message)
      return hear?.({ jsonrpc: '2.0', id: message.id, error: { code: -32603, message: unfit } }, extra)
    const read = 'method' in message ? boundedJson(message.params ?? {}, jsonLimits.arguments) : { value: null }
    if ('value' in read) return hear?.(message, extra)
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
