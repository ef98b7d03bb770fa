import { type FactsOf, isTerminal, type TriggerOf } from '../kernel/machine.ts'
import type { machines } from '../machines/all.ts'
import { contractMachine } from '../machines/contract.ts'
import { coordinationFacts } from '../machines/coordination.ts'
import { taskMachine } from '../machines/task.ts'
import type { Payload } from '../runes/kinds.ts'
import type { Concerns, Draft } from '../runes/rune.ts'
import type { SessionState } from './session-state.ts'
import { unsettledCalls } from './unsettled.ts'

type Any = (typeof machines)[number]

/** The machine of a name. */
export type Named<N extends Any['name']> = Extract<Any, { readonly name: N }>

/** The record when a move is decided. */
export interface Situation {
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
const goalOf = ({ state, about }: Situation) => state.goals.get(about.goal_id ?? '')
const taskIn = (now: Situation) => goalOf(now)?.tasks.findLast(({ planned }) => planned.task_id === now.id)
const tape = ({ payload }: Situation) => coordinationFacts((payload as Payload<'coordination.moved'>).guards)

/** The number of tasks that a review adds. In its append this is a rune of the batch; later the folded goal has it. */
function tasksAdded(now: Situation): number {
  const added = now.runes.findLast(({ kind, goal_id }) => kind === 'plan.updated' && goal_id === now.about.goal_id)
  const { task_ids } = Object(Object(added?.payload).changes) as { readonly task_ids?: readonly string[] }
  return task_ids?.length ?? goalOf(now)?.added ?? 0
}

function callsOf({ state, id }: Situation) {
  return (state.turns.get(id)?.call_ids ?? []).flatMap((call_id) => state.calls.get(call_id) ?? [])
}

/** The facts of the record, by machine and trigger. Callers give the others, which are outside it. */
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
      open_tasks: (goalOf(now)?.tasks ?? []).filter(
        ({ planned }) => !isTerminal(taskMachine, now.stateOf(planned.task_id)),
      ).length,
    }),
    plan_rejected: (now: Situation) => {
      const answered = now.state.interactions.get(goalOf(now)?.plan?.interaction_id ?? '')?.answered
      return { decision: String(Object(answered?.reply).decision) }
    },
    critique_found_issues: (now: Situation) => ({ retries: tasksAdded(now) }),
  },
  task: {
    // The wait of a task follows from the schedule of its goal, which the record does not have.
    assign: (now: Situation) => {
      const { decided } = taskIn(now)?.condition ?? {}
      const condition = decided === undefined ? 'none' : decided?.holds == null ? 'undecided' : 'fails'
      return { condition: decided?.holds === true ? 'holds' : condition } as const
    },
    fail: (now: Situation) => ({
      unknown: (taskIn(now)?.run_ids ?? []).reduce((sum, run_id) => sum + unsettledCalls(now.state, run_id), 0),
    }),
  },
  // biome-ignore format: every guarded trigger of a plan reads its tape
  coordination: {
    validation_passed: tape, context_ready: tape, rules_adjudicated: tape, uncertainties_policy_allows: tape,
    no_questions_needed: tape, questions_emitted: tape, answers_received: tape, answer_conflicts: tape,
    graph_complete: tape, review_pack_ready: tape, all_outputs_frozen: tape,
  },
} satisfies { readonly [N in Any['name']]?: Derivation<N> }

/** Names and types are those that the predicates of the machine read. */
type Derivation<N extends Any['name']> = {
  readonly [T in TriggerOf<Named<N>>]?: (now: Situation) => Partial<FactsOf<Named<N>, T>>
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
