import type { Json } from '../kernel/json.ts'
import type { Reading, Transition } from '../kernel/machine.ts'
import { type MachineName, machines } from '../machines/all.ts'
import type { Kind, Payload } from './kinds.ts'

/** The readers of a rune. */
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
 * The subjects that a rune concerns. Ids carry their kind (`exe_…`). `request_id` is the request with an idempotency
 * key that caused it; only the first rune of an append has it.
 */
export type Concerns = { readonly [K in (typeof concernNames)[number]]?: string }

/** The move a rune records. An opening has no `from` and no `trigger`. */
export interface RecordedMove {
  readonly machine: string
  readonly subject_id: string
  readonly from: string | null
  readonly to: string
  readonly trigger: string | null
  /** The readings of the guards on the edges that the rune takes, if these have guards. All of them hold. */
  readonly guards?: readonly Reading[]
}

/** A rune as its writer gives it. The store adds its place in the log and its hashes. */
export type Draft<K extends Kind = Kind> = {
  [J in K]: Concerns &
    Partial<RecordedMove> & {
      /** The kind of rune, which decides the type of its payload. */
      readonly kind: J
      /** Its readers. Default: `public`. */
      readonly visibility?: Visibility
      /** When it happened, in milliseconds since 1970, UTC. */
      readonly at: number
      /** Its cause. */
      readonly actor: Actor
      /** The content. */
      readonly payload: Payload<J>
    }
}[K]

/** One immutable record of one session. */
export type Rune<K extends Kind = Kind> = {
  [J in K]: Header &
    Concerns &
    Partial<RecordedMove> & {
      /** Its kind, which decides the type of the payload. */
      readonly kind: J
      /** The content. */
      readonly payload: Payload<J>
    }
}[K]

/** Everything in a rune except its payload. */
export interface Header {
  /** Per session, from 1, without gaps; the cursor of every reader. */
  readonly event_id: number
  /** Follows from the session and the event id. */
  readonly rune_id: string
  readonly session_id: string
  readonly visibility: Visibility
  /** Milliseconds since 1970, UTC. */
  readonly at: number
  readonly actor: Actor
  readonly actor_category: ActorCategory
  /** Of the payload with its salt. Null: the payload is empty. */
  readonly payload_sha256: string | null
  /** The hash of the commit before, and of the commit that the rune is in. */
  readonly prev_hash: string
  readonly hash: string
  readonly schema_version: number
  /** The content of the payload was erased; the least that its schema allows remains. The chain still verifies. */
  readonly redacted?: true
}

/** The actors that may fire a trigger. Names that a specification has are the specification's. */
// biome-ignore format: one line for what belongs together
export const actors = [
  'tool_node', 'ecs_node', 'graph_runner', 'reasoning', 'human',
  'policy', 'recovery', 'timer', 'coordinator', 'scheduler',
] as const

/** The cause of a rune. */
export type Actor = (typeof actors)[number]

/** The four kinds of actor that readers see. */
export const actorCategories = ['tool', 'agent', 'human', 'system'] as const

/** A kind of actor. */
export type ActorCategory = (typeof actorCategories)[number]

const categories: { readonly [A in Actor]?: ActorCategory } = { tool_node: 'tool', reasoning: 'agent', human: 'human' }

/** The category of an actor; `system` where no other is declared. */
export function actorCategory(actor: Actor): ActorCategory {
  return categories[actor] ?? 'system'
}

/** Version 1 of a task had no condition that was evaluated. */
function withoutCondition(task: Json): Json {
  const { depends_on = [] } = task as { readonly depends_on?: Json }
  return { needs: depends_on, condition: null, ...(task as object) }
}

/**
 * Converts a payload of an old version to the next. The stored bytes stay as they are, since their hash is in the
 * chain; only the reader sees the new shape. A kind without an entry has always had one shape.
 */
const steps: { readonly [K in Kind]?: readonly ((payload: Json) => Json)[] } = {
  'rune.redacted': [
    (payload) => ({ ...(payload as object), blobs: [], redacted_by: null, public_key: null, signature: null }),
  ],
  'plan.created': [
    (payload) => {
      const { tasks, ...rest } = payload as { readonly tasks: readonly Json[] }
      return { ...rest, tasks: tasks.map(withoutCondition) }
    },
  ],
  'task.opened': [
    (payload) => {
      const { task, ...rest } = payload as { readonly task: Json }
      return { ...rest, task: withoutCondition(task) }
    },
  ],
  'plan.stopped': [(payload) => ({ ...(payload as object), cause: null })],
}

