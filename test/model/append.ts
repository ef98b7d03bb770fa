import { type BatchMove, type Couplings, checkBatch } from '../../src/kernel/coupling.ts'
import type { Machine, Transition } from '../../src/kernel/machine.ts'
import { suppose } from '../../src/kernel/transition.ts'
import type { FrameName, ThreadName } from '../support/runes.ts'
import { type Call, copy, keyOf, type Setting, type World } from './world.ts'

/** The explored machines: the real declarations, or a copy with one thing broken on purpose. */
export interface System {
  readonly machines: ReadonlyMap<string, Machine>
  readonly couplings: Couplings
  /** Guards that are taken to hold whatever the world says. */
  readonly ignored: ReadonlySet<string>
  /** A broken habit of the runtime, to see that the exploration notices. */
  readonly habit?: 'effect_without_lease' | 'effect_before_record' | 'key_not_claimed' | 'retry_after_crash'
}

export type RowRef = FrameName | readonly [thread: ThreadName, call: number]

export type Appended = { readonly world: World } | Refusal

export interface Refusal {
  readonly refused: string
  readonly guarded: boolean
}

/**
 * Appends a batch of rows: every move asks `transition()`, all or none.
 */
export function append(
  system: System,
  setting: Setting,
  from: World,
  by: 'holder' | 'command',
  rows: readonly RowRef[],
  used: Set<string>,
): Appended {
  const world = copy(from)
  const batch: BatchMove[] = []
  for (const ref of rows) {
    const [name, index] = typeof ref === 'string' ? [ref, null] : ref
    const row = index === null ? system.couplings.frames[name] : system.couplings.threads[name]
    if (row === undefined) return { refused: `there is no coupling ${name}`, guarded: false }
    if (row.by !== 'either' && row.by !== by) return { refused: `${name} is not for a ${by}`, guarded: false }
    const call = index === null ? null : (world.calls[index] as Call)
    for (const move of row.moves) {
      const problem = step(system, setting, world, call, name, move, used)
      if (problem !== null) return { refused: problem, guarded: problem.endsWith('(guarded)') }
      const [machine = '', trigger] = split(move)
      batch.push({ machine, trigger, thread: index === null ? undefined : `call ${index}` })
    }
  }
  const problems = checkBatch(system.couplings, batch)
  if (problems.length > 0) return { refused: problems.join('; '), guarded: false }
  return { world }
}

function split(move: string): [string, string | null] {
  if (move.startsWith('+')) return [move.slice(1), null]
  const dot = move.indexOf('.')
  return [move.slice(0, dot), move.slice(dot + 1)]
}

type Slot = 'session' | 'run' | 'turn' | 'agent' | 'tool' | 'contract' | 'interaction'

function step(
  system: System,
  setting: Setting,
  world: World,
  call: Call | null,
  row: string,
  move: string,
  used: Set<string>,
): string | null {
  const [name, trigger] = split(move)
  const slot = name as Slot
  const machine = system.machines.get(name) as Machine
  const owner = (call !== null && slot in call ? call : world) as unknown as Record<Slot, string | null>

  if (trigger === null) {
    // A settlement may be put again after it was answered; everything else opens once.
    if (owner[slot] !== null && !(slot === 'interaction' && owner[slot] !== 'open')) return `${name} is open already`
    if (slot === 'contract' && call !== null && system.habit !== 'key_not_claimed' && keyIsTaken(world, call))
      return 'the key is taken'
    owner[slot] = machine.initial
    if (slot === 'interaction' && call !== null) call.answer = null
    return null
  }

  const at = owner[slot]
  if (at === null) return `${name} is not open`
  const guards = guardsOf(system, setting, world, call, row)
  const decision = suppose(machine, at, trigger, (guard) => guards[guard] === true)
  if (!decision.allowed) return `${name} is ${at} and refuses ${trigger} (${decision.refusal})`
  owner[slot] = decision.to
  if (slot === 'contract' && call !== null) call.reason = decision.to === 'waiting' ? reasonFor(row) : null
  used.add(edgeText(name, decision.edge))
  carry(system, world, decision.edge.rune, used)
  const onward = machine.transitions.find((t) => t.from === decision.to && t.rune === null)
  if (onward !== undefined) {
    owner[slot] = onward.to
    used.add(edgeText(name, onward))
  }
  return null
}

export function edgeText(machine: string, { from, on, to }: Transition): string {
  return `edge ${machine} ${from} → ${to} on ${on}`
}

function reasonFor(row: string) {
  return row === 'approval_asked' ? 'approval' : row === 'step_asked' ? 'ecs' : 'outcome_unknown'
}

/** The moves that a rune of the turn makes in other machines. */
function carry(system: System, world: World, rune: string | null, used: Set<string>) {
  for (const slot of ['agent', 'session'] as const) {
    const edges = (system.machines.get(slot) as Machine).transitions
    const edge = edges.find((t) => t.carried && t.rune === rune && t.from === world[slot])
    if (edge === undefined) continue
    ;(world as unknown as Record<string, string>)[slot] = edge.to
    used.add(edgeText(slot, edge))
  }
}

export function keyIsTaken(world: World, call: Call): boolean {
  if (!call.kind.startsWith('pay')) return false
  return world.calls.some(
    (c) =>
      c !== call &&
      keyOf(c) === keyOf(call) &&
      c.contract !== null &&
      ['pending', 'running', 'waiting', 'completed'].includes(c.contract),
  )
}

function guardsOf(system: System, setting: Setting, world: World, call: Call | null, row: string) {
  const known: Record<string, boolean> = {
    input: true,
    no_tool_calls: true,
    continue: row === 'continued',
    no_more_calls: row === 'succeeded_by_tools',
    unrecoverable: true,
    session_is_active: world.session === 'active',
    mode_is_interactive: setting.mode === 'interactive',
    reply_is_optional: !setting.strict,
    interaction_is_open: world.calls.some((c) => c.interaction === 'open'),
    agent_is_configured: true,
    checkpoint_verifies: true,
    deadline_applies: !setting.strict && call?.reason !== 'outcome_unknown',
    outcome_is_known: call?.reason !== 'outcome_unknown',
  }
  for (const guard of system.ignored) known[guard] = true
  return known
}
