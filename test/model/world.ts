import type { StateOf } from '../../src/kernel/machine.ts'
import type { agentMachine } from '../../src/machines/agent.ts'
import type { ContractStatus } from '../../src/machines/contract.ts'
import type { InteractionState } from '../../src/machines/interaction.ts'
import type { RunStatus } from '../../src/machines/run.ts'
import type { SessionState } from '../../src/machines/session.ts'
import type { ToolState } from '../../src/machines/tool.ts'
import type { TurnState } from '../../src/machines/turn.ts'
import type { WaitingReason } from '../../src/runes/kinds.ts'

/**
 * The kinds of calls that the model makes. `pay` and `pay_again` are one and the
 * same irreversible action asked for twice; `form` is a step for a person.
 */
export const callKinds = ['read', 'pay', 'pay_again', 'pay_approved', 'form'] as const
export type CallKind = (typeof callKinds)[number]

export const workers = ['A', 'B'] as const
export type Worker = (typeof workers)[number]

/**
 * `holding` has the lease; `paused` has it and sleeps; `overtaken` sleeps on
 * while it was taken away; `stale` woke up after that; `dead` was killed, and
 * its lease runs until someone notices.
 */
export type WorkerState = 'free' | 'holding' | 'paused' | 'overtaken' | 'stale' | 'dead'

export interface Call {
  kind: CallKind
  tool: ToolState | null
  contract: ContractStatus | null
  reason: WaitingReason | null
  interaction: InteractionState | null
  answer: 'yes' | 'no' | 'leave' | null
  /** `due`: committed, about to be called. `done`, `broke`: the world answered, nothing recorded. `lost`: unknown. */
  effect: 'none' | 'due' | 'done' | 'broke' | 'lost'
  hands: Worker | null
  /** How often the world saw it begin. */
  began: number
}

export type AgentState = StateOf<typeof agentMachine>

export interface World {
  session: SessionState
  run: RunStatus
  turn: TurnState
  agent: AgentState
  request: 'cancel' | 'steer' | null
  A: WorkerState
  B: WorkerState
  calls: Call[]
  rounds: number
  faults: number
}

export interface Setting {
  readonly mode: 'interactive' | 'auto'
  readonly strict: boolean
  /** The calls of each round. */
  readonly calls: readonly CallKind[]
  /** How often the model may call them before it must finish. */
  readonly rounds: number
  /** How many kills and pauses are tried. */
  readonly faults: number
}

export const isIrreversible = (call: Call) => call.kind.startsWith('pay')

/** Two calls that are one action share a key. */
export const keyOf = (call: Call) => (call.kind === 'pay_again' ? 'pay' : call.kind)

export function newWorld({ rounds, faults }: Setting): World {
  return {
    session: 'active',
    run: 'queued',
    turn: 'idle',
    agent: 'idle',
    request: null,
    A: 'free',
    B: 'free',
    calls: [],
    rounds,
    faults,
  }
}

export function newCall(kind: CallKind): Call {
  return {
    kind,
    tool: null,
    contract: null,
    reason: null,
    interaction: null,
    answer: null,
    effect: 'none',
    hands: null,
    began: 0,
  }
}

export function copy(world: World): World {
  return { ...world, calls: world.calls.map((call) => ({ ...call })) }
}

/** Equal worlds have equal texts. Calls are a set, and the two workers are alike: both symmetries are folded away. */
export function textOf(world: World): string {
  const named = (a: Worker, b: Worker) =>
    [
      world.session,
      world.run,
      world.turn,
      world.agent,
      world.request,
      world[a],
      world[b],
      world.rounds,
      world.faults,
      world.calls
        .map((c) => {
          const hands = c.hands === null ? '-' : c.hands === a ? '1' : '2'
          return `${c.kind}/${c.tool}/${c.contract}/${c.reason}/${c.interaction}/${c.answer}/${c.effect}/${hands}/${c.began}`
        })
        .sort()
        .join(','),
    ].join(' ')
  return [named('A', 'B'), named('B', 'A')].sort()[0] ?? ''
}
