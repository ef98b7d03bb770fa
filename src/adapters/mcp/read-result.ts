import type { CallToolResult } from '@modelcontextprotocol/client'
import type { Json } from '../../kernel/json.ts'

/**
 * What a server answered, as a value: what is structured before what is text,
 * and everything else as the blocks it came in. An answer that calls itself an
 * error is thrown, with the server's own words.
 */
export function readResult({ content, structuredContent, isError }: CallToolResult): Json {
  if (isError === true) throw Object.assign(new Error(textOf(content) || 'It failed.'), { error_kind: 'tool' })
  if (structuredContent !== undefined) return structuredContent as Json
  const isText = content.every((block) => block.type === 'text')
  return isText ? textOf(content) : (content as unknown as Json)
}

function textOf(content: CallToolResult['content']): string {
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n')
}
