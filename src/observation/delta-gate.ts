import type { Rune } from '../runes/rune.ts'

interface Delta {
  readonly turn_id: string
  readonly round: number
  readonly channel: string
  readonly offset: number
}

interface Turn {
  /** Rounds before this one are recorded whole. */
  round: number
  /** The end of the recorded text, by round and channel. */
  readonly ends: Map<string, number>
}

const keptTurns = 64

/** Tells text that is not recorded yet from text that came too late: a reader has its rune already. */
export function createDeltaGate() {
  const turns = new Map<string, Turn>()

  function turnOf(turn_id: string): Turn {
    const turn = turns.get(turn_id) ?? { round: 0, ends: new Map() }
    turns.set(turn_id, turn)
    const [oldest] = turns.keys()
    if (turns.size > keptTurns && oldest !== undefined) turns.delete(oldest)
    return turn
  }

  return {
    /** The reader gets this rune. */
    note(rune: Rune) {
      if (rune.turn_id === undefined) return
      switch (rune.kind) {
        case 'turn.assistant_delta': {
          const { round, channel, offset, content } = rune.payload
          turnOf(rune.turn_id).ends.set(`${round} ${channel}`, offset + content.length)
          break
        }
        case 'turn.tool_calls_received':
          turnOf(rune.turn_id).round = rune.payload.round
          break
        case 'turn.completed':
        case 'turn.interrupted':
        case 'turn.error':
          turnOf(rune.turn_id).round = Number.POSITIVE_INFINITY
      }
    },
    passes({ turn_id, round, channel, offset }: Delta): boolean {
      const turn = turns.get(turn_id)
      return turn === undefined || (round >= turn.round && offset >= (turn.ends.get(`${round} ${channel}`) ?? 0))
    },
  }
}
