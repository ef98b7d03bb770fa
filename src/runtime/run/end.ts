import { parentRun, saySpent } from '../../observation/fold-run.ts'
import type { AgentView, Budget, BudgetSpent, CallView, SessionState, Used } from '../../observation/session-state.ts'
import type { Refused } from '../../runelog/port.ts'
import type { Evidence, Payload } from '../../runes/kinds.ts'
import { type Batch, subject } from '../batch.ts'
import type { Cancel } from '../ports.ts'
import { readThrown } from '../thrown.ts'
import type { Price } from '../turns/model-call.ts'
import { evidenceAdded, tookTooLong } from './calls.ts'
import { closeCalls, type Known } from './closing.ts'
import { batchFor, callsOf, commitThen, type Exhausted, type Hold, heldTurn, turnOf } from './hold.ts'

/** An answer that ends with its turn: its text so far, and its usage. */
export interface Cut {
  readonly partial: string
  readonly usage?: Payload<'turn.completed'>['usage']
}

/** The lease ended or the run was cancelled first: the tool was never called. */
export const notBegun = { error: 'It was stopped before it began.', error_kind: 'not_begun' }

const nothingSaid: Cut = { partial: '' }

interface Failure {
  readonly error_code: string
  readonly message: string
  readonly spent?: Pick<Exhausted, 'budget_of' | 'budget_spent'>
}

/** The run fails, and its turn with it. */
export function failRun(hold: Hold, failure: Failure, cut = nothingSaid, batch = batchFor(hold)) {
  const { error_code, message, spent } = failure
  endTurn(hold, batch, { error_type: error_code.toLowerCase(), message, retryable: false }, cut)
  const budget = spent === undefined ? {} : { budget_of: spent.budget_of, budget_spent: spent.budget_spent }
  batch.on(subject.run(hold.run), 'graph_runner').move('turn.failed', { error_code, message, ...budget })
  if (isOneTooMany(hold)) suspend(hold, batch)
  return commitThen(hold, batch, 'over' as const)
}

/** The agent failed with an unexpected error. It ends this run and this agent, and nothing else. */
export function crash(hold: Hold, error: unknown): Promise<'over' | Refused> {
  const { message } = readThrown(error, hold.engine.redactor.redact)
  const batch = batchFor(hold)
  endAgent(hold, batch, 'crash', `crash: ${message}`)
  return failRun(hold, { error_code: 'AGENT_CRASH', message }, nothingSaid, batch)
}

function endAgent({ run, agent }: Hold, batch: Batch, trigger: 'crash' | 'budget_exhausted', reason: string) {
  const { agent_id } = run
  const actor = trigger === 'crash' ? 'graph_runner' : 'policy'
  batch.on(subject.agent(agent_id), actor).move(trigger, { agent_id, reason, stats: { ...agent.used } })
}

/** Stopped by request. Effects have ended or were aborted; their known outcomes are recorded. */
export function cancelHeld(hold: Hold, cut = nothingSaid): Promise<'over' | Refused> {
  const batch = batchFor(hold)
  const reason = hold.run.cancel_reason
  interruptTurn(hold, batch, reason, cut)
  batch.on(subject.run(hold.run), 'graph_runner').move('run.canceled', { message: reason })
  return commitThen(hold, batch, 'over')
}

/** Releases the run at a boundary without open work, so that another worker, or a later start, can continue it. */
export function release(hold: Hold, reason: string, cut: Cut, batch = batchFor(hold)): Promise<'over' | Refused> {
  interruptTurn(hold, batch, reason, cut)
  requeueRun(hold, batch, reason)
  return commitThen(hold, batch, 'over')
}

/** Requeues the run. */
export function requeueRun(hold: Hold, batch: Batch, reason: string) {
  batch.on(subject.run(hold.run), 'graph_runner').move('restart.requeued', { epoch: hold.epoch + 1, message: reason })
}

/** This turn error reaches `errorThreshold` in a row. */
export function isOneTooMany({ engine, state }: Hold): boolean {
  return state.turn_errors_in_a_row + 1 >= engine.settings.errorThreshold && isActive(state)
}

