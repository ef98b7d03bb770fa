import type { DeltaGate } from '../observation/delta-gate.ts'
import type { Runelog } from '../runelog/port.ts'

/** A piece of text of a model that is not recorded yet. A rune repeats it later. */
export interface EphemeralDelta {
  /** The session of the run. */
  readonly session_id: string
  /** The run. */
  readonly run_id: string
  /** The turn. */
  readonly turn_id: string
  /** The number of the model's answer within the turn. */
  readonly round: number
  /** Where the piece begins in the text of its channel and round, in characters. */
  readonly offset: number
  /** `text`: the model's answer; `reasoning`: its reasoning. */
  readonly channel: 'text' | 'reasoning'
  /** The piece. */
  readonly text: string
}

/** Text that is not recorded yet, between the processes of a store. It may be lost. */
export interface Deltas {
  /** Returns at once. The text is dropped if no other process reads its session. */
  send(delta: EphemeralDelta): void
  /** Calls back with text of a session that other processes send. Returns the function that unsubscribes. */
  subscribe(session_id: string, listener: (delta: EphemeralDelta) => void): () => void
}

/** More runes than are recorded while a text is on its way. */
const lastRunes = 256

/**
 * Notes the last runes that a reader has, up to this event. Their text may still be on its way from another process,
 * which gathers it before it sends it.
 */
export async function noteLast(
  gate: DeltaGate,
  runelog: Pick<Runelog, 'read'>,
  session_id: string,
  event_id: number,
): Promise<void> {
  const last = await runelog.read(session_id, { before: event_id + 1, limit: lastRunes, backward: true })
  for (const rune of last) gate.note(rune)
}
