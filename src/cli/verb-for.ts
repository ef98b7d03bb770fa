import { answeredBy } from '../observation/answered-by.ts'

/** The command that a question of this kind is answered with. */
export function verbFor(asked: {
  readonly interaction_id: string
  readonly interaction_kind: string
  readonly coordination_id?: string | null
}): string {
  const { interaction_id, interaction_kind, coordination_id } = asked
  // A pack is answered by name, after a look at its questions: the plan shows them, and says how.
  if (interaction_kind === 'question_pack')
    return coordination_id == null ? `inbox ${interaction_id}` : `plan show ${coordination_id}`
  return answeredBy(interaction_kind, interaction_id)
}
