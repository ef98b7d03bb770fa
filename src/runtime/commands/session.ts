import { faults } from '../../faults/catalogue.ts'
import type { Json } from '../../kernel/json.ts'
import { isTerminal } from '../../kernel/machine.ts'
import { refusalOf, suppose } from '../../kernel/transition.ts'
import { runMachine } from '../../machines/run.ts'
import { sessionMachine } from '../../machines/session.ts'
import { createGraph, type GraphOf } from '../../observation/graph-state.ts'
import type { Budget, RunView, SessionState } from '../../observation/session-state.ts'
import { mergedRows, type SessionRow, sessions } from '../../runelog/models.ts'
import type { Runelog } from '../../runelog/port.ts'
import { inSlices, othersTurn, sliceRunes } from '../../runelog/slices.ts'
import type { GraphState } from '../../wire/contract.ts'
import { type Batch, subject } from '../batch.ts'
import { change } from '../decide-and-append.ts'
import type { Engine } from '../engine.ts'
import { runOf } from '../engine.ts'
import type { RecordOf } from '../options.ts'
import { closeCalls, type Why, withdrawQuestions } from '../run/closing.ts'
import { recording, requestField } from '../scopes.ts'
import { once } from '../session-cache.ts'
import { cleanInput, refuseUnknownAgent } from './submit.ts'

/** The result of a request to stop or steer a run. */
export interface Stopped {
  /** The run. */
  readonly runId: string
  /** The status of the run when the request was recorded. */
  readonly status: string
  /** False if the run was over before; then nothing was recorded. */
  readonly accepted: boolean
}

/** Stops a run that no worker holds. If a worker holds it, the request is recorded, and a worker obeys it. */
export function stop(
  engine: Engine,
  { session_id, run_id }: { readonly session_id: string; readonly run_id: string },
  request: 'cancel' | 'interrupt',
  reason: string,
): Promise<RecordOf<Stopped>> {
  return change(engine, session_id, (batch) => {
    const run = runOf(batch.state, run_id)
    const { status } = run
    if (isTerminal(runMachine, status)) return { run_id, status, accepted: false }
    if (status === 'running') batch.on(subject.run(run), 'human').move('request', { request, reason })
    else cancelNow(engine, batch, run, { reason, actor: 'human' })
    return { run_id, status, accepted: true }
  })
}

/** New input for a run: the turn in flight ends at a safe boundary and the next one begins with it. */
export async function steer(engine: Engine, session_id: string, run_id: string, given: Json) {
  // An empty steer would never be used up: a turn without input continues the dialogue as it is.
  const input = await cleanInput(engine, 'A steer', given)
  return change(engine, session_id, (batch) => {
    const run = runOf(batch.state, run_id)
    const { status } = run
    if (isTerminal(runMachine, status)) {
      const refused = refusalOf(runMachine, run_id, suppose(runMachine, status, 'request'), [])
      throw faults.transition_refused({ ...refused, on: 'steer' })
    }
    batch.on(subject.run(run), 'human').move('request', { request: 'steer', reason: 'steered', input })
    return { run_id, status, accepted: true }
  })
}

/** Cancels a run with its turn and its open calls. Its epoch rises, so a worker that holds it is fenced. */
export function cancelNow(engine: Engine, batch: Batch, run: RunView, why: Why) {
  const { reason, actor } = why
  if (run.turn_id !== null) {
    closeCalls(engine, batch, run, why)
    batch.on(subject.turn(run, run.turn_id), actor).move('interrupt', { reason, partial_output: '' })
  }
  const fenced = run.status === 'running' ? { epoch: run.epoch + 1 } : {}
  batch.on(subject.run(run), actor).move('run.canceled', { message: reason, ...fenced })
}

/** No new turn begins in the session until it is resumed. */
export function pause(engine: Engine, session_id: string, reason: string): Promise<void> {
  return change(engine, session_id, (batch) => {
    batch.on(subject.session(session_id), 'human').move('pause_requested', { reason })
  })
}

