/** Who may fire a trigger. Names that a specification has are the specification's. */
export const actors = [
  'tool_node',
  'ecs_node',
  'graph_runner',
  'reasoning',
  'human',
  'policy',
  'recovery',
  'timer',
  'coordinator',
  'scheduler',
] as const

/** Who caused a rune. */
export type Actor = (typeof actors)[number]

/** The four kinds of actor that readers see. */
export const actorCategories = ['tool', 'agent', 'human', 'system'] as const

/** One of the four kinds of actor. */
export type ActorCategory = (typeof actorCategories)[number]

const categories: { readonly [A in Actor]?: ActorCategory } = { tool_node: 'tool', reasoning: 'agent', human: 'human' }

/** The category of an actor; `system` where no other is declared. */
export function actorCategory(actor: Actor): ActorCategory {
  return categories[actor] ?? 'system'
}
