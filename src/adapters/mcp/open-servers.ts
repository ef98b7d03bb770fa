import type { CallToolResult, Tool as Listed } from '@modelcontextprotocol/client'
import * as z from 'zod'
import { faults, isFault } from '../../faults/catalogue.ts'
import { asJson, canonicalJson, type Json } from '../../kernel/json.ts'
import { printable, printableName } from '../../kernel/printable.ts'
import { quoted } from '../../runtime/model.ts'
import { tool } from '../../runtime/tools/define-tool.ts'
import { foreignShape } from '../../runtime/tools/foreign-schema.ts'
import type { Tool } from '../../runtime/tools/tool.ts'
import { type Connection, connectionTo } from './connection.ts'
import { marked, messageOf } from './failure.ts'
import { loadSdk } from './sdk.ts'
import type { McpServer } from './server-config.ts'

/** All connected MCP servers. */
export type McpServers = Awaited<ReturnType<typeof openServers>>

/** Reports problems. `clean` removes the secrets that a server was given from its texts. */
interface McpPorts {
  readonly warn: (message: string, details: object) => void
  readonly clean: (text: string) => string
  readonly version: string
}

/** Starts or reaches every server of the config and lists its tools. One that cannot be used refuses the whole start. */
export async function openServers(servers: Readonly<Record<string, McpServer>>, { warn, clean, version }: McpPorts) {
  const warnOf = (name: string) => (problem: string) =>
    warn('an MCP server reported a problem', { server: name, problem })
  const connect = async ([name, server]: readonly [string, McpServer]) =>
    [name, connectionTo(name, server, { sdk: await loadSdk(), warn: warnOf(name), version })] as const
  const connections = new Map(await Promise.all(Object.entries(servers).map(connect)))
  const cleaned = (error: unknown): never => {
    if (!isFault(error, 'server_unusable')) throw error
    const { server, problem } = error.details
    throw faults.server_unusable({ server, problem: printable(clean(problem)) })
  }
  const close = async () => {
    await Promise.all([...connections.values()].map((connection) => connection.close()))
  }
  try {
    const listed = await Promise.all(
      [...connections].map(async ([name, connection]) => {
        const server = servers[name] as McpServer
        return [name, await toolsOf(name, server, { connection, warn: warnOf(name) }).catch(cleaned)] as const
      }),
    )
    /** The tools of each server, by its name in the config. */
    const tools: ReadonlyMap<string, readonly Tool[]> = new Map(listed)
    return { tools, connections, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function toolsOf(name: string, server: McpServer, ports: Ports) {
  const refused = (problem: string) => faults.server_unusable({ server: name, problem })
  const listed = await ports.connection.list().catch((error) => Promise.reject(refused(messageOf(error))))
  const unknown = Object.keys(server.tools).find((tool) => !listed.some((l) => l.name === tool))
  const known = listed.map((l) => printableName(l.name)).join(', ')
  if (unknown !== undefined)
    throw refused(`mcp.${name}.tools.${printableName(unknown)}: It has no such tool; it has ${known}.`)
  return listed.map((each) => mcpTool(name, server, each, ports))
}

type Ports = { readonly connection: Connection; readonly warn: (problem: string) => void }

/** A tool of a server as one of ours. Models get the server's own schema, word for word. */
export function mcpTool(server_name: string, server: McpServer, listed: Listed, { connection, warn }: Ports): Tool {
  const properties = propertiesOf(server, listed)
  const { $schema, ...inputSchema } = listed.inputSchema as Record<string, Json>
  return tool({
    ...properties,
    name: `${server_name}.${listed.name.replaceAll(/[^a-zA-Z0-9_-]/g, '_')}`,
    description: descriptionOf(server_name, server, listed.description ?? ''),
    input: shapeOf(listed.inputSchema, (problem) => warn(`${printableName(listed.name)}: ${problem}`)),
    inputSchema,
    version: versionOf(server),
    parallel: properties.readOnly,
    maxOutputBytes: server.maxOutputBytes,
    // Only the config declares that two calls are one action; by default each call is its own action.
    dedupe: Object.hasOwn(server.tools, listed.name) && server.tools[listed.name]?.irreversible === true,
    run: async (args, context) => readResult(await connection.call(listed, args as Json, context)),
  })
}

const longestDescription = 4_000

/** The words of a server that is not trusted are quoted: a provider shows them to its model with our instructions. */
function descriptionOf(server_name: string, { trusted }: McpServer, given: string): string {
  const words = given.slice(0, longestDescription).toWellFormed()
  return trusted || words === ''
    ? words
    : `The MCP server ${server_name} describes it in its own words: ${quoted(words)}`
}

/** A schema that cannot be checked here is left to the server, with a warning. */
function shapeOf(schema: Listed['inputSchema'], warn: (problem: string) => void): z.ZodType {
  const read = foreignShape(schema)
  if ('shape' in read) return read.shape
  warn(`its input schema is left to the server: ${read.problem}`)
  return z.looseObject({})
}

/** An approval covers the server behind the name: another command line or address needs a new one. */
function versionOf(server: McpServer): string {
  return 'url' in server
    ? server.url
    : canonicalJson({ command: server.command, args: server.args, cwd: server.cwd ?? null })
}

type Properties = Pick<Tool, 'irreversible' | 'idempotent' | 'readOnly' | 'approval' | 'timeoutMs'>

/**
 * The flags of a tool. The config wins; hints of a trusted server count as far as `relax` allows. Without either, a
 * tool is irreversible, not idempotent and needs approval.
 */
function propertiesOf(server: McpServer, { name, annotations = {} }: Listed): Properties {
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

/** A server's answer as a value. An answer that calls itself an error states that the call failed, and is thrown. */
function readResult({ content, structuredContent, isError }: CallToolResult): Json {
  if (isError === true) throw marked(textOf(content) || 'It failed.', 'tool')
  if (structuredContent !== undefined) return structuredContent as Json
  const isText = content.every((block) => block.type === 'text')
  // The blocks were JSON on the wire, which the client's types do not state.
  return isText ? textOf(content) : asJson(content)
}

function textOf(content: CallToolResult['content']): string {
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n')
}
