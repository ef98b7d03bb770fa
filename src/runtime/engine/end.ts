import type { CallView, SessionState } from '../../observation/session-state.ts'
import type { Evidence } from '../../runes/kinds/contract.ts'
import type { Payload } from '../../runes/kinds.ts'
import type { Batch } from '../batch.ts'
import { closeCalls, type Known } from '../contracts/closing.ts'
import { evidenceAdded } from '../contracts/openings.ts'
import { subject } from '../subject.ts'
import { readThrown } from '../thrown.ts'
import type { Exhausted } from './budget.ts'
import type { Engine } from './engine.ts'
import { batchFor, callsOf, commit, type Hold, turnOf } from './hold.ts'
import { settlementQuestion } from './settlement-question.ts'

/** An answer that ends with its turn: what was said so far, and what that cost. */
export interface Cut {
  readonly partial: string
  readonly usage?: Payload<'turn.completed'>['usage']
}

/** The lease or the cancel came first: the tool was never called. */
export const notBegun = { error: 'It was stopped before it began.', error_kind: 'not_begun' }

const nothingSaid: Cut = { partial: '' }

/** The run fails, and its turn with it. */
export async function failRun(
  engine: Engine,
  hold: Hold,
  error_code: string,
  message: string,
  cut = nothingSaid,
  spent?: Spent,
): Promise<'over'> {
  const batch = batchFor(engine, hold)
  endTurn(engine, hold, batch, { error_type: error_code.toLowerCase(), message, retryable: false }, cut)
  batch.on(subject.run(hold.run), 'graph_runner').move('turn.failed', { error_code, message, ...budgetOf(spent) })
  if (isOneTooMany(engine, hold)) suspend(engine, hold, batch)
  await commit(engine, hold, batch)
  return 'over'
}

type Spent = Pick<Exhausted, 'budget_of' | 'budget_spent'>

/** Whose budget ended the run, and by what; nothing where none did. */
function budgetOf(spent: Spent | undefined) {
  return spent === undefined ? {} : { budget_of: spent.budget_of, budget_spent: spent.budget_spent }
}

/** The agent broke in an unforeseen way. It ends this run and this agent, and nothing else. */
export async function crash(engine: Engine, hold: Hold, error: unknown): Promise<'over'> {
  const { message } = readThrown(error, engine.redactor.redact)
  const batch = batchFor(engine, hold)
  const stats = { ...hold.agent.used }
  batch
    .on(subject.agent(hold.run.agent_id), 'graph_runner')
    .move('crash', { agent_id: hold.run.agent_id, reason: `crash: ${message}`, stats })
  endTurn(engine, hold, batch, { error_type: 'agent_crash', message, retryable: false }, nothingSaid)
  const payload = { error_code: 'AGENT_CRASH', message }
  batch.on(subject.run(hold.run), 'graph_runner').move('turn.failed', payload)
  if (isOneTooMany(engine, hold)) suspend(engine, hold, batch)
  await commit(engine, hold, batch)
  return 'over'
}

/** The agent has nothing left to spend. */
export async function spend(engine: Engine, hold: Hold, spent: Exhausted, cut: Cut): Promise<'over'> {
  const { message } = spent
  const batch = batchFor(engine, hold)
  interruptTurn(engine, hold, batch, 'budget_exhausted', cut)
  const stats = { ...hold.agent.used }
  batch
    .on(subject.agent(hold.run.agent_id), 'policy')
    .move('budget_exhausted', { agent_id: hold.run.agent_id, reason: message, stats })
  const payload = { error_code: 'BUDGET_EXHAUSTED', message, ...budgetOf(spent) }
  batch.on(subject.run(hold.run), 'policy').move('turn.failed', payload)
  await commit(engine, hold, batch)
  return 'over'
}

/** Stopped by request. Effects have been waited for or aborted by now; what is known of them is recorded. */
export async function cancelHeld(engine: Engine, hold: Hold, cut = nothingSaid): Promise<'over'> {
  const batch = batchFor(engine, hold)
  const reason = hold.run.cancel_reason
  interruptTurn(engine, hold, batch, reason, cut)
  batch.on(subject.run(hold.run), 'graph_runner').move('run.canceled', { message: reason })
  await commit(engine, hold, batch)
  return 'over'
}

