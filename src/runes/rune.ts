import type { Reading } from '../kernel/machine.ts'
import type { Kind, Payload } from './kinds.ts'

/** Who may read a rune. */
export const visibilities = ['public', 'internal', 'secret'] as const

/** Everyone; agents and the pipeline; the originating agent only. */
export type Visibility = (typeof visibilities)[number]

/** The ids of subjects that a rune may concern. */
// biome-ignore format: one line for what belongs together
export const concernNames = [
  'run_id', 'agent_id', 'turn_id', 'call_id', 'execution_id', 'interaction_id',
  'coordination_id', 'goal_id', 'task_id', 'request_id',
] as const

/**
 * What a rune concerns. Ids carry their kind (`exe_…`). `request_id` is the request with an idempotency key that brought
 * it about; only the first rune of an append has it.
 */
export type Concerns = { readonly [K in (typeof concernNames)[number]]?: string }

/** The move a rune records. An opening has no `from` and no `trigger`. */
export interface RecordedMove {
  readonly machine: string
  readonly subject_id: string
  readonly from: string | null
  readonly to: string
  readonly trigger: string | null
  /** What the guards found on the edges that the rune takes, where these have guards. All of them hold. */
  readonly guards?: readonly Reading[]
}

/** What a writer says; the store adds where it stands and what proves it. */
export type Draft<K extends Kind = Kind> = {
  [J in K]: Concerns &
    Partial<RecordedMove> & {
      readonly kind: J
      readonly visibility?: Visibility
      readonly at: number
      readonly actor: Actor
      readonly payload: Payload<J>
    }
}[K]

/** One immutable record of one session. */
export type Rune<K extends Kind = Kind> = {
  [J in K]: Header & Concerns & Partial<RecordedMove> & { readonly kind: J; readonly payload: Payload<J> }
}[K]

/** Everything in a rune except its payload. */
export interface Header {
  /** Per session, from 1, without gaps; the cursor of every reader. */
  readonly event_id: number
  readonly rune_id: string
  readonly session_id: string
  readonly visibility: Visibility
  /** Milliseconds since 1970, UTC. */
  readonly at: number
  readonly actor: Actor
  readonly actor_category: ActorCategory
  readonly payload_sha256: string
  readonly prev_hash: string
  readonly hash: string
  readonly schema_version: number
  /** The content of the payload was erased; what is left is the least its schema allows. The chain still verifies. */
  readonly redacted?: true
}

/** Who may fire a trigger. Names that a specification has are the specification's. */
// biome-ignore format: one line for what belongs together
export const actors = [
  'tool_node', 'ecs_node', 'graph_runner', 'reasoning', 'human',
  'policy', 'recovery', 'timer', 'coordinator', 'scheduler',
] as const

/** Who caused a rune. */
export type Actor = (typeof actors)[number]

/** The four kinds of actor that readers see. */
export const actorCategories = ['tool', 'agent', 'human', 'system'] as const

/** One of the four kinds of actor. */
type ActorCategory = (typeof actorCategories)[number]

const categories: { readonly [A in Actor]?: ActorCategory } = { tool_node: 'tool', reasoning: 'agent', human: 'human' }

/** The category of an actor; `system` where no other is declared. */
export function actorCategory(actor: Actor): ActorCategory {
  return categories[actor] ?? 'system'
}
