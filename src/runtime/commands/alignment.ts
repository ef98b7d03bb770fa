import { faults } from '../../faults/catalogue.ts'
import type { Fault } from '../../faults/fault.ts'
import { refusalOf, suppose } from '../../kernel/transition.ts'
import { contractMachine } from '../../machines/contract.ts'
import { type ContractHistory, contractHistories, snapshot } from '../../observation/contract.ts'
import { positionOf } from '../../observation/graph-state.ts'
import type { CallView, InteractionView, SessionState } from '../../observation/session-state.ts'
import { runesOf } from '../../runelog/models.ts'
import type { ExecutionSnapshot } from '../../wire/contract.ts'
import { aboutRun, type Batch, executionOf } from '../batch.ts'
import type { Engine } from '../engine.ts'

/** The check of a contract before its question is closed by a person, a program or a timer. */
export interface Alignment {
  /** The contract that the question is about, as it was right before; null where no call asked. */
  readonly snapshot: ExecutionSnapshot | null
  /** The number of waiting contracts is the one that was expected. */
  readonly is_aligned: boolean
  /** The contract does not wait for this question: the reply is refused. */
  readonly refusal?: Fault
}

const nothing: Alignment = { snapshot: null, is_aligned: true }

/** Looks at the contract of a question before it closes (OB-08). A wrong number of waiting ones (OB-09) is recorded. */
export async function align(
  engine: Engine,
  state: SessionState,
  batch: Batch,
  { question, expected }: { question: InteractionView; expected?: readonly string[] | undefined },
): Promise<Alignment> {
  const call = state.calls.get(question.call_id ?? '')
  if (call === undefined || call.execution_id === null) return nothing
  const seen = { ...(await look(engine, call.execution_id)), interaction_id: question.interaction_id }
  if (!isAwaited(question, call)) return { snapshot: seen, is_aligned: false, refusal: notWaiting(seen) }
  batch.restOn(call.execution_id)
  const waiting = positionOf(state, call.run_id).expected_waiting
  const wanted = expected ?? askedAbout(state, call.run_id)
  const found = (expected === undefined ? waiting.filter((c) => !isAnswered(state, c)) : waiting).map(executionOf)
  const is_aligned = wanted.length === found.length
  if (!is_aligned) misaligned(engine, state, batch, { run_id: call.run_id, expected: wanted, found })
  return { snapshot: seen, is_aligned }
}

function isAwaited({ opened }: InteractionView, { contract, action_type }: CallView): boolean {
  const isAskedAtWork = opened.interaction_kind === 'ecs' && action_type === 'tool_call'
  return contract === (isAskedAtWork ? 'running' : 'waiting')
}

/** The fault for a reply to a contract that does not wait. */
export function notWaiting({ execution_id, current_status }: ExecutionSnapshot): Fault {
  const decision = suppose(contractMachine, current_status, 'resume')
  return faults.transition_refused(refusalOf(contractMachine, execution_id, decision, []))
}

/** The moves of one contract. Refused if there is none. */
export async function historyOf({ runelog }: Engine, execution_id: string): Promise<ContractHistory> {
  const history = contractHistories(await runesOf(runelog, execution_id)).get(execution_id)
  if (history === undefined) throw faults.not_found({ what: 'contract', id: execution_id })
  return history
}

/** The snapshot of one contract. Refused if there is none. */
export async function look(engine: Engine, execution_id: string): Promise<ExecutionSnapshot> {
  return snapshot(await historyOf(engine, execution_id), engine.clock.now())
}

/** The contracts that should wait: one for each open question of the run. */
function askedAbout(state: SessionState, run_id: string): readonly string[] {
  const open = [...state.interactions.values()].filter((asked) => asked.run_id === run_id && asked.state === 'open')
  return open.flatMap(({ call_id }) => {
    const call = state.calls.get(call_id ?? '')
    // A contract stays running while its tool asks a person.
    return call === undefined || call.contract === 'running' ? [] : [executionOf(call)]
  })
}

/** Its question is closed; a worker has yet to use the answer. */
function isAnswered(state: SessionState, { interaction_id }: CallView): boolean {
  const question = state.interactions.get(interaction_id ?? '')
  return question !== undefined && question.state !== 'open'
}

function misaligned(
  engine: Engine,
  state: SessionState,
  batch: Batch,
  { run_id, expected, found }: { run_id: string; expected: readonly string[]; found: readonly string[] },
) {
  engine.warn('the number of waiting contracts is not the expected one', { run_id, expected, found })
  const run = state.runs.get(run_id)
  const payload = { expected: [...expected], found: [...found] }
  if (run !== undefined) batch.record('run.misaligned', { actor: 'graph_runner', payload }, aboutRun(run))
}
