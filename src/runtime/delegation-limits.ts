import { isTerminal } from '../kernel/machine.ts'
import { runMachine } from '../machines/run.ts'
import type { RunView, SessionState } from '../observation/session-state.ts'
import type { Settings } from './engine/engine.ts'

export type DelegationLimits = Pick<Settings, 'max_delegation_depth' | 'max_open_delegations' | 'max_delegations'>

/** The runs that a task was handed down through, the nearest first. A run that a person submitted has none. */
export function ancestorsOf(state: SessionState, run: RunView): readonly RunView[] {
  const above: RunView[] = []
  for (let at = giverOf(state, run); at !== undefined; at = giverOf(state, at)) above.push(at)
  return above
}

/** By its id and not by its call, which is forgotten when it is over. */
const giverOf = (state: SessionState, { parent_run_id }: RunView) => state.runs.get(parent_run_id ?? '')

/** A run above was asked to stop, or is over: nothing below it begins any more. */
export function isStoppedAbove(state: SessionState, run: RunView): boolean {
  return ancestorsOf(state, run).some((above) => above.cancel !== null || isTerminal(runMachine, above.status))
}

/** Why this run may hand on no further task now; undefined if it may. */
export function delegationProblem(state: SessionState, run: RunView, limits: DelegationLimits): string | undefined {
  if (run.cancel !== null || isStoppedAbove(state, run)) return 'The task was not begun: its giver was asked to stop.'
  const { max_delegation_depth, max_open_delegations, max_delegations } = limits
  const above = ancestorsOf(state, run)
  if (above.length >= max_delegation_depth)
    return `The task was not begun: tasks may be handed on ${max_delegation_depth} times at most (max_delegation_depth). Do it yourself.`
  const root = above.at(-1) ?? run
  let open = 0
  let total = 0
  for (const other of state.runs.values()) {
    if (other.parent_call_id === null) continue
    if (!isTerminal(runMachine, other.status) && other.parent_run_id === run.run_id) open += 1
    if (ancestorsOf(state, other).at(-1) === root) total += 1
  }
  if (open >= max_open_delegations)
    return `The task was not begun: ${open} tasks of this run are open, which is the limit (max_open_delegations). Wait for one of them.`
  if (total >= max_delegations)
    return `The task was not begun: ${total} tasks were handed on for ${root.run_id}, which is the limit (max_delegations).`
  return undefined
}
