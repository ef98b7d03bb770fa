/** Tools of MCP servers. Needs the package `@modelcontextprotocol/client`. */
import './node-version.ts'
import { openServers } from '../adapters/mcp/open-servers.ts'
import { type McpServerOptions, mcpServers } from '../adapters/mcp/server-config.ts'
import { packageVersion } from '../app/package-version.ts'
import { cleaning, knownSecrets, warnOnStderr } from '../app/warnings.ts'
import { faults } from '../faults/catalogue.ts'
import { fieldProblems, problemSentence } from '../runtime/shape-problems.ts'
import type { Tool } from '../runtime/tools/tool.ts'

/** Options of `openMcp`. */
export interface McpOptions {
  /** Called with problems that happen between calls. Default: one line on stderr. */
  readonly warn?: (message: string, details: object) => void
  /** Values that no warning or error shows, by name. */
  readonly secrets?: Readonly<Record<string, string>>
}

/** The tools of connected MCP servers. */
export interface McpTools {
  /** The tools of each server, by the name of the server. Give them to `agent({ tools })`. */
  readonly tools: ReadonlyMap<string, readonly Tool[]>
  /** Ends local servers and closes connections. */
  close(): Promise<void>
}

/**
 * Starts or reaches every server and lists its tools. A server that cannot be used refuses them all. The servers in
 * `createStatewright({ mcp })` need no such call.
 */
export async function openMcp(
  servers: Readonly<Record<string, McpServerOptions>>,
  { warn = warnOnStderr, secrets = {} }: McpOptions = {},
): Promise<McpTools> {
  const read = mcpServers.safeParse(servers)
  if (!read.success)
    throw faults.bad_definition({
      what: 'config',
      name: 'mcp',
      problem: `${problemSentence(fieldProblems(read.error))}.`,
    })
  const { clean, cleanWarn } = cleaning(knownSecrets({ store: 'memory:', mcp: servers, secrets }))
  const { tools, close } = await openServers(read.data, { warn: cleanWarn(warn), clean, version: packageVersion() })
  return { tools, close }
}

export type {
  LocalMcpServerOptions,
  McpServerOptions,
  McpToolOptions,
  RemoteMcpServerOptions,
} from '../adapters/mcp/server-config.ts'
