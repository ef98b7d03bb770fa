import type { CallView, SessionState } from '../../observation/session-state.ts'
import type { Evidence } from '../../runes/kinds/contract.ts'
import type { Payload } from '../../runes/kinds.ts'
import type { Batch } from '../batch.ts'
import type { Engine } from '../engine.ts'
import { subject } from '../subject.ts'
import { readThrown } from '../thrown.ts'
import { type Exhausted, exhausted } from './budget.ts'
import { closeCalls, type Known } from './call-closing.ts'
import { evidenceAdded } from './call-openings.ts'
import { callsOf, commit, type Hold, heldTurn, type Step, stepOf, turnOf } from './hold.ts'
import { settlementQuestion } from './unknown-outcome.ts'

/** An answer that ends with its turn: what was said so far, and what that cost. */
export interface Cut {
  readonly partial: string
  readonly usage?: Payload<'turn.completed'>['usage']
}

/** The lease or the cancel came first: the tool was never called. */
export const notBegun = { error: 'It was stopped before it began.', error_kind: 'not_begun' }

const nothingSaid: Cut = { partial: '' }

/** Why a run fails. `spent`: whose budget ended it, and by what. */
interface Failure {
  readonly error_code: string
  readonly message: string
  readonly spent?: Pick<Exhausted, 'budget_of' | 'budget_spent'>
}

/** The run fails, and its turn with it. */
export async function failRun(engine: Engine, hold: Hold, failure: Failure, cut = nothingSaid): Promise<'over'> {
  const step = stepOf(engine, hold)
  const { error_code, message } = failure
  endTurn(step, { error_type: error_code.toLowerCase(), message, retryable: false }, cut)
  return failed(step, failure)
}

/** The agent broke in an unforeseen way. It ends this run and this agent, and nothing else. */
export async function crash(engine: Engine, hold: Hold, error: unknown): Promise<'over'> {
  const { message } = readThrown(error, engine.redactor.redact)
  const step = stepOf(engine, hold)
  endAgent(step, 'crash', `crash: ${message}`)
  endTurn(step, { error_type: 'agent_crash', message, retryable: false }, nothingSaid)
  return failed(step, { error_code: 'AGENT_CRASH', message })
}

async function failed({ engine, hold, batch }: Step, { error_code, message, spent }: Failure): Promise<'over'> {
  const { budget_of, budget_spent } = spent ?? {}
  const budget = budget_of === undefined || budget_spent === undefined ? {} : { budget_of, budget_spent }
  batch.on(subject.run(hold.run), 'graph_runner').move('turn.failed', { error_code, message, ...budget })
  if (isOneTooMany(engine, hold)) suspend(engine, hold, batch)
  await commit(engine, hold, batch)
  return 'over'
}

function endAgent({ hold, batch }: Step, trigger: 'crash' | 'budget_exhausted', reason: string) {
  const { agent_id } = hold.run
  const actor = trigger === 'crash' ? 'graph_runner' : 'policy'
  batch.on(subject.agent(agent_id), actor).move(trigger, { agent_id, reason, stats: { ...hold.agent.used } })
}

/** The agent has nothing left to spend. */
async function spend(engine: Engine, hold: Hold, spent: Exhausted, cut: Cut): Promise<'over'> {
  const { message, budget_of, budget_spent } = spent
  const step = stepOf(engine, hold)
  interruptTurn(step, 'budget_exhausted', cut)
  endAgent(step, 'budget_exhausted', message)
  const payload = { error_code: 'BUDGET_EXHAUSTED', message, budget_of, budget_spent }
  step.batch.on(subject.run(hold.run), 'policy').move('turn.failed', payload)
  await commit(engine, hold, step.batch)
  return 'over'
}

/** Stopped by request. Effects have been waited for or aborted by now; what is known of them is recorded. */
export async function cancelHeld(engine: Engine, hold: Hold, cut = nothingSaid): Promise<'over'> {
  const step = stepOf(engine, hold)
  const reason = hold.run.cancel_reason
  interruptTurn(step, reason, cut)
  step.batch.on(subject.run(hold.run), 'graph_runner').move('run.canceled', { message: reason })
  await commit(engine, hold, step.batch)
  return 'over'
}

