import { faults } from '../../faults/catalogue.ts'
import type { Tool } from '../../runtime/tools/tool.ts'

// Apart from open-servers, which loads the MCP client: a config without servers must not need that package.

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
