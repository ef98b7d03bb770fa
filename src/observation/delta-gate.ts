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

/** Whether text that is not recorded yet is new to a reader. */
export interface DeltaGate {
  /** The reader has this rune, or gets it now. In any order. */
  note(rune: Rune): void
  /** False: the text came too late, since a rune that was noted has it. */
  passes(delta: Delta): boolean
}

/** Tells text that is not recorded yet from text that came too late. */
export function createDeltaGate(): DeltaGate {
  const turns = new Map<string, Turn>()

  function turnOf(turn_id: string): Turn {
    const turn = turns.get(turn_id) ?? { round: 0, ends: new Map() }
    turns.set(turn_id, turn)
    const [oldest] = turns.keys()
    if (turns.size > keptTurns && oldest !== undefined) turns.delete(oldest)
    return turn
  }

  function ended(turn_id: string, before: number) {
    const turn = turnOf(turn_id)
    turn.round = Math.max(turn.round, before)
  }

  return {
    note(rune) {
      if (rune.turn_id === undefined) return
      switch (rune.kind) {
        case 'turn.assistant_delta': {
          const { round, channel, offset, content } = rune.payload
          const { ends } = turnOf(rune.turn_id)
          const name = `${round} ${channel}`
          ends.set(name, Math.max(ends.get(name) ?? 0, offset + content.length))
          break
        }
        case 'turn.tool_calls_received':
          ended(rune.turn_id, rune.payload.round)
          break
        case 'turn.completed':
        case 'turn.interrupted':
        case 'turn.error':
          ended(rune.turn_id, Number.POSITIVE_INFINITY)
      }
    },
    passes({ turn_id, round, channel, offset }) {
      const turn = turns.get(turn_id)
      return turn === undefined || (round >= turn.round && offset >= (turn.ends.get(`${round} ${channel}`) ?? 0))
    },
  }
}