/** Releases the run at a boundary where nothing is open, so that another worker, or a later start, can continue it. */
export async function release(step: Step, reason: string, cut: Cut): Promise<'over'> {
  interruptTurn(step, reason, cut)
  putBack(step, reason)
  await commit(step.engine, step.hold, step.batch)
  return 'over'
}

/** Queues the run again. */
export function putBack({ hold, batch }: Pick<Step, 'hold' | 'batch'>, reason: string) {
  batch.on(subject.run(hold.run), 'graph_runner').move('restart.requeued', { epoch: hold.epoch + 1, message: reason })
}

/** With this turn error there are as many in a row as an active session takes. */
export function isOneTooMany({ settings }: Engine, { state }: Hold): boolean {
  return state.turn_errors_in_a_row + 1 >= settings.errorThreshold && isActive(state)
}

/** Suspends the session for its errors. */
export function suspend({ settings }: Engine, { state }: Hold, batch: Batch) {
  const payload = { reason: `${settings.errorThreshold} turn errors in a row`, budget_info: null }
  batch.on(subject.session(state.session_id), 'policy').move('error_threshold', payload)
}

/** Whether the session takes new turns. */
export function isActive({ subjects, session_id }: SessionState): boolean {
  return subjects.get(session_id)?.state === 'active'
}

type TurnError = Pick<Payload<'turn.error'>, 'error_type' | 'message' | 'retryable' | 'retry_in_ms'>

/** Ends the turn with an error, and its calls with it. */
export function endTurn(step: Step, error: TurnError, { partial, usage }: Cut) {
  const inTools = turnOf(step.hold).state === 'tool_executing'
  if (inTools) close(step, error.message)
  const said = { ...(partial !== '' && { partial_output: partial }), ...(usage !== undefined && { usage }) }
  const turn = step.batch.on(heldTurn(step.hold), 'reasoning')
  turn.move(inTools ? 'tool_crash' : 'stream_error', { ...error, ...said })
}

function interruptTurn(step: Step, reason: string, { partial, usage }: Cut) {
  if (turnOf(step.hold).state === 'tool_executing') close(step, reason)
  const payload = { reason, partial_output: partial, ...(usage !== undefined && { usage }) }
  step.batch.on(heldTurn(step.hold), 'reasoning').move('interrupt', payload)
}

function close({ engine, hold, batch }: Step, reason: string) {
  const calls = callsOf(hold)
  for (const call of calls) recordEvidence(engine, hold, batch, call)
  closeCalls(batch, calls, {
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
  const { cancelGraceMs } = engine.settings
  const why = run.cancel === null ? 'The run ended' : 'The run was cancelled'
  const message = `${why} and the tool did not end within ${cancelGraceMs} ms.`
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

/**
 * Checked before each step begins: a session that may not go on, a budget that is used up. An agent's own budget ends
 * the agent, a run's ends the run, and the session's suspends the session, where its runs wait in the queue.
 */
export async function stopBefore(engine: Engine, hold: Hold, calls: number, cut: Cut): Promise<'over' | undefined> {
  const { session_id, subjects } = hold.state
  if (subjects.get(session_id)?.state === 'suspended')
    return release(stepOf(engine, hold), 'the session is suspended', cut)
  const spent = exhausted(engine, hold, calls)
  return spent === undefined ? undefined : stopSpent(engine, hold, spent, cut)
}

/** Ends what a used-up budget ends: the agent, the run, or the session until it gets a new one. */
export async function stopSpent(engine: Engine, hold: Hold, spent: Exhausted, cut: Cut): Promise<'over'> {
  const { session_id, used } = hold.state
  if (spent.scope === 'agent') return spend(engine, hold, spent, cut)
  if (spent.scope === 'run')
    return failRun(engine, hold, { error_code: 'BUDGET_EXHAUSTED', message: spent.message, spent }, cut)
  const step = stepOf(engine, hold)
  // A paused session begins nothing that could exhaust it: the run waits, and finds out when the session goes on.
  if (isActive(hold.state)) {
    const payload = { reason: spent.message, budget_info: { ...used } }
    step.batch.on(subject.session(session_id), 'policy').move('budget_exhausted', payload)
  }
  return release(step, spent.message, cut)
}
