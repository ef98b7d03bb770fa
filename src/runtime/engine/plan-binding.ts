import type { Json } from '../../kernel/json.ts'
import type { AllowedTool } from '../../observation/goal-state.ts'
import { askPersonName } from '../ecs/ask-person.ts'
import type { ToolDescription } from '../model.ts'
import { problemSentence, shapeProblems } from '../shape-problems.ts'
import { foreignShape } from '../tools/foreign-schema.ts'
import type { Hold } from './hold.ts'

/** What the model is told of: a run that a plan binds knows only the tools of its plan, and can always ask a person. */
export function toolsFor({ run, definition }: Hold): readonly ToolDescription[] {
  const { descriptions } = definition.registry
  const { allowed_tools } = run
  if (allowed_tools === null) return descriptions
  return descriptions.filter(({ name }) => name === askPersonName || allowed_tools.some((tool) => tool.name === name))
}

/** Why the plan that binds a run does not cover this call; undefined if it does, or if no plan binds it. */
export function outsidePlan(allowed: readonly AllowedTool[] | null, name: string, args: Json): string | undefined {
  if (allowed === null) return undefined
  const tool = allowed.find((one) => one.name === name)
  const names = allowed.map((one) => one.name).join(', ') || 'no tool'
  if (tool === undefined) return `outside_plan: the plan gives this task ${names}, and not ${name}.`
  if (tool.args_schema === undefined) return undefined
  const problem = misfit(tool.args_schema, args)
  return problem === undefined ? undefined : `outside_plan: the plan gives this task ${name} only as far as ${problem}.`
}

/** A schema that cannot be read allows nothing: what nobody understands, nobody has judged. */
function misfit(schema: Readonly<Record<string, Json>>, args: Json): string | undefined {
  const read = foreignShape(schema)
  if ('problem' in read) return `its schema can be read: ${read.problem}`
  const fits = read.shape.safeParse(args)
  return fits.success ? undefined : `its arguments fit: ${problemSentence(shapeProblems(fits.error))}`
}
