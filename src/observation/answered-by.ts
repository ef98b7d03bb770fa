const verbs: Readonly<Record<string, string>> = { approval: 'approve', settlement: 'settle' }

/** What a question is answered with: the verb is the name of a command and of an operation, the id names the question. */
export function answeredBy(interaction_kind: string, interaction_id: string): string {
  return `${verbs[interaction_kind] ?? 'answer'} ${interaction_id}`
}
