import { faults } from '../faults/catalogue.ts'
import { type BatchMove, checkBatch } from '../kernel/coupling.ts'
import type { EdgeOn, Machine, Reading, StateOf, TriggerOf } from '../kernel/machine.ts'
import { type Decision, refusalOf, restingState, transition } from '../kernel/transition.ts'
import { type MachineName, machineOf } from '../machines/all.ts'
import { couplings } from '../machines/couplings.ts'
import { type GivenFacts, type Named, recordedFacts } from '../observation/guard-facts.ts'
import type { CallView, InteractionView, RunView, SessionState } from '../observation/session-state.ts'
import type { Kind, Payload } from '../runes/kinds.ts'
import type { Actor, Concerns, Draft, RecordedMove, Visibility } from '../runes/rune.ts'
import { type Carrier, carriedEdges, carriedMoves, carries, threadOf } from '../runes/rune.ts'

/** One subject of a machine, and the ids that each of its runes carries. */
export interface Subject<N extends MachineName = MachineName> {
  readonly machine: N
  readonly id: string
  readonly about: Concerns
}

/** The ids of a run; a view of it fits. */
export type RunIds = Pick<RunView, 'run_id' | 'agent_id'>

/** The ids that every rune of a run carries. */
export const aboutRun = ({ run_id, agent_id }: RunIds): Concerns => ({ run_id, agent_id })

/** The ids that every rune of a call carries. */
export function aboutCall({ run_id, agent_id, turn_id, call_id, execution_id }: CallView): Concerns {
  return { run_id, agent_id, turn_id, call_id, ...(execution_id === null ? {} : { execution_id }) }
}

/** The contract of a call. A refused duplicate has none, and nothing asks for it. */
export function executionOf({ call_id, execution_id }: CallView): string {
  if (execution_id === null) throw new Error(`${call_id} has no contract.`)
  return execution_id
}

/** The subject of a question: its call, or the plan or goal that asks. */
function aboutQuestion(question: InteractionView, call: CallView | undefined): Concerns {
  const { run_id, coordination_id, goal_id, task_id } = question
  if (call !== undefined) return aboutCall(call)
  return {
    ...(run_id === null ? {} : { run_id }),
    ...(coordination_id === null ? {} : { coordination_id }),
    ...(goal_id === null ? {} : { goal_id }),
    ...(task_id === null ? {} : { task_id }),
  }
}

/** Makes the subject of each machine from its ids. */
export const subject = {
  session: (id: string): Subject<'session'> => ({ machine: 'session', id, about: {} }),
  agent: (id: string): Subject<'agent'> => ({ machine: 'agent', id, about: { agent_id: id } }),
  run: (run: RunIds): Subject<'run'> => ({ machine: 'run', id: run.run_id, about: aboutRun(run) }),
  turn: (run: RunIds, id: string): Subject<'turn'> => ({
    machine: 'turn',
    id,
    about: { ...aboutRun(run), turn_id: id },
  }),
  tool: (call: CallView): Subject<'tool'> => ({ machine: 'tool', id: call.call_id, about: aboutCall(call) }),
  contract: (call: CallView): Subject<'contract'> => ({
    machine: 'contract',
    id: executionOf(call),
    about: aboutCall(call),
  }),
  /** A question that is recorded now, about the given subject. */
  newQuestion: (id: string, about: Concerns): Subject<'interaction'> => ({
    machine: 'interaction',
    id,
    about: { ...about, interaction_id: id },
  }),
  question: (question: InteractionView, call?: CallView): Subject<'interaction'> =>
    subject.newQuestion(question.interaction_id, aboutQuestion(question, call)),
  goal: (goal_id: string): Subject<'goal'> => ({ machine: 'goal', id: goal_id, about: { goal_id } }),
  task: (goal_id: string, id: string): Subject<'task'> => ({
    machine: 'task',
    id,
    about: { goal_id, task_id: id },
  }),
}

type OpeningKind<N extends MachineName> = Extract<Named<N>['opens'], Kind>

type KindOn<N extends MachineName, T> = Extract<Exclude<EdgeOn<Named<N>, T>, { readonly carried: true }>['rune'], Kind>

type Entry<K extends Kind> = { readonly actor: Actor; readonly payload: Payload<K>; readonly visibility?: Visibility }

interface Handle<N extends MachineName> {
  open(payload: Payload<OpeningKind<N>>, visibility?: Visibility): void
  /**
   * Moves the subject. Kind and payload follow from machine and trigger. The guards of the edge are evaluated over the
   * record and the given facts; the rune has their readings. Throws `transition_refused`.
   */
  move<const T extends TriggerOf<Named<N>>>(
    trigger: T,
    payload: Payload<KindOn<N, T>>,
    ...facts: GivenFacts<N, T>
  ): StateOf<Named<N>>
  /** The decision of `move`, without a rune: whether the trigger is legal here, and the reading of each guard. */
  decide<const T extends TriggerOf<Named<N>>>(trigger: T, payload: unknown, ...facts: GivenFacts<N, T>): Decision
}

