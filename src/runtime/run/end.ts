import { parentRun, saySpent } from '../../observation/fold-run.ts'
import type { AgentView, Budget, BudgetSpent, CallView, SessionState, Used } from '../../observation/session-state.ts'
import type { Evidence } from '../../runes/kinds/call.ts'
import type { Payload } from '../../runes/kinds.ts'
import { type Batch, subject } from '../batch.ts'
import type { Engine } from '../engine.ts'
import type { Cancel } from '../ports.ts'
import { readThrown } from '../thrown.ts'
import type { Price } from '../turns/model-call.ts'
import { evidenceAdded } from './calls.ts'
import { closeCalls, type Known, settlementQuestion } from './closing.ts'
import { callsOf, commit, type Hold, heldTurn, type Step, stepOf, turnOf } from './hold.ts'

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

/** Whose budget is used up, and the sentence that says so. */
export interface Exhausted {
  /** A budget of those who handed the task on ends the run, and what becomes of them is their own holder's business. */
  readonly scope: 'agent' | 'run' | 'session'
  readonly message: string
  /** Whose it is: an agent, a run or the session. */
  readonly budget_of: string
  readonly budget_spent: BudgetSpent
}

interface Purse {
  readonly scope: Exhausted['scope']
  readonly of: string
  readonly subject_id: string
  readonly budget: Budget | null
  readonly used: Used
}

/** What a step under way has spent that no record says yet. */
interface Unrecorded {
  readonly tokens: number
  readonly cost_usd: number
}

const nothing: Unrecorded = { tokens: 0, cost_usd: 0 }

/**
 * Looks before a step begins, and while a model answers. `calls` is how many
 * tool calls the step makes: what would go over the limit is not begun.
 */
function exhausted(engine: Engine, hold: Hold, calls: number, more = nothing): Exhausted | undefined {
  const since = Math.max(0, engine.clock.now() - hold.run.clock_at)
  for (const { scope, of, subject_id, budget, used } of pursesOf(hold)) {
    const tokens = used.tokens + more.tokens
    const cost_usd = (used.cost_usd ?? 0) + more.cost_usd
    const spent = budget === null ? undefined : over(budget, { ...used, tokens, cost_usd }, calls, since)
    if (spent !== undefined) return { scope, message: saySpent(of, spent), budget_of: subject_id, budget_spent: spent }
  }
  return undefined
}

/** How much time is left of the budget that ends first; undefined if none counts time. */
function timeLeft(engine: Engine, hold: Hold): number | undefined {
  const since = Math.max(0, engine.clock.now() - hold.run.clock_at)
  let left: number | undefined
  for (const { budget, used } of pursesOf(hold)) {
    const { wall_time_ms } = budget ?? {}
    if (wall_time_ms !== undefined) left = Math.min(left ?? wall_time_ms, wall_time_ms - used.wall_time_ms - since)
  }
  return left === undefined ? undefined : Math.max(0, left)
}

function* pursesOf({ state, run, agent }: Hold): Iterable<Purse> {
  yield purse('agent', 'The agent', agent.agent_id, agent)
  yield purse('run', 'The run', run.run_id, run)
  let above: AgentView | undefined = state.agents.get(agent.parent_id ?? '')
  for (; above !== undefined; above = state.agents.get(above.parent_id ?? ''))
    yield purse('run', `The agent ${above.agent}, which this one works for,`, above.agent_id, above)
  for (let at = parentRun(state, run); at !== undefined; at = parentRun(state, at))
    yield purse('run', `The run ${at.run_id}, which handed this task on,`, at.run_id, at)
  const budget = (state.config.budget ?? null) as Budget | null
  yield purse('session', 'The session', state.session_id, { budget, used: state.used })
}

function purse(
  scope: Purse['scope'],
  of: string,
  subject_id: string,
  { budget, used }: Pick<Purse, 'budget' | 'used'>,
) {
  return { scope, of, subject_id, budget, used }
}

function over(budget: Budget, used: Used, calls: number, since: number): BudgetSpent | undefined {
  const { tokens, tool_calls, wall_time_ms, cost_usd } = budget
  if (tokens !== undefined && used.tokens >= tokens) return { limit: 'tokens', used: used.tokens, allowed: tokens }
  if (tool_calls !== undefined && used.tool_calls + calls > tool_calls)
    return { limit: 'tool_calls', used: used.tool_calls, allowed: tool_calls, needed: calls }
  if (cost_usd !== undefined && (used.cost_usd ?? 0) >= cost_usd)
    return { limit: 'cost_usd', used: used.cost_usd ?? 0, allowed: cost_usd }
  const wall = used.wall_time_ms + since
  if (wall_time_ms !== undefined && wall >= wall_time_ms)
    return { limit: 'wall_time_ms', used: wall, allowed: wall_time_ms }
  return undefined
}

/**
 * Providers say only at the end what an answer used. Until then its tokens are estimated by its length: English has
 * about four characters in a token.
 */
const charactersPerToken = 4

interface CutOff {
  /** So much more was said. */
  heard(characters: number): void
  /** Whose budget was used up in the middle of the answer, if one was. */
  spent(): Exhausted | undefined
  /** What the answer used by that estimate. */
  estimate(): number
  end(): void
}

/**
 * Watches the budgets of the run, its agents and its session while a model answers, and interrupts the answer when
 * one of them is used up. An answer that says nothing more is not cut: what it used is settled when it ends.
 */
export function watchBudgets(engine: Engine, hold: Hold, price: Price | null): CutOff {
  let characters = 0
  let spent: Exhausted | undefined
  let cancel: Cancel | undefined

  const estimate = () => Math.floor(characters / charactersPerToken)
  function look() {
    // An answer may use up the last token, as long as it says nothing more.
    const tokens = Math.max(0, estimate() - 1)
    const cost_usd = (tokens * (price?.outputUsdPerMillion ?? 0)) / 1e6
    spent ??= exhausted(engine, hold, 0, { tokens, cost_usd })
    if (spent !== undefined) hold.interruption.abort()
  }
  function wait() {
    const left = timeLeft(engine, hold)
    if (left === undefined) return
    cancel = engine.timers.after(Math.max(1, left), () => {
      look()
      // Time may have stood still meanwhile, while a task that was handed on waited.
      if (spent === undefined) wait()
    })
  }
  wait()
  return {
    heard(more) {
      characters += more
      if (spent === undefined) look()
    },
    spent: () => spent,
    estimate,
    end: () => cancel?.(),
  }
}
