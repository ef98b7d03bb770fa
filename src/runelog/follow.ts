import type { Rune } from '../runes/rune.ts'
import type { Bell } from './bell.ts'
import type { Runelog } from './port.ts'
import type { Tail } from './tail.ts'

const atOnce = 256

export interface Followed {
  readonly read: Runelog['read']
  readonly bell: Bell
  readonly tail?: Tail
  readonly check?: () => void
}

/**
 * Everything after a cursor, first what is there, then what comes. It goes by its cursor and uses the bell only to know
 * when to look again, so a lost or doubled notice can neither lose nor double a rune. `check` throws once the store
 * takes nothing more: the tail alone would not say so.
 */
export async function* follow(
  { read, bell, tail, check }: Followed,
  session_id: string,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<Rune, void, void> {
  let cursor = after
  let rung = false
  let wake = () => {}
  const ring = () => {
    rung = true
    wake()
  }
  const stop = bell.on(session_id, ring)
  signal.addEventListener('abort', ring)
  try {
    while (!signal.aborted) {
      rung = false
      const runes = tail?.after(session_id, cursor) ?? (await read(session_id, { after: cursor, limit: atOnce }))
      for (const rune of runes) {
        if (signal.aborted) return
        yield rune
        cursor = rune.event_id
      }
      if (runes.length > 0 || rung) continue
      check?.()
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  } finally {
    stop()
    signal.removeEventListener('abort', ring)
    // The last one to leave takes the tail along: nothing may ever be added to this session again.
    if (!bell.isAwaited(session_id)) tail?.forget(session_id)
  }
}
