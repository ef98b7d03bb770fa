import {
  type FactsOf,
  type Finding,
  isTerminal,
  type Machine,
  predicatesOf,
  type TriggerOf,
} from '../kernel/machine.ts'
import { restingState } from '../kernel/transition.ts'
import { machineNamed, type machines } from '../machines/all.ts'
import { contractMachine } from '../machines/contract.ts'
import { taskMachine } from '../machines/task.ts'
import {
  type Concerns,
  carriedEdges,
  concernNames,
  type Draft,
  type Rune,
  type StoredRecord,
  toRune,
} from '../runes/rune.ts'
import { foldSession, newSessionState } from './fold-session.ts'
import type { SessionState } from './session-state.ts'

type Any = (typeof machines)[number]

/** The machine of a name. */
export type Named<N extends Any['name']> = Extract<Any, { readonly name: N }>

/** What the record says when a move is decided. */
interface Situation {
  readonly state: SessionState
  readonly stateOf: (subject_id: string) => string | undefined
  readonly runes: readonly Draft[]
  readonly id: string
  readonly about: Concerns
  readonly payload: unknown
  readonly at: number
}

const runOf = ({ state, about }: Situation) => state.runs.get(about.run_id ?? '')
const questionOf = ({ state, id }: Situation) => state.interactions.get(id)

function callsOf({ state, id }: Situation) {
  return (state.turns.get(id)?.call_ids ?? []).flatMap((call_id) => state.calls.get(call_id) ?? [])
}

/** The facts that the record has, by machine and trigger. Callers give the others, which lie outside it. */
const derived = {
  turn: {
    start_turn: (now: Situation) => ({
      is_first: runOf(now)?.has_begun === false,
      is_steered: (now.payload as { input: unknown }).input !== null,
      messages: now.state.agents.get(now.about.agent_id ?? '')?.dialogue.messages.length ?? 0,
    }),
    response_done: (now: Situation) => ({
      open_calls:
        callsOf(now).filter(({ execution_id }) => isOpen(now, execution_id)).length +
        now.runes.filter(({ kind, turn_id }) => kind === 'contract.opened' && turn_id === now.id).length,
    }),
    tools_finished: (now: Situation) => ({
      // A reading is short, and a name may be long.
      ended_by:
        callsOf(now)
          .find((call) => call.ends_turn && now.stateOf(call.execution_id ?? '') === 'completed')
          ?.name.slice(0, 100) ?? null,
    }),
    tool_crash: (now: Situation) => ({ retryable: (now.payload as { retryable: boolean }).retryable }),
  },
  run: {
    'turn.started': (now: Situation) => ({ session: now.stateOf(now.state.session_id) ?? 'unknown' }),
    'turn.needs_input': (now: Situation) => ({ mode: runOf(now)?.mode ?? 'unknown' }),
    'interaction.auto_decide.timeout': (now: Situation) => ({ strict: runOf(now)?.strict === true }),
    'restart.preserve_waiting': (now: Situation) => ({
      open_questions: [...now.state.interactions.values()].filter(
        ({ run_id, state }) => run_id === now.id && state === 'open',
      ).length,
      has_turn: now.state.turns.has(runOf(now)?.turn_id ?? ''),
    }),
  },
  interaction: {
    expire: (now: Situation) => ({
      is_due: (questionOf(now)?.opened.deadline ?? Number.POSITIVE_INFINITY) <= now.at,
      is_settlement: isSettlement(now),
      strict: runOf(now)?.strict === true,
    }),
    withdraw: (now: Situation) => ({ is_unknown: isSettlement(now) && isOpen(now, now.about.execution_id) }),
  },
  goal: {
    task_completed: (now: Situation) => ({
      open_tasks: [...(now.state.goals.get(now.about.goal_id ?? '')?.tasks ?? [])].filter(
        ({ planned }) => !isTerminal(taskMachine, now.stateOf(planned.task_id)),
      ).length,
    }),
  },
}

function isSettlement(now: Situation): boolean {
  return questionOf(now)?.opened.interaction_kind === 'settlement'
}

