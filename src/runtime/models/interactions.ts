import type { ReadModel } from '../../runelog/read-model.ts'
import type { Visibility } from '../../runes/rune.ts'

/** What waits for someone, across all sessions: the inbox, and the deadlines that a restart has to keep. */
export type OpenInteraction = {
  readonly interaction_id: string
  readonly session_id: string
  readonly run_id: string | null
  readonly call_id: string | null
  /** The contract that waits for the answer. */
  readonly execution_id: string | null
  /** What asked, where no run did. */
  readonly coordination_id: string | null
  readonly goal_id: string | null
  readonly task_id: string | null
  readonly interaction_kind: string
  readonly prompt: string
  readonly deadline: number | null
  readonly opened_at: number
  /** That of the run that asks. Only a person who may answer sees a prompt that is not public. */
  readonly visibility: Visibility
}

/** Those with a deadline are listed apart: a start has to keep these, and only these. */
export const openInteractions: ReadModel<OpenInteraction> = {
  name: 'open_interactions',
  version: 5,
  keys: (rune) => (rune.machine === 'interaction' && rune.subject_id !== undefined ? [rune.subject_id] : []),
  fold(_row, rune, key) {
    if (rune.kind !== 'interaction.opened') return undefined
    const { interaction_kind, prompt, deadline } = rune.payload
    const value: OpenInteraction = {
      interaction_id: key,
      session_id: rune.session_id,
      run_id: rune.run_id ?? null,
      call_id: rune.call_id ?? null,
      execution_id: rune.execution_id ?? null,
      coordination_id: rune.coordination_id ?? null,
      goal_id: rune.goal_id ?? null,
      task_id: rune.task_id ?? null,
      interaction_kind,
      prompt,
      deadline,
      opened_at: rune.at,
      visibility: rune.visibility,
    }
    return { key, tag: deadline === null ? 'open' : 'due', sort: rune.at, value }
  },
}
