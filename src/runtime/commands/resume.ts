import { faults } from '../../faults/catalogue.ts'
import type { Json } from '../../kernel/json.ts'
import { type ContractStatus, contractMachine } from '../../machines/contract.ts'
import { contractHistories, type ExecutionSnapshot, snapshot } from '../../observation/contract.ts'
import type { CallView, SessionState } from '../../observation/session-state.ts'
import { runesOf } from '../../runelog/runes-of.ts'
import { createBatch } from '../batch.ts'
import { executionOf } from '../contracts/about.ts'
import type { Engine } from '../engine/engine.ts'
import { aboutRun } from '../engine/hold.ts'
import { attempt } from './attempt.ts'
import { type Replied, type Reply, reply } from './reply.ts'

export interface Resumption extends Reply {
  /** The contracts that a checkpoint expects to be waiting. Without it, those whose question the record has as open. */
  readonly expected_waiting?: readonly string[]
}

export interface Resumed extends Replied {
  /** What the contract looked like right before. */
  readonly snapshot: ExecutionSnapshot
  /** The number of waiting contracts is the one that was expected. */
  readonly is_aligned: boolean
}

/**
 * Resumes one contract with what a person answered. It is looked at first: a
 * contract that does not wait is refused and nothing runs; another number of
 * waiting contracts than expected is recorded and logged, and does not stop it.
 */
export async function resume(engine: Engine, execution_id: string, given: Resumption): Promise<Resumed> {
  const subject = (await engine.runelog.row('subjects', execution_id))?.value as
    | { machine: string; state: ContractStatus; session_id: string }
    | undefined
  if (subject?.machine !== 'contract') throw faults.not_found({ what: 'contract', id: execution_id })
  const { session_id } = subject
  const before = await look(engine, execution_id)
  const state = await engine.sessions.load(session_id)
  const call = [...state.calls.values()].find((c) => c.execution_id === execution_id)
  if (!before.is_resumable || call?.interaction_id == null)
    throw faults.transition_refused({
      machine: 'contract',
      id: execution_id,
      from: before.current_status,
      on: 'resume',
      refusal: before.is_terminal ? 'terminal' : 'undeclared',
      legal: [...new Set(contractMachine.transitions.flatMap((t) => (t.from === before.current_status ? [t.on] : [])))],
    })
  const waiting = waitingIn(state, call.run_id)
  const { expected_waiting } = given
  const expected = expected_waiting ?? askedAbout(state, call.run_id)
  const found = expected_waiting === undefined ? waiting.filter((c) => !isAnswered(state, c)) : waiting
  const is_aligned = expected.length === found.length
  if (!is_aligned) await warn(engine, session_id, call.run_id, expected, found.map(executionOf))
  const { expected_waiting: _, ...said } = given
  return { ...(await reply(engine, call.interaction_id, said)), snapshot: before, is_aligned }
}

async function look(engine: Engine, execution_id: string): Promise<ExecutionSnapshot> {
  const history = contractHistories(await runesOf(engine.runelog, execution_id)).get(execution_id)
  if (history === undefined) throw faults.not_found({ what: 'contract', id: execution_id })
  return snapshot(history, engine.clock.now())
}

/** What waits for someone, by what became of the contracts of the run. */
function waitingIn(state: SessionState, run_id: string): readonly CallView[] {
  return [...state.calls.values()].filter((call) => call.run_id === run_id && call.contract === 'waiting')
}

/** The same, by the questions that the run asked: those that nobody has closed expect a contract that waits. */
function askedAbout(state: SessionState, run_id: string): readonly string[] {
  const open = [...state.interactions.values()].filter((asked) => asked.run_id === run_id && asked.state === 'open')
  return open.flatMap(({ call_id }) => {
    const call = state.calls.get(call_id ?? '')
    // What a tool asks in the middle of its work is no reason for its contract to wait.
    return call === undefined || call.contract === 'running' ? [] : [executionOf(call)]
  })
}

/** It only waits for a worker that uses the answer, or was left as it is. */
function isAnswered(state: SessionState, { interaction_id }: CallView): boolean {
  const question = state.interactions.get(interaction_id ?? '')
  return question !== undefined && question.state !== 'open'
}

async function warn(
  engine: Engine,
  session_id: string,
  run_id: string,
  expected: readonly string[],
  found: readonly string[],
) {
  engine.warn('another number of waiting contracts than expected', { run_id, expected, found })
  await attempt(engine, session_id, (state) => {
    const run = state.runs.get(run_id)
    const batch = createBatch(state, engine.clock.now())
    const payload: { expected: string[]; found: string[] } = { expected: [...expected], found: [...found] }
    if (run !== undefined) batch.say('run.misaligned', { actor: 'graph_runner', payload }, aboutRun(run))
    return { batch, answer: () => null as Json }
  })
}
