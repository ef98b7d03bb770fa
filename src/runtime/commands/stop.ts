import { faults } from '../../faults/catalogue.ts'
import type { Json } from '../../kernel/json.ts'
import { isTerminal } from '../../kernel/machine.ts'
import { whyRefused } from '../../kernel/why-refused.ts'
import { runMachine } from '../../machines/run.ts'
import type { RunView, SessionState } from '../../observation/session-state.ts'
import { type Batch, createBatch } from '../batch.ts'
import { attempt } from '../decide-and-append.ts'
import type { Engine } from '../engine.ts'
import { closeCalls, type Why } from '../run/call-closing.ts'
import { settlementQuestion } from '../run/unknown-outcome.ts'
import { subject } from '../subject.ts'
import { refuseMissing } from './submit.ts'

export interface Stopped {
  readonly run_id: string
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
): Promise<Stopped> {
  return attempt<Stopped>(engine, session_id, (state) => {
    const run = runOf(state, run_id)
    if (isTerminal(runMachine, run.status)) return { answer: () => ({ run_id, status: run.status, accepted: false }) }
    const batch = createBatch(state, engine.clock.now())
    if (run.status === 'running') batch.on(subject.run(run), 'human').move('request', { request, reason })
    else cancelNow(engine, batch, run, { reason, actor: 'human' })
    return { batch, answer: () => ({ run_id, status: run.status, accepted: true }) }
  })
}

/** New input for a run: the turn in flight ends at a safe boundary and the next one begins with it. */
export function steer(engine: Engine, session_id: string, run_id: string, input: Json): Promise<Stopped> {
  // A turn without input goes on with what is there: it would never use this up.
  refuseMissing('A steer', input)
  return attempt<Stopped>(engine, session_id, (state) => {
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
