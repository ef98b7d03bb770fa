import { canonicalJson } from '../../kernel/canonical-json.ts'
import type { Sha256 } from '../../kernel/digest.ts'
import type { Json } from '../../kernel/json.ts'

/**
 * Every name that the loop gives follows from what it names, so that a process that
 * does something again after a crash finds it done.
 */
export function goalIds(goal_id: string, sha256: Sha256) {
  const name = (prefix: string, ...parts: readonly Json[]) =>
    `${prefix}_${sha256(canonicalJson([goal_id, prefix, ...parts])).slice(0, 16)}`
  return {
    head: () => name('agt', 'head'),
    plan: (draft: number) => name('pln', draft),
    coordination: (draft: number) => name('coord', draft),
    plannerRun: (draft: number) => name('run', 'plan', draft),
    criticRun: (critique: number, attempt: number) => name('run', 'critic', critique, attempt),
    criticAgent: (critique: number, attempt: number) => name('agt', 'critic', critique, attempt),
    task: (plan_id: string, key: string, attempt: number) => name('tsk', plan_id, key, attempt),
    taskRun: (task_id: string, attempt: number) => name('run', task_id, attempt),
    taskAgent: (task_id: string, attempt: number) => name('agt', task_id, attempt),
    conditionRun: (task_id: string, attempt: number) => name('run', 'condition', task_id, attempt),
    conditionAgent: (task_id: string, attempt: number) => name('agt', 'condition', task_id, attempt),
    conditionQuestion: (task_id: string) => name('int', 'condition', task_id),
    question: (about: string) => name('int', about),
  }
}

/** The ids that a goal derives for its parts. */
export type GoalIds = ReturnType<typeof goalIds>
