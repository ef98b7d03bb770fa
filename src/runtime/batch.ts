import { faults } from '../faults/catalogue.ts'
import { settled } from '../kernel/audit.ts'
import { type BatchMove, checkBatch } from '../kernel/coupling.ts'
import type { Machine, StateOf, TriggerOf } from '../kernel/machine.ts'
import { transition } from '../kernel/transition.ts'
import { whyRefused } from '../kernel/why-refused.ts'
import { machines } from '../machines/all.ts'
import { couplings } from '../machines/couplings.ts'
import type { SessionState } from '../observation/session-state.ts'
import type { Actor } from '../runes/actor.ts'
import { carriedMoves, carries } from '../runes/carried-moves.ts'
import type { Kind, Payload } from '../runes/kinds.ts'
import type { Concerns, Draft, Visibility } from '../runes/rune.ts'

type Any = (typeof machines)[number]
type Named<N extends Any['name']> = Extract<Any, { readonly name: N }>

const byName = Object.fromEntries(machines.map((machine) => [machine.name, machine])) as unknown as {
  readonly [N in Any['name']]: Named<N>
}

export interface Said<K extends Kind> {
  readonly actor: Actor
  readonly payload: Payload<K>
  readonly visibility?: Visibility
}

/**
 * The runes of one append, in the making. This is the one place that writes a
 * status: every move asks `transition()`, from the state the subject has in the
 * log or gets earlier in the same batch.
 */
export interface Batch {
  /** Brings a subject into being, with the rune that its machine declares for that. */
  open<K extends Kind>(machine: Any['name'], subject_id: string, kind: K, said: Said<K>, about?: Concerns): void
  /** Moves a subject. `kind` must be what the declaration says that this move writes. */
  move<N extends Any['name'], K extends Kind>(
    machine: N,
    subject_id: string,
    trigger: TriggerOf<Named<N>>,
    kind: K,
    said: Said<K>,
    about?: Concerns,
    guards?: Readonly<Record<string, boolean>>,
  ): StateOf<Named<N>>
  /** Records a fact that moves nothing. */
  say<K extends Kind>(kind: K, said: Said<K>, about?: Concerns): void
  /** What the batch says rests on where this subject is, although the batch does not move it: it must still be there. */
  restOn(subject_id: string): void
  /** The state a subject has after what is in the batch so far. */
  stateOf(subject_id: string): string | undefined
  readonly runes: readonly Draft[]
  /** Versions of the subjects that the batch moves or rests on, as they stand in the log. */
  readonly moved: ReadonlyMap<string, number>
  /** Checks that the moves form whole rows of the couplings. A batch that does not is a bug in the runtime. */
  check(): void
}

export function createBatch(state: SessionState, at: number): Batch {
  const runes: Draft[] = []
  const moves: BatchMove[] = []
  const moved = new Map<string, number>()
  const overlay = new Map<string, string>()

  const stateOf = (subject_id: string) => overlay.get(subject_id) ?? state.subjects.get(subject_id)?.state
  /** What belongs to a run is for the same eyes as the run, also what it asks a person and what that person answers. */
  const visibilityOf = ({ run_id = '' }: Concerns): Visibility => state.runs.get(run_id)?.visibility ?? 'public'
  const write = <D extends { readonly at: number }>(draft: D) => runes.push(draft as unknown as Draft)

  function restOn(subject_id: string) {
    if (!moved.has(subject_id)) moved.set(subject_id, state.subjects.get(subject_id)?.version ?? 0)
  }

  function enter(machine: Machine, subject_id: string, to: string, kind: string, about: Concerns) {
    restOn(subject_id)
    overlay.set(subject_id, settled(machine, to))
    if (!carries(kind)) return
    for (const carried of carriedMoves({ kind, ...about, session_id: state.session_id }, stateOf))
      overlay.set(carried.subject_id, carried.to)
  }

  return {
    runes,
    moved,
    stateOf,
    restOn,
    open(name, subject_id, kind, said, about = {}) {
      const machine: Machine = byName[name]
      const { actor, payload, visibility = visibilityOf(about) } = said
      const to = machine.initial
      write({
        ...about,
        at,
        actor,
        payload,
        visibility,
        kind,
        machine: name,
        subject_id,
        from: null,
        to,
        trigger: null,
      })
      moves.push({ machine: name, trigger: null, thread: threadOf(name, about) })
      enter(machine, subject_id, machine.initial, kind, about)
    },
    move(name, subject_id, trigger, kind, said, about = {}, guards) {
      const machine: Machine = byName[name]
      const from = stateOf(subject_id) ?? (machine.opens === null ? machine.initial : undefined)
      if (from === undefined) throw faults.not_found({ what: name, id: subject_id })
      const decision = transition(machine, from, trigger, guards)
      if (!decision.allowed)
        throw faults.transition_refused({
          machine: name,
          id: subject_id,
          ...decision,
          why: whyRefused(machine, from, trigger),
        })
      if (decision.edge.rune !== kind)
        throw new Error(`${name} ${from} on ${trigger} is recorded by ${decision.edge.rune}, not by ${kind}.`)
      const { to } = decision
      const { actor, payload, visibility = visibilityOf(about) } = said
      write({ ...about, at, actor, payload, visibility, kind, machine: name, subject_id, from, to, trigger })
      moves.push({ machine: name, trigger, thread: threadOf(name, about) })
      enter(machine, subject_id, to, kind, about)
      return to as never
    },
    say(kind, said, about = {}) {
      const { actor, payload, visibility = visibilityOf(about) } = said
      write({ ...about, at, actor, payload, visibility, kind })
    },
    check() {
      const problems = checkBatch(couplings, moves)
      if (problems.length > 0) throw new Error(`This batch is not a sequence of rows: ${problems.join('; ')}`)
    },
  }
}

/** Tools, contracts and interactions belong to their call; everything else is around the calls. */
function threadOf(machine: string, about: Concerns): string | undefined {
  return machine === 'tool' || machine === 'contract' || machine === 'interaction' ? about.call_id : undefined
}
