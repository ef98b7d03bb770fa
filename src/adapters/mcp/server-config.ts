import { z } from 'zod'
import { faults } from '../../faults/catalogue.ts'
import { closedObject, fieldIssues } from '../../runtime/shape-problems.ts'
import type { Tool } from '../../runtime/tools/tool.ts'

// A config without servers must not load the MCP client, so nothing here does.

/** What may be declared about one tool of a server, in the config. It wins over the annotations of the server. */
const declared = closedObject({
  irreversible: z.boolean().optional(),
  idempotent: z.boolean().optional(),
  readOnly: z.boolean().optional(),
  approval: z.enum(['inherit', 'always', 'never']).optional(),
  timeoutMs: z.int().min(1).optional(),
})

/** Annotations that a trusted server may relax the defaults with. */
const hints = z.enum(['read_only', 'idempotent', 'reversible'])

const common = {
  /** Its annotations are believed, as far as `relax` goes. Otherwise every tool counts as destructive. */
  trusted: z.boolean().default(false),
  relax: z.array(hints).default(['read_only', 'idempotent', 'reversible']),
  /** For every tool without its own declaration. Without it: always, and inherit for a trusted server. */
  approval: z.enum(['inherit', 'always', 'never']).optional(),
  timeoutMs: z.int().min(1).default(120_000),
  maxOutputBytes: z.int().min(256).default(64_000),
  /** How long the server may take to start and to list its tools. */
  connectTimeoutMs: z.int().min(1).default(30_000),
  tools: z.record(z.string(), declared).default({}),
}

/** This command line is started, and nothing else: there is no shell in between. */
export const localServer = closedObject({
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  env: z.record(z.string(), z.string()).default({}),
  cwd: z.string().optional(),
  ...common,
})

const remoteServer = closedObject({
  url: z.url({ protocol: /^https?$/ }),
  headers: z.record(z.string(), z.string()).default({}),
  ...common,
})

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

/** A server as it is written in a config. */
export type McpServerOptions = z.input<typeof localServer> | z.input<typeof remoteServer>

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
    const unknown = `Unknown MCP server or tool "${name}".`
    throw faults.bad_definition({
      what: 'agent',
      name: agent,
      problem: `/agents/${agent}/mcp: ${unknown} Known: ${known.join(', ') || 'none, since the config has no MCP server'}.`,
    })
  })
  return [...new Set(picked)]
}
