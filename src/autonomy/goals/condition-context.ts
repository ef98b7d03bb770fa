import type { ConditionContext, ConditionTask } from '../../coordinator/rules/condition.ts'
import { boundedJsonIn, jsonLimits } from '../../kernel/bounded-json.ts'
import type { Json } from '../../kernel/json.ts'
import type { PlannedTask } from '../../observation/goal-state.ts'
import type { Outcome } from './inputs.ts'
import { textOf } from './prompts.ts'

/**
 * What the rule of a condition can see: every work task before its own, and the one that it stands in for. All of them
 * are over by then, so the rule has the same answer whenever it is evaluated.
 */
export function contextOf(
  tasks: readonly { readonly planned: PlannedTask }[],
  { depends_on, instead_of }: PlannedTask,
  outcomeOf: (task_id: string) => Outcome,
): ConditionContext {
  const byId = new Map(tasks.map(({ planned }) => [planned.task_id, planned]))
  const seen = new Set<string>()
  const found: [string, ConditionTask][] = []
  const look = (task_id: string) => {
    const planned = byId.get(task_id)
    if (planned === undefined || seen.has(task_id)) return
    seen.add(task_id)
    if (planned.kind === 'work') found.push([planned.key, factsOf(outcomeOf(task_id))])
    for (const before of planned.depends_on) look(before)
  }
  for (const before of [...depends_on, instead_of ?? '']) look(before)
  return { tasks: Object.fromEntries(found) }
}

function factsOf({ state, result }: Outcome): ConditionTask {
  if (state !== 'completed') return { state }
  const text = textOf(result)
  const json = typeof result === 'string' ? jsonIn(result) : result
  return { state, result: text, ...(json === undefined ? {} : { json }) }
}

/** Within the limits of what a model may write; a longer or deeper text is only text. */
function jsonIn(text: string): Json | undefined {
  const read = boundedJsonIn(text, jsonLimits.arguments)
  return 'value' in read ? read.value : undefined
}
