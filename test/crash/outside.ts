import type { Json } from '../../src/kernel/json.ts'

/** Something that was done to the world, as the world received it. */
export interface Effect {
  readonly tool: string
  readonly key: string
  readonly session_id: string
  readonly run_id: string
  readonly call_id: string
  readonly execution_id: string
}

/** The answers that a client got, written down at once. */
export type Note =
  | { readonly told: 'submitted'; readonly tag: string; readonly session_id: string; readonly run_id: string }
  | { readonly told: 'replied'; readonly interaction_id: string; readonly reply: Json }
  | { readonly told: 'cancelled'; readonly run_id: string; readonly accepted: boolean }
  | { readonly told: 'closed'; readonly session_id: string }
  | { readonly told: 'result'; readonly run_id: string; readonly status: string; readonly result: Json | null }
  /** An append was answered: up to here the log is on disk, or somebody lied. */
  | { readonly told: 'recorded'; readonly session_id: string; readonly event_id: number; readonly hash: string }

/**
 * All that is outside of the process and survives it: the world, which receives
 * effects and counts them, and the notebook of the client.
 */
export interface Outside {
  /** Resolves when the effect is done and cannot be undone by anything that dies. */
  receive(effect: Effect): Promise<Json>
  effects(): Promise<readonly Effect[]>
  note(note: Note): Promise<void>
  notes(): Promise<readonly Note[]>
}

/** The answer of the world to an effect. A person who settles an unknown outcome gives the same answer. */
export const answerTo = ({ tool, key }: Pick<Effect, 'tool' | 'key'>): Json => ({ did: tool, key })

export function createOutside(): Outside {
  const effects: Effect[] = []
  const notes: Note[] = []
  return {
    async receive(effect) {
      effects.push(effect)
      return answerTo(effect)
    },
    effects: async () => effects,
    async note(note) {
      notes.push(note)
    },
    notes: async () => notes,
  }
}
