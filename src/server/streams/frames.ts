import { isShown } from '../../observation/visible.ts'
import type { Rune } from '../../runes/rune.ts'
import type { EphemeralDelta } from '../../runtime/delta.ts'
import type { SessionEvent } from '../../wire/session-event.ts'

/** Which of the two views of a session a reader asked for. */
export type View = 'events' | 'events_and_runes'

/** The events of a rune, and the opening of the contract that it belongs to. */
interface RuneEvents {
  readonly events: readonly SessionEvent[]
  readonly opened: Rune<'contract.opened'> | undefined
}

/**
 * The frames of a public rune: the rune itself, if asked for, and its events. Only the last one has the id, so a reader
 * that is cut off among them gets all of them again.
 */
export function runeFrames(rune: Rune, { events, opened }: RuneEvents, view: View): string {
  if (!isShown(rune, opened)) return ''
  const { event_id, session_id, run_id, at } = rune
  const about = { event_id, session_id, ...(run_id !== undefined && { run_id }), at, durable: true }
  const parts: { type: string; data: object }[] = events.map(({ type, payload }) => ({
    type,
    data: { type, ...about, payload },
  }))
  if (view === 'events_and_runes') parts.unshift({ type: 'rune', data: rune })
  return parts.map(({ type, data }, i) => frame(type, data, i === parts.length - 1 ? event_id : undefined)).join('')
}

/** Text that is not recorded yet. It has no id to resume from; its durable form follows. */
export function deltaFrame({ session_id, run_id, text: content, ...payload }: EphemeralDelta): string {
  return frame('delta', { type: 'delta', session_id, run_id, durable: false, payload: { ...payload, content } })
}

/** One server-sent event, in the format of the HTML standard. */
export function frame(type: string, data: object, id?: number): string {
  const end = id === undefined ? '' : `id: ${id}\n`
  return `event: ${type}\ndata: ${JSON.stringify(data)}\n${end}\n`
}

/** Keeps the connection open, and moves the reader's cursor past runes without events, so that a resume skips them. */
export const heartbeat = (id: number): string => `: still here\nid: ${id}\n\n`