/** Suspends the session for its errors. */
export function suspend({ engine, state }: Hold, batch: Batch) {
  const payload = { reason: `${engine.settings.errorThreshold} turn errors in a row`, budget_info: null }
  batch.on(subject.session(state.session_id), 'policy').move('error_threshold', payload)
}

/** Whether the session takes new turns. */
export function isActive({ subjects, session_id }: SessionState): boolean {
  return subjects.get(session_id)?.state === 'active'
}

type TurnError = Pick<Payload<'turn.error'>, 'error_type' | 'message' | 'retryable' | 'retry_in_ms'>

/** Ends the turn with an error, and its calls with it. */
export function endTurn(hold: Hold, batch: Batch, error: TurnError, { partial, usage }: Cut) {
  const inTools = turnOf(hold).state === 'tool_executing'
  if (inTools) close(hold, batch, error.message)
  const spoken = { ...(partial !== '' && { partial_output: partial }), ...(usage !== undefined && { usage }) }
  batch.on(heldTurn(hold), 'reasoning').move(inTools ? 'tool_crash' : 'stream_error', { ...error, ...spoken })
}

function interruptTurn(hold: Hold, batch: Batch, reason: string, { partial, usage }: Cut) {
  if (turnOf(hold).state === 'tool_executing') close(hold, batch, reason)
  const payload = { reason, partial_output: partial, ...(usage !== undefined && { usage }) }
  batch.on(heldTurn(hold), 'reasoning').move('interrupt', payload)
}

function close(hold: Hold, batch: Batch, reason: string) {
  for (const call of callsOf(hold)) recordEvidence(hold, batch, call)
  closeCalls(hold.engine, batch, hold.run, { reason, actor: 'graph_runner', knownOf: (call) => known(hold, call) })
}

function recordEvidence(hold: Hold, batch: Batch, call: CallView) {
  const entry = hold.inHand.get(call.call_id)
  if (entry === undefined || hold.unknown.has(call.call_id)) return
  const { outcome } = entry
  const evidence = outcome !== undefined && 'evidence' in outcome ? outcome.evidence : undefined
  if (evidence !== undefined) evidenceAdded(batch, call, evidence)
  else if (call.irreversible && known(hold, call) === undefined)
    evidenceAdded(batch, call, whyLeft(hold, call, outcome?.status))
}

function whyLeft({ engine, run }: Hold, call: CallView, status?: string): Evidence {
  if (status === 'timeout') return { source: 'timeout', message: tookTooLong(call) }
  const why = run.cancel === null ? 'The run ended' : 'The run was cancelled'
  return { source: 'cancel', message: `${why} and the tool did not end within ${engine.settings.cancelGraceMs} ms.` }
}

function known(hold: Hold, call: CallView): Known | undefined {
  const outcome = hold.inHand.get(call.call_id)?.outcome
  if (outcome?.status === 'success' || outcome?.status === 'error') return outcome
  if (outcome?.status === 'cancelled' && !outcome.began) return { status: 'error', ...notBegun }
  if (outcome?.status !== 'sandbox_violation') return undefined
  return { status: 'sandbox_violation', error: outcome.error, error_kind: 'sandbox_violation' }
}

/** Checked before each step: whether the session may continue, and whether a budget is used up. */
export async function stopBefore(hold: Hold, calls: number, cut: Cut): Promise<'over' | Refused | undefined> {
  const { session_id, subjects } = hold.state
  if (subjects.get(session_id)?.state === 'suspended') return release(hold, 'the session is suspended', cut)
  const spent = exhausted(hold, calls)
  return spent === undefined ? undefined : stopSpent(hold, spent, cut)
}

/** Ends the agent or the run of a used-up budget. If it is the budget of a session, suspends the session. */
export function stopSpent(hold: Hold, spent: Exhausted, cut: Cut): Promise<'over' | Refused> {
  const { state, run } = hold
  const { scope, message, budget_of, budget_spent } = spent
  const failure = { error_code: 'BUDGET_EXHAUSTED', message }
  if (scope === 'run') return failRun(hold, { ...failure, spent }, cut)
  const batch = batchFor(hold)
  if (scope === 'agent') {
    interruptTurn(hold, batch, 'budget_exhausted', cut)
    endAgent(hold, batch, 'budget_exhausted', message)
    batch.on(subject.run(run), 'policy').move('turn.failed', { ...failure, budget_of, budget_spent })
    return commitThen(hold, batch, 'over')
  }
  // A paused session begins nothing that could exhaust its budget: the run waits until the session is resumed.
  if (isActive(state)) {
    const payload = { reason: message, budget_info: { ...state.used } }
    batch.on(subject.session(state.session_id), 'policy').move('budget_exhausted', payload)
  }
  return release(hold, message, cut, batch)
}