/** Resumes a session that was paused, or suspended for its errors. Its queued runs may be taken again. */
export function goOn(engine: Engine, session_id: string, trigger: 'resume_requested' | 'reset', reason?: string) {
  return bringBack(engine, session_id, (batch) => {
    const session = batch.on(subject.session(session_id), 'human')
    refuseOtherwise(batch.state, trigger === 'reset' ? resets : resumes)
    if (trigger === 'reset') session.move(trigger, { reason: reason ?? trigger })
    else session.move(trigger, reason === undefined ? {} : { reason })
  })
}

/** Raises the budget of a suspended session. A budget that is used up already would suspend it again at once. */
export function replenish(engine: Engine, session_id: string, budget: Budget, reason?: string): Promise<void> {
  return bringBack(engine, session_id, (batch) => {
    const { state } = batch
    refuseOtherwise(state, replenishes)
    const before = state.config.budget as Budget | undefined
    const isFirstOfCalls = before?.tool_calls === undefined && budget.tool_calls !== undefined
    const made = isFirstOfCalls && { tool_calls_made: state.used.tool_calls }
    const payload = { reason: reason ?? 'budget_replenished', budget, ...made }
    batch.on(subject.session(session_id), 'human').move('budget_replenished', payload)
    // A running turn may still make calls that `made` does not count. If one of them moves first, decide again.
    if (isFirstOfCalls) for (const turn_id of state.turns.keys()) batch.restOn(turn_id)
    const limits = { ...before, ...budget }
    for (const what of ['tokens', 'tool_calls', 'wall_time_ms', 'cost_usd'] as const) {
      const limit = limits[what]
      const used = state.used[what] ?? 0
      if (limit === undefined || used < limit) continue
      throw faults.budget_too_small({ session_id, problem: `of ${limit} ${what} it has used ${used}` })
    }
  })
}

const resumes = { tried: 'a resume alone', ends: null }
const resets = { tried: 'a reset', ends: 'errors' }
const replenishes = { tried: 'a budget', ends: 'budget' }

/** A suspended session continues only by the command that fits its cause: a budget after a budget, a reset after errors. */
function refuseOtherwise({ session_id, suspension }: SessionState, way: { tried: string; ends: string | null }) {
  if (suspension !== null && suspension.by !== way.ends)
    throw faults.suspended_otherwise({ session_id, ...suspension, tried: way.tried })
}

async function bringBack(engine: Engine, session_id: string, move: (batch: Batch) => void) {
  const queued = await change(engine, session_id, (batch) => {
    move(batch)
    return [...batch.state.openRuns.values()].filter((run) => run.status === 'queued')
  })
  for (const { run_id } of queued) engine.wake(session_id, run_id)
}

/** Closes a session: nothing new begins, goals and plans end, open runs are cancelled, agents end, the log is sealed. */
export async function close(engine: Engine, session_id: string, reason: string): Promise<void> {
  await change(engine, session_id, (batch) => {
    // An earlier close was interrupted; finish it.
    if (batch.stateOf(session_id) === 'closing') return
    batch.on(subject.session(session_id), 'human').move('close_requested', { reason })
  })
  await finishClosing(engine, session_id, reason)
}

/** Ends everything in a closing session and seals its log. Recovery calls it, too. */
export async function finishClosing(engine: Engine, session_id: string, reason = 'the session was being closed') {
  await engine.autonomy.end(session_id, reason)
  const { openRuns } = await engine.sessions.load(session_id)
  for (const { run_id, status } of [...openRuns.values()]) {
    if (isTerminal(runMachine, status)) continue
    await stop(engine, { session_id, run_id }, 'cancel', reason)
    engine.wake(session_id, run_id)
  }
  await engine.released(session_id)
  await atRest(engine, session_id)
  await change(engine, session_id, (batch) => {
    if (batch.stateOf(session_id) !== 'closing') return
    const { openRuns, runs, agents, used } = batch.state
    const running = openRuns.values().find((run) => run.status === 'running')
    if (running !== undefined) throw faults.session_busy({ session_id, run_id: running.run_id, asked: 'close it' })
    const why: Why = { reason, actor: 'graph_runner' }
    for (const run of openRuns.values()) cancelNow(engine, batch, run, why)
    withdrawQuestions(batch, () => true, why)
    for (const { agent_id, used } of agents.values()) {
      if (batch.stateOf(agent_id) !== 'idle') continue
      const payload = { agent_id, reason: 'the session is closed', stats: { ...used } }
      batch.on(subject.agent(agent_id), 'graph_runner').move('parent_closed', payload)
    }
    const final_stats = { runs: runs.size, agents: agents.size, ...used }
    batch.on(subject.session(session_id), 'graph_runner').move('cleanup_complete', { final_stats })
  })
}

