import type { CallToolResult, Tool as Listed } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { canonicalJson } from '../../kernel/canonical-json.ts'
import type { Json } from '../../kernel/json.ts'
import { printableName } from '../../kernel/printable.ts'
import { tool } from '../../runtime/tools/define-tool.ts'
import { foreignShape } from '../../runtime/tools/foreign-schema.ts'
import type { Tool } from '../../runtime/tools/tool.ts'
import { quoted } from '../../runtime/untrusted.ts'
import type { Connection } from './connection.ts'
import { marked } from './failure.ts'
import type { McpServer } from './server-config.ts'

interface Ports {
  readonly connection: Connection
  readonly warn: (problem: string) => void
}

/** A tool of a server as one of ours. Models are told the server's own schema, word for word. */
export function mcpTool(server_name: string, server: McpServer, listed: Listed, { connection, warn }: Ports): Tool {
  const properties = propertiesOf(server, listed)
  const { $schema, ...inputSchema } = listed.inputSchema as Record<string, Json>
  return tool({
    ...properties,
    name: nameOf(server_name, listed.name),
    description: descriptionOf(server_name, server, listed.description ?? ''),
    input: shapeOf(listed.inputSchema, (problem) => warn(`${printableName(listed.name)}: ${problem}`)),
    inputSchema,
    version: versionOf(server),
    parallel: properties.readOnly,
    maxOutputBytes: server.maxOutputBytes,
    // Only the config declares that two calls are one action; without that, each call is its own action.
    dedupe: Object.hasOwn(server.tools, listed.name) && server.tools[listed.name]?.irreversible === true,
    run: async (args, context) => readResult(await connection.call(listed, args as Json, context)),
  })
}

const longestDescription = 4_000

/** The words of a server that is not trusted are quoted: a provider shows them to its model beside our instructions. */
function descriptionOf(server_name: string, { trusted }: McpServer, given: string): string {
  const said = given.slice(0, longestDescription).toWellFormed()
  return trusted || said === '' ? said : `The MCP server ${server_name} describes it in its own words: ${quoted(said)}`
}

/** Servers may use any character; our names may not. */
export function nameOf(server_name: string, tool_name: string): string {
  return `${server_name}.${tool_name.replaceAll(/[^a-zA-Z0-9_-]/g, '_')}`
}

/**
 * A schema that cannot be checked here is left to the server, which checks its arguments anyway. The config's owner is
 * told why, since a call may then be approved with arguments that the server refuses.
 */
function shapeOf(schema: Listed['inputSchema'], warn: (problem: string) => void): z.ZodType {
  const read = foreignShape(schema)
  if ('shape' in read) return read.shape
  warn(`its input schema is left to the server: ${read.problem}`)
  return z.looseObject({})
}

/** An approval counts for what stands behind the name: another command line or address needs a new one. */
function versionOf(server: McpServer): string {
  return 'url' in server
    ? server.url
    : canonicalJson({ command: server.command, args: server.args, cwd: server.cwd ?? null })
}

type Properties = Pick<Tool, 'irreversible' | 'idempotent' | 'readOnly' | 'approval' | 'timeoutMs'>

/**
 * What holds for a tool of a server. Annotations are hints of a server that may be hostile: they count only where the
 * config trusts it, and only as far as the config lets them. Without them a tool cannot be undone, cannot be repeated
 * and needs approval. What the config declares about a tool wins.
 */
export function propertiesOf(server: McpServer, { name, annotations = {} }: Listed): Properties {
  const believed = (hint: McpServer['relax'][number], says: boolean | undefined) =>
    server.trusted && server.relax.includes(hint) && says === true
  const declared = Object.hasOwn(server.tools, name) ? server.tools[name] : undefined

  const readOnly = declared?.readOnly ?? believed('read_only', annotations.readOnlyHint)
  const idempotent = readOnly || (declared?.idempotent ?? believed('idempotent', annotations.idempotentHint))
  const isReversible = readOnly || believed('reversible', annotations.destructiveHint === false)
  return {
    readOnly,
    idempotent,
    irreversible: declared?.irreversible ?? !isReversible,
    approval: declared?.approval ?? server.approval ?? (server.trusted ? 'inherit' : 'always'),
    timeoutMs: declared?.timeoutMs ?? server.timeoutMs,
  }
}

/**
 * What a server answered, as a value: what is structured before what is text, and everything else as the blocks it came
 * in. An answer that calls itself an error is the server's own statement that the call failed: it is thrown, with the
 * server's words.
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
