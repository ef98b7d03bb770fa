import { accepted } from '../../faults/catalogue.ts'
import type { AgentView, CallView, RunView, SessionState, TurnView } from '../../observation/session-state.ts'
import type { Evidence } from '../../runes/kinds/call.ts'
import type { Rune } from '../../runes/rune.ts'
import { type Batch, createBatch, type Subject, subject } from '../batch.ts'
import type { AgentDefinition } from '../define-agent.ts'
import type { Engine } from '../engine.ts'
import type { Lease } from '../store.ts'
import { type Outcome as Carried, leftBehind } from '../tools/carry-out.ts'

/** A run in the hands of this worker, and what only this worker knows about it. */
export interface Hold {
  readonly state: SessionState
  readonly run: RunView
  readonly agent: AgentView
  readonly definition: AgentDefinition
  readonly lease: Lease
  readonly epoch: number
  /** Effects under way, by call. What is not in here was begun by someone else, if it was begun at all. */
  readonly inHand: Map<string, InHand>
  /** Calls whose outcome is unknown. */
  readonly unknown: Set<string>
  /** Resolves when something was asked of the holder. */
  changed: PromiseWithResolvers<void>
  /** Stops the stream or the wait that is under way. */
  interruption: AbortController
  /** Resolves when this worker has let go of the run. */
  readonly over: PromiseWithResolvers<void>
  /** The process is going down: let go at the next boundary. */
  isLeaving: boolean
}

/** A call that this worker carries out. */
export interface InHand {
  readonly abort: AbortController
  readonly done: Promise<void>
  outcome: Outcome | undefined
}

/** What the tool came to, or what a probe found out: also that it is unknown. */
export type Outcome = Carried | { readonly status: 'unknown'; readonly evidence?: Evidence }

/** The current turn of the held run. */
export function turnOf(hold: Hold): TurnView {
  const turn = hold.state.turns.get(hold.run.turn_id ?? '')
  if (turn === undefined) throw new Error(`${hold.run.run_id} is running without a turn.`)
  return turn
}

/** The calls of the current turn. */
export function callsOf(hold: Hold): CallView[] {
  return turnOf(hold).call_ids.flatMap((call_id) => hold.state.calls.get(call_id) ?? [])
}

/** The turn of the run that is held. */
export function heldTurn(hold: Hold): Subject<'turn'> {
  return subject.turn(hold.run, turnOf(hold).turn_id)
}

/** Begins the next append of the run that is held. */
export function batchFor(engine: Engine, hold: Hold): Batch {
  return createBatch(hold.state, engine.clock.now())
}

/** The next append of a run that is held, with what it is made from. */
export interface Step {
  readonly engine: Engine
  readonly hold: Hold
  readonly batch: Batch
}

/** Begins the next append of the run that is held. */
export function stepOf(engine: Engine, hold: Hold): Step {
  return { engine, hold, batch: batchFor(engine, hold) }
}

/**
 * Records under the fence: an append of a worker that lost its run cannot commit. One that moves the run itself also
 * expects that nothing was asked of it meanwhile: a request is obeyed before the run ends or waits. The session, too,
 * moves only from where it was seen: others may be about to suspend it. So does what rests on a question being open:
 * its answer may be on the way.
 */
export async function commit(engine: Engine, hold: Hold, batch: Batch): Promise<readonly Rune[]> {
  const { run_id } = hold.run
  const fence = { run_id, epoch: hold.epoch }
  const expect: Record<string, number> = {}
  for (const [id, version] of batch.moved)
    if (id === run_id || id === hold.state.session_id || hold.state.interactions.has(id)) expect[id] = version
  // Before it is recorded: what follows from the record may come here sooner than the news that it is.
  if (batch.stateOf(run_id) === 'waiting_user') engine.preserving.parked(run_id)
  // A refusal unwinds the whole step: nothing that follows it may begin.
  const runes = accepted(await engine.sessions.commit(hold.state, batch, { fence, expect }))
  for (const call_id of hold.inHand.keys())
    if (hold.state.calls.get(call_id)?.contract !== 'running') hold.inHand.delete(call_id)
  return runes
}

/** Some effect has not come to an end yet. */
export function isUnderWay(hold: Hold): boolean {
  for (const { outcome } of hold.inHand.values()) if (outcome === undefined) return true
  return false
}

/** The lease is gone: the stream and every effect under way are told, and nothing may be begun. */
export function stopEverything(hold: Hold) {
  hold.interruption.abort()
  for (const { abort } of hold.inHand.values()) abort.abort(leftBehind)
  hold.changed.resolve()
}

/** The record says that another worker holds the run, or that it is over: this worker has lost it. */
export function isTaken({ run, epoch }: Hold): boolean {
  return run.epoch !== epoch || run.status !== 'running'
}

/** Wakes the holder: a request was recorded, the run was taken away, or something it waits for has changed. */
export function nudge(hold: Hold) {
  if (isTaken(hold)) return stopEverything(hold)
  hold.changed.resolve()
  hold.changed = Promise.withResolvers<void>()
  if (hold.run.cancel !== null || hold.run.steers.length > 0 || hold.isLeaving) hold.interruption.abort()
}
