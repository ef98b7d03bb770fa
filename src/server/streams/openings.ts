import type { Runelog } from '../../runelog/port.ts'
import { othersTurn } from '../../runelog/slices.ts'
import type { Rune } from '../../runes/rune.ts'

type Opened = Rune<'contract.opened'>

const atOnce = 256
const kept = 1_000

/**
 * How the contracts of one session began. A reader may come in anywhere, and a
 * move can only be told of by who knows what moves: what was not read by the
 * way is looked for backwards, where it mostly is near.
 */
export function createOpenings(runelog: Pick<Runelog, 'read'>, session_id: string) {
  const known = new Map<string, Opened>()

  function keep(execution_id: string, rune: Opened) {
    known.set(execution_id, rune)
    const [oldest] = known.keys()
    if (known.size > kept && oldest !== undefined) known.delete(oldest)
  }

  async function search(execution_id: string, before: number): Promise<Opened | undefined> {
    for (let end = before; end > 1; ) {
      const runes = await runelog.read(session_id, { before: end, limit: atOnce, backward: true })
      for (const rune of runes)
        if (rune.kind === 'contract.opened' && rune.execution_id === execution_id) {
          keep(execution_id, rune)
          return rune
        }
      end = runes.at(-1)?.event_id ?? 0
      if (end > 1) await othersTurn()
    }
    return undefined
  }

  return {
    /** Takes note of a rune that is read anyway. */
    note(rune: Rune) {
      if (rune.kind === 'contract.opened' && rune.execution_id !== undefined) keep(rune.execution_id, rune)
    },
    /** The opening of a contract that a rune of this place moves. */
    of(execution_id: string, before: number): Opened | Promise<Opened | undefined> {
      return known.get(execution_id) ?? search(execution_id, before)
    },
  }
}
