import { faults } from '../../faults/catalogue.ts'
import type { Json } from '../../kernel/json.ts'
import { isTerminal } from '../../kernel/machine.ts'
import { whyRefused } from '../../kernel/transition.ts'
import { runMachine } from '../../machines/run.ts'
import type { SessionTrigger } from '../../machines/session.ts'
import type { Budget, RunView, SessionState } from '../../observation/session-state.ts'
import { type Batch, createBatch, subject } from '../batch.ts'
import { attempt } from '../decide-and-append.ts'
import type { Engine } from '../engine.ts'
import { once } from '../once.ts'
import type { RecordOf } from '../options.ts'
import { closeCalls, settlementQuestion, type Why, withdrawQuestions } from '../run/closing.ts'
import { named, recording } from '../scopes.ts'
import { refuseMissing } from './submit.ts'

/** What stopping a run did. */
export interface Stopped {
  readonly runId: string
  readonly status: string
  /** False: it was over before. */
  readonly accepted: boolean
}

/**
 * Stops a run. One that no worker holds is stopped here; for one that a worker
 * holds the request is recorded, and that worker obeys it, or the next one.
 */
export function stop(
  engine: Engine,
  { session_id, run_id }: { readonly session_id: string; readonly run_id: string },
  request: 'cancel' | 'interrupt',
  reason: string,
): Promise<RecordOf<Stopped>> {
  return attempt<RecordOf<Stopped>>(engine, session_id, (state) => {
    const run = runOf(state, run_id)
    if (isTerminal(runMachine, run.status)) return { answer: () => ({ run_id, status: run.status, accepted: false }) }
    const batch = createBatch(state, engine.clock.now())
    if (run.status === 'running') batch.on(subject.run(run), 'human').move('request', { request, reason })
    else cancelNow(engine, batch, run, { reason, actor: 'human' })
    return { batch, answer: () => ({ run_id, status: run.status, accepted: true }) }
  })
}

/** New input for a run: the turn in flight ends at a safe boundary and the next one begins with it. */
export function steer(engine: Engine, session_id: string, run_id: string, input: Json): Promise<RecordOf<Stopped>> {
  // A turn without input goes on with what is there: it would never use this up.
  refuseMissing('A steer', input)
  return attempt<RecordOf<Stopped>>(engine, session_id, (state) => {
    const run = runOf(state, run_id)
    if (isTerminal(runMachine, run.status))
      throw faults.transition_refused({
        machine: 'run',
        id: run_id,
        from: run.status,
        on: 'steer',
        refusal: 'terminal',
        legal: [],
        why: whyRefused(runMachine, run.status, 'request'),
      })
    const batch = createBatch(state, engine.clock.now())
    const payload = { request: 'steer', reason: 'steered', input } as const
    batch.on(subject.run(run), 'human').move('request', payload)
    return { batch, answer: () => ({ run_id, status: run.status, accepted: true }) }
  })
}

/** The run in a session. Refused if there is none. */
export function runOf(state: SessionState, run_id: string): RunView {
  const run = state.runs.get(run_id)
  if (run === undefined) throw faults.not_found({ what: 'run', id: run_id })
  return run
}

/**
 * Cancels a run in this append, with its turn and its open calls. If a worker holds it, its epoch goes up, so that the
 * worker can record nothing more.
 */
export function cancelNow(engine: Engine, batch: Batch, run: RunView, { reason, actor }: Why) {
  if (run.turn_id !== null) {
    closeOpenCalls(engine, batch, run, { reason, actor })
    const payload = { reason, partial_output: '' }
    batch.on(subject.turn(run, run.turn_id), actor).move('interrupt', payload)
  }
  const fenced = run.status === 'running' ? { epoch: run.epoch + 1 } : {}
  batch.on(subject.run(run), actor).move('run.canceled', { message: reason, ...fenced })
}

/** Closes the calls of a run that no worker holds. */
export function closeOpenCalls(engine: Engine, batch: Batch, run: RunView, { reason, actor }: Why) {
  const { state } = batch
  const turn = state.turns.get(run.turn_id ?? '')
  const calls = (turn?.call_ids ?? []).flatMap((id) => state.calls.get(id) ?? [])
  closeCalls(batch, calls, {
    reason,
    actor,
    newInteractionId: () => engine.ids.next('int'),
    settlementFor: (call) => settlementQuestion(call, batch),
    knownOf: () => undefined,
    isHarmless: (call) => !call.irreversible,
  })
}

/** Pauses a session: no new turn begins. */
export function pause(engine: Engine, session_id: string, reason: string): Promise<void> {
  return attempt(engine, session_id, (state) => {
    const batch = createBatch(state, engine.clock.now())
    batch.on(subject.session(session_id), 'human').move('pause_requested', { reason })
    return { batch, answer: () => undefined }
  })
}

/** Brings a paused or suspended session back. What waited in its queue is taken again. */
export function goOn(
  engine: Engine,
  session_id: string,
  trigger: Extract<SessionTrigger, 'resume_requested' | 'reset'>,
  reason?: string,
): Promise<void> {
  return bringBack(engine, session_id, (batch, state) => {
    const actor = 'human'
    refuseOtherwise(state, trigger === 'reset' ? resets : resumes)
    if (trigger === 'resume_requested') {
      const payload = reason === undefined ? {} : { reason }
      batch.on(subject.session(session_id), actor).move(trigger, payload)
    } else {
      const payload = { reason: reason ?? trigger }
      batch.on(subject.session(session_id), actor).move(trigger, payload)
    }
  })
}

