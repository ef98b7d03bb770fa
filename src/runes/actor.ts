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

export type Actor = (typeof actors)[number]

export const actorCategories = ['tool', 'agent', 'human', 'system'] as const

export type ActorCategory = (typeof actorCategories)[number]

const categories: { readonly [A in Actor]?: ActorCategory } = { tool_node: 'tool', reasoning: 'agent', human: 'human' }

export function actorCategory(actor: Actor): ActorCategory {
  return categories[actor] ?? 'system'
}