function isOpen({ stateOf }: Situation, execution_id: string | null | undefined): boolean {
  const contract = stateOf(execution_id ?? '')
  return contract !== undefined && !isTerminal(contractMachine, contract)
}

type Derived = typeof derived
type Known<N, T> = N extends keyof Derived
  ? T extends keyof Derived[N]
    ? Derived[N][T] extends (now: Situation) => infer F
      ? keyof F
      : never
    : never
  : never

type Remaining<N extends Any['name'], T> = Omit<FactsOf<Named<N>, T>, Known<N, T>>

/** The facts that a caller adds for a trigger, because the record does not have them. */
export type GivenFacts<N extends Any['name'], T extends TriggerOf<Named<N>>> = [FactsOf<Named<N>, T>] extends [never]
  ? []
  : [keyof Remaining<N, T>] extends [never]
    ? []
    : [facts: Remaining<N, T>]

const table: { readonly [machine: string]: { readonly [trigger: string]: (now: Situation) => object } } = derived

/** The facts of the record for the guards of a trigger; empty where it has none. */
export function recordedFacts(machine: string, trigger: string, now: Situation): object {
  return table[machine]?.[trigger]?.(now) ?? {}
}

/** Header fields that name what a rune is about. `agent_id` is left out: one agent may take part in everything. */
const subjectNames = ['subject_id', ...concernNames.filter((name) => name !== 'agent_id')] as const

/**
 * Reads the guards of a session again, each over the record before its move, and says what differs. It takes the
 * records in order. A guard that reads a fact outside the record, such as the config of a process, is left out.
 */
export function readGuardsAgain(session_id: string): (record: StoredRecord) => string | undefined {
  const state = newSessionState(session_id)
  /** Ids in erased records. Guards may have read the erased content, so guards about the same ids are left out. */
  const erased = new Set<string>()

  function problemOf(rune: Rune): string | undefined {
    const { guards = [], machine, subject_id = '', trigger, to = '' } = rune
    const declared: Machine | undefined = machineNamed(machine ?? '')
    if (guards.length === 0 || declared === undefined) return undefined
    const now = { state, runes: [], about: rune, payload: rune.payload, at: rune.at }
    const before = (id: string) => state.subjects.get(id)?.state
    // A rune carries other subjects along once its own subject is where it goes.
    const after = (id: string) => (id === subject_id ? restingState(declared, to) : before(id))
    const found = new Map([
      ...readAgain(declared, trigger ?? '', { ...now, id: subject_id, stateOf: before }),
      ...carriedEdges(rune, after).flatMap(({ machine, subject_id: id, edge: { on } }) => [
        ...readAgain(machineNamed(machine) as Machine, on, { ...now, id, stateOf: after }),
      ]),
    ])
    // The sentence of a guard may change with a version; whether it holds may not.
    const wrong = guards.find(({ guard }) => found.get(guard)?.holds === false)
    return (
      wrong &&
      `its guard ${wrong.guard} did not hold: it read "${wrong.because}", and the record says "${found.get(wrong.guard)?.because}"`
    )
  }

  return (record) => {
    try {
      const rune = toRune(record, '')
      const ids = subjectNames.flatMap((name) => rune[name] ?? [])
      if (rune.redacted) for (const id of ids) erased.add(id)
      const problem = ids.some((id) => erased.has(id)) ? undefined : problemOf(rune)
      foldSession(state, rune)
      return problem
    } catch {
      return 'its payload has another shape than its kind.'
    }
  }
}

const outsideOfRecord = {
  get(facts: object, name: string) {
    if (!(name in facts)) throw new Error(`${name} is no fact of the record`)
    return Reflect.get(facts, name)
  },
}

/** What the guards of a trigger find, where the facts of the record are all that they read. */
function readAgain(machine: Machine, on: string, now: Situation): [string, Finding][] {
  const facts = new Proxy(recordedFacts(machine.name, on, now), outsideOfRecord)
  const guards = machine.transitions.flatMap((edge) => (edge.on === on ? (edge.when ?? []) : []))
  return guards.flatMap((guard): [string, Finding][] => {
    try {
      const found = predicatesOf(machine)?.[guard]?.(facts)
      return found === undefined ? [] : [[guard, found]]
    } catch {
      return []
    }
  })
}
