import type { CallToolResult } from '@modelcontextprotocol/client'
import type { Json } from '../../kernel/json.ts'
import { marked } from './failure.ts'

/**
 * What a server answered, as a value: what is structured before what is text,
 * and everything else as the blocks it came in. An answer that calls itself an
 * error is the server's own statement that the call failed: it is thrown, with
 * the server's words.
 */
export function readResult({ content, structuredContent, isError }: CallToolResult): Json {
  if (isError === true) throw marked(textOf(content) || 'It failed.', 'tool')
  if (structuredContent !== undefined) return structuredContent as Json
  const isText = content.every((block) => block.type === 'text')
  // The blocks came as JSON over the wire; the client's types do not say so.
  return isText ? textOf(content) : (content as unknown as Json)
}

function textOf(content: CallToolResult['content']): string {
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n')
}
