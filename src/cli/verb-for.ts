const verbs: Readonly<Record<string, string>> = { approval: 'approve', settlement: 'settle' }

/** The command that a question of this kind is answered with. */
export function verbFor(asked: { readonly interaction_id: string; readonly interaction_kind: string }): string {
  return `${verbs[asked.interaction_kind] ?? 'answer'} ${asked.interaction_id}`
}
