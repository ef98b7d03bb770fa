import { type BatchMove, checkBatch } from '../../src/kernel/coupling.ts'
import type { Json } from '../../src/kernel/json.ts'
import type { Machine } from '../../src/kernel/machine.ts'
import { suppose } from '../../src/kernel/transition.ts'
import { type MachineName, machines } from '../../src/machines/all.ts'
import { couplings, type MoveName } from '../../src/machines/couplings.ts'
import type { Kind } from '../../src/runes/kinds.ts'
import { type Actor, actorCategory, type Concerns, type Rune } from '../../src/runes/rune.ts'
import { payloads } from './drafts.ts'
import { frozen } from './frozen.ts'

/** The name of a frame. */
export type FrameName = keyof (typeof couplings)['frames']
/** The name of a thread. */
export type ThreadName = keyof (typeof couplings)['threads']

/** A call that the model makes in a story. */
export interface Call {
  readonly call_id: string
  readonly execution_id: string
  readonly name: string
  readonly arguments: Json
  readonly kind: 'tool' | 'step' | 'duplicate'
  readonly irreversible: boolean
  readonly turn_id: string
  interaction_id: string | null
}

export type CallSpec = Partial<Pick<Call, 'name' | 'arguments' | 'kind' | 'irreversible'>>

/** One row of the couplings, and what its moves say beyond the least. */
export interface Row {
  readonly row: FrameName | ThreadName
  readonly call?: Call
  readonly says?: { readonly [M in MoveName]?: object }
}

const byName = new Map<string, Machine>(machines.map((machine) => [machine.name, machine]))

// biome-ignore format: tables are audited by eye, so their columns line up
const actors: { readonly [M in MoveName]?: Actor } = {
  'tool.denied': 'human', 'interaction.answer': 'human', 'interaction.expire': 'timer', 'contract.timeout': 'timer',
  'contract.resume': 'graph_runner', '+contract': 'reasoning', '+tool': 'reasoning', '+interaction': 'graph_runner',
}

const actorOf: { readonly [M in MachineName]?: Actor } = {
  tool: 'tool_node',
  contract: 'tool_node',
  turn: 'reasoning',
}

/**
 * Runes of one session as the runtime would write them, for tests that need a
 * log and no store. An append is a list of rows of the couplings: every move
 * asks `transition()`, and the batch must be a sequence of whole rows, so that
 * a story cannot be told that could not happen. Its runes are frozen: a view
 * that changes what it looks at fails its test.
 */