interface Purse {
  readonly scope: Exhausted['scope']
  readonly of: string
  readonly subject_id: string
  readonly budget: Budget | null
  readonly used: Used
}

/** `calls`: how many tool calls the step makes. `more`: its usage that is not recorded yet. */
function exhausted(hold: Hold, calls: number, more = { tokens: 0, cost_usd: 0 }): Exhausted | undefined {
  const since = timeSince(hold)
  for (const { scope, of, subject_id, budget, used } of pursesOf(hold)) {
    const tokens = used.tokens + more.tokens
    const cost_usd = (used.cost_usd ?? 0) + more.cost_usd
    const spent = budget === null ? undefined : over(budget, { ...used, tokens, cost_usd }, calls, since)
    if (spent !== undefined) return { scope, message: saySpent(of, spent), budget_of: subject_id, budget_spent: spent }
  }
  return undefined
}

const timeSince = ({ engine, run }: Hold) => Math.max(0, engine.clock.now() - run.clock_at)

function timeLeft(hold: Hold): number | undefined {
  const since = timeSince(hold)
  const left = [...pursesOf(hold)].flatMap(({ budget, used }) =>
    budget?.wall_time_ms === undefined ? [] : [budget.wall_time_ms - used.wall_time_ms - since],
  )
  return left.length === 0 ? undefined : Math.max(0, Math.min(...left))
}

function* pursesOf({ state, run, agent }: Hold): Iterable<Purse> {
  yield { scope: 'agent', of: 'The agent', subject_id: agent.agent_id, budget: agent.budget, used: agent.used }
  yield purse('The run', run.run_id, run)
  let above: AgentView | undefined = state.agents.get(agent.parent_id ?? '')
  for (; above !== undefined; above = state.agents.get(above.parent_id ?? ''))
    yield purse(`The agent ${above.agent}, which this one works for,`, above.agent_id, above)
  for (let at = parentRun(state, run); at !== undefined; at = parentRun(state, at))
    yield purse(`The run ${at.run_id}, which handed this task on,`, at.run_id, at)
  const budget = (state.config.budget ?? null) as Budget | null
  yield { scope: 'session', of: 'The session', subject_id: state.session_id, budget, used: state.used }
}

function purse(of: string, subject_id: string, { budget, used }: Pick<Purse, 'budget' | 'used'>): Purse {
  return { scope: 'run', of, subject_id, budget, used }
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

/** Tokens of an answer are estimated by its length until the provider reports its usage. */
const charactersPerToken = 4

/** Watches the budgets while a model answers, and interrupts the answer when one of them is used up. */
export function watchBudgets(hold: Hold, price: Price | null) {
  let characters = 0
  let spent: Exhausted | undefined
  let cancel: Cancel | undefined

  const estimate = () => Math.floor(characters / charactersPerToken)
  function look() {
    // An answer may use up the last token, if it ends there.
    const tokens = Math.max(0, estimate() - 1)
    const cost_usd = (tokens * (price?.outputUsdPerMillion ?? 0)) / 1e6
    spent ??= exhausted(hold, 0, { tokens, cost_usd })
    if (spent !== undefined) hold.interruption.abort()
  }
  function wait() {
    const left = timeLeft(hold)
    if (left === undefined) return
    cancel = hold.engine.timers.after(Math.max(1, left), () => {
      look()
      // The wall time may have paused meanwhile, while a delegated task waited.
      if (spent === undefined) wait()
    })
  }
  wait()
  return {
    add(more: number) {
      characters += more
      if (spent === undefined) look()
    },
    spent: () => spent,
    estimate,
    end: () => cancel?.(),
  }
}