/** Gives a suspended session more to spend. A budget that is used up already would suspend it again at once. */
export function replenish(engine: Engine, session_id: string, budget: Budget, reason?: string): Promise<void> {
  return bringBack(engine, session_id, (batch, state) => {
    refuseOtherwise(state, replenishes)
    const before = state.config.budget as Budget | undefined
    const isFirstOfCalls = before?.tool_calls === undefined && budget.tool_calls !== undefined
    const made = isFirstOfCalls && { tool_calls_made: state.used.tool_calls }
    const payload = { reason: reason ?? 'budget_replenished', budget, ...made }
    batch.on(subject.session(session_id), 'human').move('budget_replenished', payload)
    // The last calls of a turn that has not noticed yet may be on their way; no other turn begins meanwhile.
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

/** A session comes back by what suspended it: a larger budget, or errors that someone looked at. */
function refuseOtherwise({ session_id, suspension }: SessionState, way: { tried: string; ends: string | null }) {
  if (suspension !== null && suspension.by !== way.ends)
    throw faults.suspended_otherwise({ session_id, ...suspension, tried: way.tried })
}

async function bringBack(engine: Engine, session_id: string, move: (batch: Batch, state: SessionState) => void) {
  const queued = await attempt(engine, session_id, (state) => {
    const batch = createBatch(state, engine.clock.now())
    move(batch, state)
    const waiting = [...state.openRuns.values()].filter((run) => run.status === 'queued').map((run) => run.run_id)
    return { batch, answer: () => waiting }
  })
  for (const run_id of queued) engine.wake(session_id, run_id)
}

/**
 * Closes a session: nothing new begins, goals and plans come to their end, open runs are cancelled, agents are
 * terminated, the log is sealed. `settled` waits until no worker holds a run.
 */
export async function close(
  engine: Engine,
  session_id: string,
  reason: string,
  settled: (session_id: string) => Promise<void>,
): Promise<void> {
  await attempt(engine, session_id, (state) => {
    // Something kept it from being closed before; that may be solved by now.
    if (state.subjects.get(session_id)?.state === 'closing') return { answer: () => undefined }
    const batch = createBatch(state, engine.clock.now())
    batch.on(subject.session(session_id), 'human').move('close_requested', { reason })
    return { batch, answer: () => undefined }
  })
  await finishClosing(engine, session_id, reason, settled)
}

/** Also what a restart does with a session that was being closed. */
export async function finishClosing(
  engine: Engine,
  session_id: string,
  reason: string,
  settled: (session_id: string) => Promise<void>,
): Promise<void> {
  await engine.beside.end(session_id, reason)
  const state = await engine.sessions.load(session_id)
  for (const run of [...state.openRuns.values()]) {
    if (isTerminal(runMachine, run.status)) continue
    await stop(engine, { session_id, run_id: run.run_id }, 'cancel', reason)
    engine.wake(session_id, run.run_id)
  }
  await settled(session_id)
  await atRest(engine, session_id)
  await attempt(engine, session_id, (now) => {
    if (now.subjects.get(session_id)?.state !== 'closing') return { answer: () => undefined }
    const batch = createBatch(now, engine.clock.now())
    const running = [...now.openRuns.values()].find((run) => run.status === 'running')
    if (running !== undefined) throw faults.session_busy({ session_id, run_id: running.run_id, asked: 'close it' })
    for (const run of now.openRuns.values()) cancelNow(engine, batch, run, { reason, actor: 'graph_runner' })
    withdrawQuestions(batch, () => true, { reason, actor: 'graph_runner' })
    for (const { agent_id, used } of now.agents.values()) {
      if (batch.stateOf(agent_id) !== 'idle') continue
      const payload = { agent_id, reason: 'the session is closed', stats: { ...used } }
      batch.on(subject.agent(agent_id), 'graph_runner').move('parent_closed', payload)
    }
    const final_stats = { runs: now.runs.size, agents: now.agents.size, ...now.used }
    batch.on(subject.session(session_id), 'graph_runner').move('cleanup_complete', { final_stats })
    return { batch, answer: () => undefined }
  })
}

/** The log of a closed session goes to cold storage, where it stays readable; the session stays listed. */
export async function archive(engine: Engine, session_id: string): Promise<void> {
  const state = await engine.sessions.load(session_id)
  await recording((request_id) => engine.runelog.archive(session_id, named(request_id)))
  await engine.sessions.refresh(state)
}

/**
 * Resolves when the record says that no run of the session is held. Its worker may be in another process, or about to
 * learn that it has the run. A process that goes down does not wait for that.
 */
async function atRest(engine: Engine, session_id: string): Promise<void> {
  const isHeld = ({ openRuns }: SessionState) => [...openRuns.values()].some((run) => run.status === 'running')
  await once(engine.sessions, session_id, (state) => (engine.isStopping() || !isHeld(state) ? true : undefined))
}
