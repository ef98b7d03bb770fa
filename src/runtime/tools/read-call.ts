import { canonicalJson } from '../../kernel/canonical-json.ts'
import type { Json } from '../../kernel/json.ts'
import { problemSentence, shapeProblems } from '../shape-problems.ts'
import { asItIs, type Clean, readThrown } from '../thrown.ts'
import { writtenArguments } from '../written-arguments.ts'
import type { Registry } from './registry.ts'
import type { Tool } from './tool.ts'

export type ReadCall =
  /** `args` is what is recorded, approved, hashed and run: one value. After a restart it is taken from the record, not read again. */
  | { readonly tool: Tool; readonly args: Json }
  /** A sentence for the model, and what it wrote, as far as that can be recorded. */
  | { readonly problem: string; readonly args: Json }

/** Reads what a model wrote. Models write anything, so nothing they write may throw. A text is cut after it is cleaned. */
export function readCall(
  registry: Registry,
  call: { name: string; arguments: string | Json },
  clean = asItIs,
): ReadCall {
  const given = writtenArguments(call.arguments, clean)
  const written = 'value' in given ? given.value : given.written

  // What went wrong may quote half a character of what was written.
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
  const there = registry.names.length === 0 ? 'This agent has no tools.' : `There is ${shown}${more}.`
  const meant = nearest === undefined ? '' : ` Did you mean ${nearest}?`
  return `There is no tool ${JSON.stringify(clean(name).slice(0, 100))}.${meant} ${there}`
}