export function createStory(session_id = 'ses_1') {
  const runes: Rune[] = []
  const states = new Map<string, string>()
  const ids = { run: 0, turn: 0, call: 0, interaction: 0 }
  const current = { run_id: '', agent_id: 'agt_1', turn_id: '' }
  let at = 1_700_000_000_000
  let attempt = 0

  const stateOf = (subject_id: string) => states.get(subject_id)

  function write(kind: string, actor: Actor, payload: object, concerns: Concerns, move: object = {}) {
    const event_id = runes.length + 1
    const rune = {
      event_id,
      rune_id: `rne_${event_id}`,
      session_id,
      kind,
      visibility: 'public',
      at,
      actor,
      actor_category: actorCategory(actor),
      payload: { ...payloads[kind as Kind], ...payload },
      payload_sha256: '',
      prev_hash: '',
      hash: '',
      schema_version: 1,
      ...concerns,
      ...move,
    }
    runes.push(frozen(rune) as unknown as Rune)
  }

  function subjectOf(machine: string, call: Call | undefined): string {
    if (machine === 'session') return session_id
    if (machine === 'run') return current.run_id
    if (machine === 'agent') return current.agent_id
    if (machine === 'turn') return current.turn_id
    if (machine === 'tool') return call?.call_id ?? ''
    return (machine === 'contract' ? call?.execution_id : call?.interaction_id) ?? ''
  }

  /** Fresh names are given where a subject appears. */
  function name(move: string, call: Call | undefined) {
    if (move === '+run') {
      current.run_id = `run_${++ids.run}`
      attempt = 0
    }
    if (move === 'turn.start_turn') current.turn_id = `trn_${++ids.turn}`
    if (move === '+interaction' && call !== undefined) call.interaction_id = `int_${++ids.interaction}`
  }

  function concerning(machine: string, call: Call | undefined): Concerns {
    if (machine === 'session') return {}
    if (machine === 'agent') return { agent_id: current.agent_id }
    if (machine === 'run') return { run_id: current.run_id, agent_id: current.agent_id }
    if (call === undefined) return { ...current }
    const { call_id, execution_id, kind, turn_id } = call
    const interaction = machine === 'interaction' && call.interaction_id !== null
    return {
      ...current,
      turn_id,
      call_id,
      ...(kind !== 'duplicate' && { execution_id }),
      ...(interaction && { interaction_id: call.interaction_id as string }),
    }
  }

  function play({ row, call, says = {} }: Row, move: MoveName): BatchMove {
    name(move, call)
    const [machineName = '', trigger] = move.startsWith('+') ? [move.slice(1), null] : cut(move)
    const machine = byName.get(machineName) as Machine
    const subject_id = subjectOf(machineName, call)
    const from = trigger === null ? null : (stateOf(subject_id) ?? machine.initial)
    const decision =
      from === null || trigger === null
        ? null
        : suppose(machine, from, trigger, (guard) => guard !== 'continue' || row === 'continued')
    if (decision !== null && !decision.allowed)
      throw new Error(`${subject_id} is ${from} and refuses ${move} (${row}).`)

    const to = decision === null ? machine.initial : decision.to
    const kind = (decision === null ? machine.opens : decision.edge.rune) as string
    const ecs = call?.kind === 'step' && machineName === 'contract' ? 'ecs_node' : undefined
    const actor = actors[move] ?? ecs ?? actorOf[machine.name as MachineName] ?? 'graph_runner'
    const payload = { ...standard(row, move, call), ...says[move] }
    const { readings = [] } = decision ?? {}
    const guards = readings.length === 0 ? {} : { guards: readings }
    const recorded = { machine: machineName, subject_id, from, to, trigger, ...guards }
    write(kind, actor, payload, concerning(machineName, call), recorded)
    states.set(subject_id, rest(machine, to))
    carry(kind)
    if (move === 'tool.denied')
      write('tool.result', actor, { call_id: call?.call_id, status: 'denied' }, concerning('tool', call))
    if (machineName === 'contract' && machine.states[to]?.terminal)
      write(
        'memory.committed',
        'graph_runner',
        { execution_id: subject_id, final_status: to },
        concerning('contract', call),
      )
    return { machine: machineName, trigger, thread: call?.call_id }
  }

  function carry(kind: string) {
    const { transitions } = byName.get('agent') as Machine
    const edge = transitions.find((t) => t.carried && t.rune === kind && t.from === stateOf(current.agent_id))
    if (edge !== undefined) states.set(current.agent_id, edge.to)
  }

  function standard(row: string, move: MoveName, call: Call | undefined): object {
    const { run_id, agent_id, turn_id } = current
    const asked = { call_id: call?.call_id }
    switch (move) {
      case '+agent':
        return { agent_id, parent_id: null }
      case 'run.turn.started':
        attempt += 1
        return { epoch: attempt, worker: 'w', attempt }
      case 'turn.start_turn':
        return { turn_id, agent_id, input: run_id }
      case '+tool':
        return { ...asked, tool_name: call?.name, arguments: call?.arguments }
      case '+contract': {
        const ecs = call?.kind === 'step'
        const [service, method] = [call?.name.split('.')[0], call?.name.split('.')[1]]
        const detail = ecs ? { type: 'form', name: call.name, arguments: call.arguments } : { service, method }
        return {
          action_type: ecs ? 'ecs_request' : 'tool_call',
          action_detail: detail,
          action_summary: ecs ? 'ecs:form' : call?.name,
          irreversible: call?.irreversible,
          idempotency_key: call?.irreversible ? `key of ${call.name}` : null,
        }
      }
      case '+interaction':
        return { prompt: `What about ${call?.name}?`, interaction_kind: kindsByReason[reasonOf(row)] }
      case 'contract.suspend':
        return { reason: reasonOf(row) }
      default:
        return move.startsWith('tool.') ? { ...asked, ...toolSays[move] } : (contractSays[move] ?? {})
    }
  }

  /** One append: all its rows at one instant. */
  function append(...rows: readonly Row[]) {
    at += 10
    const batch = rows.flatMap((row) => movesOf(row).map((move) => play(row, move)))
    const problems = checkBatch(couplings, batch)
    if (problems.length > 0) throw new Error(problems.join('; '))
  }

  function newCall({
    name: called = 'mail.draft',
    arguments: args = {},
    kind = 'tool',
    irreversible = false,
  }: CallSpec): Call {
    const n = ++ids.call
    const { turn_id } = current
    const call_id = `cal_${n}`
    return {
      call_id,
      execution_id: `exe_${n}`,
      name: called,
      arguments: args,
      kind,
      irreversible,
      turn_id,
      interaction_id: null,
    }
  }

  return {
    runes: runes as readonly Rune[],
    current: current as Readonly<typeof current>,
    stateOf,
    append,
    now: () => at,
    later(ms: number) {
      at += ms
    },
    /** A fact that moves nothing. */
    say(kind: Kind, payload: object, concerns: Concerns = { ...current }) {
      write(kind, 'graph_runner', payload, concerns)
    },
    begin() {
      append({ row: 'session_created' })
    },
    submit(input: Json = 'go') {
      append({ row: stateOf(session_id) === 'created' ? 'first_message' : 'message', says: { '+run': { input } } })
    },
    /** A worker takes the run: a turn opens with the input, or the one that executes tools continues. */
    take(input: Json = 'go') {
      if (stateOf(current.turn_id) === 'tool_executing') append({ row: 'retaken' })
      else append({ row: 'taken', says: { 'turn.start_turn': { input } } })
    },
    calls(specs: readonly CallSpec[], text = ''): readonly Call[] {
      const made = specs.map(newCall)
      const rowOf = { tool: 'called', step: 'asked', duplicate: 'duplicate_refused' } as const
      append(
        { row: 'calls_received', says: { 'turn.tool_calls_received': { call_ids: made.map((c) => c.call_id), text } } },
        ...made.map((call) => ({ row: rowOf[call.kind], call })),
      )
      return made
    },
    /** The rest of the round waits for a person. */
    park(...rows: readonly Row[]) {
      append(...rows, { row: 'parked' })
    },
  }
}