/** Lets go at a boundary where nothing is open, so that another worker, or a later start, can go on. */
export async function release(
  engine: Engine,
  hold: Hold,
  reason: string,
  cut: Cut,
  batch = batchFor(engine, hold),
): Promise<'over'> {
  interruptTurn(engine, hold, batch, reason, cut)
  putBack(hold, batch, reason)
  await commit(engine, hold, batch)
  return 'over'
}

/** Queues the run again. */
export function putBack(hold: Hold, batch: Batch, reason: string) {
  batch.on(subject.run(hold.run), 'graph_runner').move('restart.requeued', { epoch: hold.epoch + 1, message: reason })
}

/** With this turn error there are as many in a row as an active session takes. */
export function isOneTooMany({ settings }: Engine, { state }: Hold): boolean {
  return state.turn_errors_in_a_row + 1 >= settings.error_threshold && isActive(state)
}

export function suspend({ settings }: Engine, { state }: Hold, batch: Batch) {
  const payload = { reason: `${settings.error_threshold} turn errors in a row`, budget_info: null }
  batch.on(subject.session(state.session_id), 'policy').move('error_threshold', payload)
}

export function isActive({ subjects, session_id }: SessionState): boolean {
  return subjects.get(session_id)?.state === 'active'
}

type TurnError = Pick<Payload<'turn.error'>, 'error_type' | 'message' | 'retryable' | 'retry_in_ms'>

export function endTurn(engine: Engine, hold: Hold, batch: Batch, error: TurnError, cut: Cut) {
  const turn = turnOf(hold)
  const inTools = turn.state === 'tool_executing'
  if (inTools) close(engine, hold, batch, error.message)
  const { partial, usage } = cut
  const payload = {
    ...error,
    ...(partial !== '' && { partial_output: partial }),
    ...(usage !== undefined && { usage }),
  }
  batch.on(subject.turn(hold.run, turn.turn_id), 'reasoning').move(inTools ? 'tool_crash' : 'stream_error', payload)
}

function interruptTurn(engine: Engine, hold: Hold, batch: Batch, reason: string, { partial, usage }: Cut) {
  const turn = turnOf(hold)
  if (turn.state === 'tool_executing') close(engine, hold, batch, reason)
  batch
    .on(subject.turn(hold.run, turn.turn_id), 'reasoning')
    .move('interrupt', { reason, partial_output: partial, ...(usage !== undefined && { usage }) })
}

function close(engine: Engine, hold: Hold, batch: Batch, reason: string) {
  const calls = callsOf(hold)
  for (const call of calls) recordEvidence(engine, hold, batch, call)
  closeCalls(batch, hold.state, calls, {
    reason,
    actor: 'graph_runner',
    newInteractionId: () => engine.ids.next('int'),
    settlementFor: (call) => settlementQuestion(call, batch),
    knownOf: (call) => known(hold, call),
    isHarmless: (call) => !call.irreversible,
  })
}

/** What the tool or the probe said while the run was being ended and is not on record yet, or that it did not end. */
function recordEvidence(engine: Engine, hold: Hold, batch: Batch, call: CallView) {
  const entry = hold.inHand.get(call.call_id)
  if (entry === undefined || hold.unknown.has(call.call_id)) return
  const { outcome } = entry
  if (outcome !== undefined && 'evidence' in outcome && outcome.evidence !== undefined)
    evidenceAdded(batch, call, outcome.evidence)
  else if (call.irreversible && known(hold, call) === undefined)
    evidenceAdded(batch, call, whyLeft(engine, hold, call, outcome?.status))
}

/** Why a tool that cannot be undone was left behind. */
function whyLeft(engine: Engine, { run }: Hold, call: CallView, status?: string): Evidence {
  if (status === 'timeout') return { source: 'timeout', message: `It took longer than ${call.timeout_ms} ms.` }
  const { cancel_grace_ms } = engine.settings
  const why = run.cancel === null ? 'The run ended' : 'The run was cancelled'
  const message = `${why} and the tool did not end within ${cancel_grace_ms} ms.`
  return { source: 'cancel', message }
}

function known(hold: Hold, call: CallView): Known | undefined {
  const outcome = hold.inHand.get(call.call_id)?.outcome
  if (outcome?.status === 'success' || outcome?.status === 'error') return outcome
  if (outcome?.status === 'cancelled' && !outcome.began) return { status: 'error', ...notBegun }
  if (outcome?.status === 'sandbox_violation')
    return { status: 'sandbox_violation', error: outcome.error, error_kind: 'sandbox_violation' }
  return undefined
}
