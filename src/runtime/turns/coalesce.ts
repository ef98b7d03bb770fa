import type { Cancel, Timers } from '../ports.ts'

/** A record four times a second is often enough to follow, and a fast model does not cost a commit per token. */
const usual = { after_ms: 250, characters: 2_048 }

/**
 * Gathers small pieces of text into larger ones. They are handed on when the first of them is 250 ms old, when there is
 * enough, or when another channel speaks, so that channels keep their order. Nothing is doubled or moved: `offset` is
 * where the piece begins in all that its channel said.
 */
export function coalesce<C extends string = 'text' | 'reasoning'>(
  timers: Timers,
  handOn: (channel: C, text: string, offset: number) => void,
  limits = usual,
): {
  add(channel: C, text: string): void
  /** Takes nothing more, and hands on what is held; with a channel, only what is of it: the others are recorded whole. */
  finish(only?: C): void
} {
  const offsets = new Map<C, number>()
  let held = ''
  let heldChannel: C | undefined
  let cancelTimer: Cancel | undefined
  let isOver = false

  /** A character that came in two halves is not torn: half of it is no text, and could not be recorded. */
  function release(keepHalf: boolean) {
    cancelTimer?.()
    cancelTimer = undefined
    if (heldChannel === undefined) return
    const end = keepHalf && endsInHalf(held) ? held.length - 1 : held.length
    const text = held.slice(0, end).toWellFormed()
    held = held.slice(end)
    if (text === '') return
    const offset = offsets.get(heldChannel) ?? 0
    offsets.set(heldChannel, offset + text.length)
    handOn(heldChannel, text, offset)
  }

  return {
    add(channel, text) {
      if (isOver || text === '') return
      if (heldChannel !== channel) release(false)
      heldChannel = channel
      held += text
      if (held.length >= limits.characters) release(true)
      else cancelTimer ??= timers.after(limits.after_ms, () => release(true))
    },
    finish(only = heldChannel) {
      isOver = true
      if (heldChannel !== only) held = ''
      release(false)
    },
  }
}

function endsInHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1)
  return last >= 0xd800 && last <= 0xdbff
}