export type Story = ReturnType<typeof createStory>

const toolSays: { readonly [M in MoveName]?: object } = {
  'tool.success': { status: 'success', output: 'done' },
  'tool.execution_error': { status: 'error', error: 'broken' },
  'tool.execution_timeout': { status: 'timeout', error: 'slow' },
  'tool.approval_timeout': { status: 'timeout', error: 'no answer came' },
  'tool.cancelled': { status: 'cancelled', error: 'stopped' },
  'tool.outcome_unknown': { status: 'unknown', error: 'lost' },
}

const contractSays: { readonly [M in MoveName]?: object } = {
  'contract.succeed': { result: 'done' },
  'contract.fail': { error_message: 'broken', error_kind: 'error' },
  'contract.reject': { error_message: 'no' },
  'contract.cancel': { error_message: 'stopped' },
  'contract.timeout': { error_message: 'no answer came' },
}

const kindsByReason = { approval: 'approval', ecs: 'ecs', outcome_unknown: 'settlement' } as const

function reasonOf(row: string): keyof typeof kindsByReason {
  return row === 'approval_asked' ? 'approval' : row === 'step_asked' ? 'ecs' : 'outcome_unknown'
}

/** Frames and threads have names in common; a row with a call is a thread. */
function movesOf({ row, call }: Row): readonly MoveName[] {
  return call === undefined ? couplings.frames[row as FrameName].moves : couplings.threads[row as ThreadName].moves
}

function cut(move: string): readonly [string, string] {
  const dot = move.indexOf('.')
  return [move.slice(0, dot), move.slice(dot + 1)]
}

function rest(machine: Machine, state: string): string {
  return machine.transitions.find((t) => t.from === state && t.rune === null)?.to ?? state
}