/** The runes of one append, while they are decided. Only this writes a status: every move calls `transition()`. */
export interface Batch {
  on<N extends MachineName>(subject: Subject<N>, actor: Actor): Handle<N>
  record<K extends Kind>(kind: K, entry: Entry<K>, about?: Concerns): void
  /** The batch depends on the state of this subject without moving it: the subject must not have moved at the commit. */
  restOn(subject_id: string): void
  stateOf(subject_id: string): string | undefined
  readonly state: SessionState
  /** The time that all runes of the batch get. */
  readonly at: number
  readonly runes: readonly Draft[]
  /** Versions of the subjects that the batch moves or rests on, as they are in the log. */
  readonly moved: ReadonlyMap<string, number>
  /** Checks that the moves form whole rows of the couplings. A batch that does not is a bug in the runtime. */
  check(): void
}

/** Begins a batch on a folded session, at the time that all its runes get. */
export function createBatch(state: SessionState, at: number): Batch {
  const runes: Draft[] = []
  const moves: BatchMove[] = []
  const moved = new Map<string, number>()
  const overlay = new Map<string, string>()

  const stateOf = (subject_id: string) => overlay.get(subject_id) ?? state.subjects.get(subject_id)?.state
  /** Runes of a run have its visibility, also its questions and the answers to them. */
  const visibilityOf = ({ run_id = '' }: Concerns): Visibility => state.runs.get(run_id)?.visibility ?? 'public'

  function record(kind: Kind, entry: Entry<Kind>, about: Concerns = {}, move: Partial<RecordedMove> = {}) {
    const { actor, payload, visibility = visibilityOf(about) } = entry
    runes.push({ ...about, at, actor, payload, visibility, kind, ...move } as Draft)
  }

  function restOn(subject_id: string) {
    if (!moved.has(subject_id)) moved.set(subject_id, state.subjects.get(subject_id)?.version ?? 0)
  }

  /** The subject is in its new state before the guards of its carried moves are read. */
  function enter({ machine: name, id, about }: Subject, trigger: string | null, to: string) {
    moves.push({ machine: name, trigger, thread: threadOf(name, about) })
    restOn(id)
    overlay.set(id, restingState(machineOf(name), to))
  }

  /** The readings of the edges on which a rune carries other subjects. An edge that its guards refuse is not taken. */
  function carriedReadings(rune: Carrier, payload: unknown): readonly Reading[] {
    return carriedEdges(rune, stateOf).flatMap(({ machine, subject_id: id, edge }) => {
      const now = { state, stateOf, runes, id, about: rune, payload, at }
      const decision = transition(machineOf(machine), edge.from, edge.on, recordedFacts(machine, edge.on, now))
      return decision.allowed ? decision.readings : []
    })
  }

  function carry(rune: Carrier) {
    for (const { subject_id, to } of carriedMoves(rune, stateOf)) overlay.set(subject_id, to)
  }

  function on<N extends MachineName>(subject: Subject<N>, actor: Actor): Handle<N> {
    const { machine: name, id, about } = subject
    const machine: Machine = machineOf(name)
    const decide = (trigger: string, payload: unknown, ...[given]: readonly object[]) => {
      const from = stateOf(id) ?? (machine.opens === null ? machine.initial : undefined)
      if (from === undefined) throw faults.not_found({ what: name, id })
      const now = { state, stateOf, runes, id, about, payload, at }
      // Facts of the record win over given facts.
      return transition(machine, from, trigger, { ...given, ...recordedFacts(name, trigger, now) })
    }
    return {
      open(payload, visibility) {
        const { initial, opens } = machine
        const entry = { actor, payload, ...(visibility === undefined ? {} : { visibility }) } as Entry<Kind>
        const move = { machine: name, subject_id: id, from: null, to: initial, trigger: null }
        record(opens as Kind, entry, about, move)
        enter(subject, null, initial)
      },
      decide,
      move(trigger, payload, ...given) {
        const decision = decide(trigger, payload, ...given)
        if (!decision.allowed) throw faults.transition_refused(refusalOf(machine, id, decision))
        const { from, to, edge, readings } = decision
        const kind = edge.rune as Kind
        enter(subject, trigger, to)
        const carrier = { ...about, kind, session_id: state.session_id }
        const guards = carries(kind) ? [...readings, ...carriedReadings(carrier, payload)] : readings
        const move = { machine: name, subject_id: id, from, to, trigger, ...(guards.length > 0 && { guards }) }
        record(kind, { actor, payload } as Entry<Kind>, about, move)
        if (carries(kind)) carry({ ...carrier, guards })
        return to as StateOf<Named<N>>
      },
    }
  }

  return {
    state,
    at,
    runes,
    moved,
    stateOf,
    restOn,
    on,
    record: (kind, entry, about) => record(kind, entry, about),
    check() {
      const problems = checkBatch(couplings, moves)
      if (problems.length > 0) throw new Error(`This batch is not a sequence of rows: ${problems.join('; ')}`)
    },
  }
}