/** A stored kind may be any text, such as `constructor`. */
const stepsOf = (kind: Kind) => (Object.hasOwn(steps, kind) ? steps[kind] : undefined)

/** The version that is written today: one more than there are steps. */
export function schemaVersion(kind: Kind): number {
  return (stepsOf(kind)?.length ?? 0) + 1
}

/** Brings a payload from the version it was written in to the current one. */
export function upcast(kind: Kind, version: number, payload: Json): Json {
  const remaining = stepsOf(kind)?.slice(version - 1)
  if (remaining === undefined || remaining.length === 0) return payload
  return remaining.reduce((value, step) => step(value), payload)
}

/** The call that a move belongs to: tools, contracts and interactions have one, everything else is around the calls. */
export function threadOf(machine: string, about: Concerns): string | undefined {
  return machine === 'tool' || machine === 'contract' || machine === 'interaction' ? about.call_id : undefined
}

/** The ids of a rune, enough to find the subjects that it carries along. */
export interface Carrier extends Concerns {
  readonly kind: string
  readonly session_id: string
  readonly guards?: readonly Reading[]
}

type CarriedMove = RecordedMove & { readonly from: string; readonly trigger: string }

/** The subject that a rune of another machine moves, by machine. */
const subjectOf: Readonly<Record<string, (rune: Carrier) => string | undefined>> = {
  agent: (rune) => rune.agent_id,
  session: (rune) => rune.session_id,
  goal: (rune) => rune.goal_id,
}

type CarriedEdge = { readonly machine: MachineName; readonly subject_id: string; readonly edge: Transition }

const edges = Map.groupBy(
  machines.flatMap(({ name: machine, transitions }) =>
    (transitions as readonly Transition[]).flatMap((edge) => (edge.carried ? [{ machine, edge }] : [])),
  ),
  ({ edge }) => edge.rune,
)

/** Whether runes of this kind carry moves of other subjects. */
export function carries(kind: string): boolean {
  return edges.has(kind)
}

/** The subjects that a rune may carry along to another state. */
export function carriedSubjects(rune: Carrier): readonly string[] {
  const moving = (edges.get(rune.kind) ?? []).filter(({ edge: { from, to } }) => from !== to)
  return moving.flatMap(({ machine }) => subjectOf[machine]?.(rune) ?? [])
}

/** The edges on which a rune carries subjects, from their states. */
export function carriedEdges(
  rune: Carrier,
  stateOf: (subject_id: string, machine: string) => string | undefined,
): readonly CarriedEdge[] {
  const declared = edges.get(rune.kind)
  if (declared === undefined) return []
  return declared.flatMap(({ machine, edge }) => {
    const subject_id = subjectOf[machine]?.(rune)
    return subject_id === undefined || stateOf(subject_id, machine) !== edge.from ? [] : [{ machine, subject_id, edge }]
  })
}

/**
 * The moves of a rune in machines other than its own. A subject that is not at the start of the declared edge does not
 * move: a turn may end while its session is paused. Nor does one if the rune lacks the readings of the edge's guards.
 */
export function carriedMoves(
  rune: Carrier,
  stateOf: (subject_id: string, machine: string) => string | undefined,
): readonly CarriedMove[] {
  if (!edges.has(rune.kind)) return []
  return carriedEdges(rune, stateOf).flatMap(({ machine, subject_id, edge: { from, to, on, when } }) => {
    const move = { machine, subject_id, from, to, trigger: on }
    if (when === undefined) return [move]
    const guards = (rune.guards ?? []).filter(({ guard }) => when.includes(guard))
    return guards.length < when.length ? [] : [{ ...move, guards }]
  })
}

/** A question raises the version of its contract: an append that ends the contract must have seen the question. */
export const askedAbout = ({ kind, execution_id }: Pick<Rune, 'kind' | 'execution_id'>) =>
  kind === 'interaction.opened' ? execution_id : undefined
