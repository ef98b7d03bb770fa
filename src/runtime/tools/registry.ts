import { faults } from '../../faults/catalogue.ts'
import type { Sha256 } from '../../kernel/digest.ts'
import { canonicalJson, type Json } from '../../kernel/json.ts'
import { nearestName } from '../../kernel/nearest.ts'
import type { ToolDescription } from '../model.ts'
import { problemSentence, shapeProblems } from '../shape-problems.ts'
import { asItIs, type Clean, readThrown } from '../thrown.ts'
import { writtenArguments } from '../turns/model-call.ts'
import { definitionDigest } from './define-tool.ts'
import { toldSchema } from './foreign-schema.ts'
import type { Tool } from './tool.ts'

/** The tools of one agent. It does not change once it is made. */
export interface Registry {
  readonly names: readonly string[]
  /** The tools as the model sees them, in the order in which they were given. */
  readonly descriptions: readonly ToolDescription[]
  find(name: string): Tool | undefined
  digestOf(name: string): string | null
  nearest(name: string): string | undefined
}

/** `builtIn` are tools that the runtime answers itself: the model sees them, and they cannot be looked up. */
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

/** A tool call as read from the model, or the problem that makes it unusable. */
export type ReadCall =
  /** `args` is the one value that is recorded, approved, hashed and executed, also after a restart. */
  | { readonly tool: Tool; readonly args: Json }
  /** A sentence for the model, and the arguments as far as they can be recorded. */
  | { readonly problem: string; readonly args: Json }

/** Reads the call of a model. Models write anything, so no input may throw. A text is cut after it is cleaned. */
export function readCall(registry: Registry, call: { name: string; arguments: string | Json }, clean = asItIs) {
  const given = writtenArguments(call.arguments, clean)
  const written = 'value' in given ? given.value : given.written

  // The problem may quote half a character of the arguments.
  const refused = (problem: string): ReadCall => ({ problem: problem.toWellFormed(), args: written })

  const tool = registry.find(call.name)
  if (tool === undefined) return refused(unknownTool(registry, call.name, clean))
  if ('problem' in given) return refused(`${given.problem} ${tool.name} was not run.`)

  try {
    const parsed = tool.input.safeParse(given.value)
    if (!parsed.success) {
      const problems = problemSentence(shapeProblems(parsed.error), clean)
      return refused(`The arguments do not fit ${tool.name}: ${problems}. It was not run.`)
    }
    const args = parsed.data as Json
    canonicalJson(args)
    return { tool, args }
  } catch (error) {
    // A check that the developer wrote may throw, or wait for a promise.
    return refused(
      `The arguments of ${tool.name} could not be checked: ${readThrown(error, clean).message} It was not run.`,
    )
  }
}

const listed = 30

function unknownTool(registry: Registry, name: string, clean: Clean): string {
  const nearest = registry.nearest(name)
  const shown = registry.names.slice(0, listed).join(', ')
  const more = registry.names.length > listed ? ` and ${registry.names.length - listed} more` : ''
  const there = registry.names.length === 0 ? 'This agent has no tools.' : `Available tools: ${shown}${more}.`
  const meant = nearest === undefined ? '' : ` Did you mean ${nearest}?`
  return `There is no tool ${JSON.stringify(clean(name).slice(0, 100))}.${meant} ${there}`
}
