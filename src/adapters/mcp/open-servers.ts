import { faults, isFault } from '../../faults/catalogue.ts'
import { printable, printableName } from '../../kernel/printable.ts'
import type { Tool } from '../../runtime/tools/tool.ts'
import { type Connection, connectionTo } from './connection.ts'
import { messageOf } from './failure.ts'
import { mcpTool } from './mcp-tool.ts'
import type { McpServer } from './server-config.ts'

export interface McpServers {
  /** The tools of each server, by its name in the config. */
  readonly tools: ReadonlyMap<string, readonly Tool[]>
  readonly connections: ReadonlyMap<string, Connection>
  close(): Promise<void>
}

/** How people hear of trouble. What a server says may hold the secrets it was given. */
export interface Telling {
  readonly warn: (message: string, details: object) => void
  readonly clean: (text: string) => string
  /** The version that this client gives to servers. */
  readonly version: string
}

/** Starts or reaches every server of the config and lists its tools. One that cannot be used refuses the whole start. */
export async function openServers(
  servers: Readonly<Record<string, McpServer>>,
  { warn, clean, version }: Telling,
): Promise<McpServers> {
  const warnOf = (name: string) => (problem: string) => warn('an MCP server has trouble', { server: name, problem })
  const connections = new Map(
    Object.entries(servers).map(
      ([name, server]) => [name, connectionTo(name, server, { warn: warnOf(name), version })] as const,
    ),
  )
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
      Object.entries(servers).map(async ([name, server]) => {
        const connection = connections.get(name) as Connection
        return [name, await toolsOf(name, server, { connection, warn: warnOf(name) }).catch(cleaned)] as const
      }),
    )
    return { tools: new Map(listed), connections, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function toolsOf(name: string, server: McpServer, ports: Parameters<typeof mcpTool>[3]) {
  const listed = await ports.connection.list().catch((error) => {
    throw faults.server_unusable({ server: name, problem: messageOf(error) })
  })
  const unknown = Object.keys(server.tools).find((tool) => !listed.some((l) => l.name === tool))
  if (unknown !== undefined)
    throw faults.server_unusable({
      server: name,
      problem: `mcp.${name}.tools.${printableName(unknown)}: It has no such tool; it has ${listed.map((l) => printableName(l.name)).join(', ')}.`,
    })
  return listed.map((each) => mcpTool(name, server, each, ports))
}
