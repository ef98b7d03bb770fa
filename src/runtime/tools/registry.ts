import { faults } from '../../faults/catalogue.ts'
import type { Sha256 } from '../../kernel/digest.ts'
import { nearestName } from '../../kernel/nearest.ts'
import type { ToolDescription } from '../model.ts'
import { definitionDigest } from './define-tool.ts'
import { toldSchema } from './foreign-schema.ts'
import type { Tool } from './tool.ts'

/** The tools of one agent. It does not change once it is made. */
export interface Registry {
  readonly names: readonly string[]
  /** What a model is told about the tools, in the order in which they were given. */
  readonly descriptions: readonly ToolDescription[]
  find(name: string): Tool | undefined
  /** Null for an unknown tool. */
  digestOf(name: string): string | null
  /** The known name that was most likely meant. */
  nearest(name: string): string | undefined
}

/** `builtIn` are tools that the runtime answers itself: the model is told about them, and they cannot be looked up. */
export function createRegistry(
  tools: readonly Tool[],
  sha256: Sha256,
  builtIn: readonly ToolDescription[] = [],
): Registry {
  const known = new Map<string, { tool: Tool; digest: string }>()
  for (const tool of tools) {
    if (known.has(tool.name))
      throw faults.bad_definition({ what: 'tool', name: tool.name, problem: 'Another tool has this name already.' })
    known.set(tool.name, { tool, digest: definitionDigest(tool, sha256) })
  }
  const names = [...known.keys(), ...builtIn.map((tool) => tool.name)]
  return {
    names,
    descriptions: [...tools.map(descriptionOf), ...builtIn],
    find: (name) => known.get(name)?.tool,
    digestOf: (name) => known.get(name)?.digest ?? null,
    nearest: (name) => nearestName(name, names),
  }
}

function descriptionOf(tool: Tool): ToolDescription {
  const { name, description } = tool
  const described = toldSchema(tool)
  if ('problem' in described) throw faults.bad_definition({ what: 'tool', name, problem: described.problem })
  return { name, description, input_schema: described.schema }
}
