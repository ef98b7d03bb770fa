import * as z from 'zod'
import { faults } from '../../faults/catalogue.ts'
import { closedObject, fieldIssues } from '../../runtime/shape-problems.ts'
import { toolDefaults } from '../../runtime/tools/define-tool.ts'
import type { Tool } from '../../runtime/tools/tool.ts'

// A config without servers must not load the MCP client, so nothing here does.

/** The declaration of one tool of a server. It wins over the annotations of the server. */
export interface McpToolOptions {
  /** A success cannot be undone: the action is started at most once per key. */
  readonly irreversible?: boolean | undefined
  /** Doing it again with the same key does nothing more. */
  readonly idempotent?: boolean | undefined
  /** It changes nothing outside. */
  readonly readOnly?: boolean | undefined
  /** `always`: a person approves each call. `never`: none is asked. `inherit`: the policy decides. */
  readonly approval?: Tool['approval'] | undefined
  /** How long one call may take. Default: that of the server. */
  readonly timeoutMs?: number | undefined
}

/** Options of every MCP server. */
interface CommonOptions {
  /** Believe the annotations of the server, as far as `relax` goes. Default: false, every tool counts as destructive. */
  readonly trusted?: boolean | undefined
  /** The annotations that a trusted server may relax the defaults with. Default: all three. */
  readonly relax?: readonly ('read_only' | 'idempotent' | 'reversible')[] | undefined
  /** For tools without a declaration of their own. Default: `always`, and `inherit` for a trusted server. */
  readonly approval?: Tool['approval'] | undefined
  /** How long one call may take, in milliseconds. Default: 120000. */
  readonly timeoutMs?: number | undefined
  /** A longer output is kept whole and cut for the model. Default: 64000. */
  readonly maxOutputBytes?: number | undefined
  /** How long the server may take to start and to list its tools. Default: 30000. */
  readonly connectTimeoutMs?: number | undefined
  /** Declarations of single tools, by their name on the server. */
  readonly tools?: Readonly<Record<string, McpToolOptions>> | undefined
}

/** An MCP server that is started as a process and reached over its standard input and output. */
export interface LocalMcpServerOptions extends CommonOptions {
  /** The program to start, without a shell. */
  readonly command: string
  /** Its arguments. */
  readonly args?: readonly string[] | undefined
  /** Environment variables for it. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** The folder that it runs in. */
  readonly cwd?: string | undefined
}

/** An MCP server that is reached over HTTP. */
export interface RemoteMcpServerOptions extends CommonOptions {
  /** Its address, with `http` or `https`. */
  readonly url: string
  /** Headers of every request, such as `authorization`. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** An MCP server in a config: `url` makes it a remote one. */
export type McpServerOptions = LocalMcpServerOptions | RemoteMcpServerOptions

const declared = closedObject({
  irreversible: z.boolean().optional(),
  idempotent: z.boolean().optional(),
  readOnly: z.boolean().optional(),
  approval: z.enum(['inherit', 'always', 'never']).optional(),
  timeoutMs: z.int().min(1).optional(),
})

const hints = z.enum(['read_only', 'idempotent', 'reversible'])

const common = {
  trusted: z.boolean().default(false),
  relax: z.array(hints).default(['read_only', 'idempotent', 'reversible']),
  approval: z.enum(['inherit', 'always', 'never']).optional(),
  timeoutMs: z.int().min(1).default(toolDefaults.timeoutMs),
  maxOutputBytes: z.int().min(256).default(toolDefaults.maxOutputBytes),
  connectTimeoutMs: z.int().min(1).default(30_000),
  tools: z.record(z.string(), declared).default({}),
}

/** The shape of a local server. */
export const localServer = closedObject({
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  env: z.record(z.string(), z.string()).default({}),
  cwd: z.string().optional(),
  ...common,
}) satisfies z.ZodType<unknown, LocalMcpServerOptions>

const remoteServer = closedObject({
  url: z.url({ protocol: /^https?$/ }),
  headers: z.record(z.string(), z.string()).default({}),
  ...common,
}) satisfies z.ZodType<unknown, RemoteMcpServerOptions>

const serverName = z
  .string()
  .regex(
    /^[a-zA-Z][a-zA-Z0-9_-]*$/,
    'The name of a server is letters, digits, underscores and hyphens, and begins with a letter.',
  )

/** The field `url` decides which shape applies, so that a mistake is named at its field and not as "no variant fits". */
const mcpServer = z.unknown().transform((given, context) => {
  const shape = Object.hasOwn(Object(given), 'url') ? remoteServer : localServer
  const read = shape.safeParse(given)
  if (read.success) return read.data
  for (const { path, message } of fieldIssues(read.error)) context.addIssue({ code: 'custom', path, message })
  return z.NEVER
})

/** The schema of the MCP servers in a config, by name. */
export const mcpServers = z.record(serverName, mcpServer)

/** The config of one MCP server. */
export type McpServer = z.output<typeof localServer> | z.output<typeof remoteServer>

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
    const there = known.join(', ') || 'none, since the config has no MCP server'
    const problem = `/agents/${agent}/mcp: Unknown MCP server or tool "${name}". Known: ${there}.`
    throw faults.bad_definition({ what: 'agent', name: agent, problem })
  })
  return [...new Set(picked)]
}
