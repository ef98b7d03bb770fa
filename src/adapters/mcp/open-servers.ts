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

/** The tools that an agent asked for: of a whole server by its name, or one as `server.tool`. */
export function pickTools(
  agent: string,
  wanted: readonly string[],
  servers: ReadonlyMap<string, readonly Tool[]>,
): readonly Tool[] {
  const picked = wanted.flatMap((name) => {
    const found = servers.get(name) ?? [...servers.values()].flat().filter((tool) => tool.name === name)
    if (found.length > 0 || servers.has(name)) return found
    const server = servers.get(name.slice(0, Math.max(name.indexOf('.'), 0)))
    const known = server === undefined ? [...servers.keys()] : server.map((tool) => tool.name)
    throw faults.bad_definition({
      what: 'agent',
      name: agent,
      problem: `/agents/${agent}/mcp: Nothing is called ${name}; there is ${known.join(', ') || 'no MCP server in the config'}.`,
    })
  })
  return [...new Set(picked)]
}