/** The log of a closed session goes to cold storage, where it stays readable; the session stays listed. */
export async function archive(engine: Engine, session_id: string): Promise<void> {
  const state = await engine.sessions.load(session_id)
  await recording((request_id) => engine.runelog.archive(session_id, requestField(request_id)))
  await engine.sessions.refresh(state)
}

/** Resolves when the record has no running run of the session, in any process, or when this process stops. */
async function atRest(engine: Engine, session_id: string): Promise<void> {
  const isHeld = ({ openRuns }: SessionState) => openRuns.values().some((run) => run.status === 'running')
  await once(engine.sessions, session_id, (state) => (engine.isStopping() || !isHeld(state) ? true : undefined))
}

/** Reads the log of a session in slices, with turns for others. Refused if session, agent or event is missing. */
export async function readGraph(
  runelog: Pick<Runelog, 'head' | 'read' | 'row'>,
  session_id: string,
  { agent_id, at_event_id }: RecordOf<GraphOf> = {},
): Promise<GraphState> {
  const head = await runelog.head(session_id)
  if (head === undefined) throw faults.not_found({ what: 'session', id: session_id })
  const last = at_event_id ?? head.event_id
  if (!Number.isSafeInteger(last) || last < 0) {
    const problem = 'It is not the id of an event: 0, 1, 2 and so on.'
    const problems = [{ in: 'options', pointer: '/atEventId', problem }]
    throw faults.bad_request({ operation: 'graphState', problems })
  }
  if (last > head.event_id) throw faults.not_found({ what: 'event', id: `${last} of ${session_id}` })
  await refuseUnknownAgent(runelog, session_id, agent_id)
  const growing = createGraph(agent_id)
  for (let after = 0; after < last; after += sliceRunes) {
    for (const rune of await runelog.read(session_id, { after, limit: Math.min(sliceRunes, last - after) }))
      growing.fold(rune)
    await othersTurn()
  }
  for await (const slice of inSlices(growing.contracts())) for (const history of slice) growing.addContract(history)
  return { ...growing.state(), session_id }
}

/** Which sessions to list. */
export interface SessionQuery {
  /** Only sessions in this state. */
  readonly state?: SessionRow['state']
  /** At most this many. Default: all. */
  readonly limit?: number
  /** The session that changed its state last comes first. */
  readonly backward?: boolean
  /** The last session of the page before. */
  readonly after?: Pick<ListedSession, 'session_id' | 'updated_at'>
}

/** A session in the list of sessions. An archived one is listed, too. */
export type ListedSession = SessionRow & { readonly session_id: string }

/** Sessions by their last change of state, oldest first unless `backward`. */
export async function listSessions(runelog: Runelog, { state, after, limit, ...query }: SessionQuery) {
  const page = { ...query, ...(after !== undefined && { after: { sort: after.updated_at, key: after.session_id } }) }
  // Each row has the state as its tag. A page is merged from the states, since only rows of one tag are in order.
  const states = state === undefined ? Object.keys(sessionMachine.states) : [state]
  const rows =
    limit === undefined
      ? await runelog.rows(sessions, { ...page, ...(state !== undefined && { tag: state }) })
      : await mergedRows(runelog, sessions, states, { ...page, limit })
  return rows.map(({ key, value }) => ({ session_id: key, ...value }))
}
