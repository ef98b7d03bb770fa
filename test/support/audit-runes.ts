import type { Machine, Reading } from '../../src/kernel/machine.ts'
import { audit, type Move, restingState } from '../../src/kernel/transition.ts'
import { machines } from '../../src/machines/all.ts'
import { auditInvariants } from './audit-invariants.ts'

/** The part of a rune that the audit reads. Any rune of the runelog fits. An opening has no `from` and no `trigger`. */
export interface RuneLike {
  readonly kind: string
  readonly session_id: string
  readonly machine?: string
  readonly subject_id?: string
  readonly from?: string | null
  readonly to?: string
  readonly trigger?: string | null
  readonly guards?: readonly Reading[]
  readonly run_id?: string
  readonly agent_id?: string
  readonly turn_id?: string
  readonly call_id?: string
  readonly execution_id?: string
  readonly interaction_id?: string
  readonly coordination_id?: string
  readonly goal_id?: string
  readonly task_id?: string
}

type IdField = Exclude<keyof RuneLike, 'kind' | 'machine' | 'subject_id' | 'from' | 'to' | 'trigger' | 'guards'>

/** Which id of a rune names the subject of a machine that the rune opens or carries along. */
const idFields: Readonly<Record<string, IdField>> = {
  session: 'session_id',
  run: 'run_id',
  agent: 'agent_id',
  turn: 'turn_id',
  tool: 'call_id',
  contract: 'execution_id',
  interaction: 'interaction_id',
  coordination: 'coordination_id',
  goal: 'goal_id',
  task: 'task_id',
}

interface Subject {
  readonly name: string
  readonly machine: Machine
  readonly moves: Move[]
  at: string
}

/**
 * Judges whole logs, oldest rune first: every subject was opened before it
 * moved, every move is one the declaration has and is written as the kind it
 * says, carried moves included, and the invariants hold. Returns what is wrong.
 */
export function auditRunes(runes: readonly RuneLike[]): readonly string[] {
  const subjects = new Map<string, Subject>()
  const problems = runes.flatMap((rune, i) =>
    [...opened(subjects, rune), ...moved(subjects, rune), ...carried(subjects, rune)].map(
      (problem) => `rune ${i + 1} (${rune.kind}): ${problem}`,
    ),
  )
  const histories = [...subjects.values()].flatMap(({ name, machine, moves }) =>
    audit(machine, moves).map((problem) => `${name}: ${problem}`),
  )
  return [...problems, ...histories, ...auditInvariants(runes)]
}

function opened(subjects: Map<string, Subject>, rune: RuneLike): readonly string[] {
  return machines
    .filter((machine) => machine.opens === rune.kind)
    .flatMap((machine) => {
      const id = rune.subject_id ?? idOf(machine, rune)
      if (id === undefined) return [`it opens a ${machine.name} and does not say which`]
      const key = keyOf(machine, rune.session_id, id)
      if (subjects.has(key)) return [`${machine.name} ${id} was opened before`]
      subjects.set(key, begun(machine, id))
      const elsewhere = rune.to !== undefined && rune.to !== machine.initial
      return elsewhere ? [`${machine.name} ${id} is opened in ${rune.to}, not in ${machine.initial}`] : []
    })
}

function moved(subjects: Map<string, Subject>, rune: RuneLike): readonly string[] {
  const { machine: name, subject_id: id, from, to, trigger } = rune
  if (typeof trigger !== 'string') return []
  if (name === undefined || id === undefined || typeof from !== 'string' || to === undefined)
    return [`it has the trigger ${trigger} but not machine, subject_id, from and to`]
  const machine: Machine | undefined = machines.find((m) => m.name === name)
  if (machine === undefined) return [`there is no machine ${name}`]

  const key = keyOf(machine, rune.session_id, id)
  const known = subjects.get(key)
  const subject = known ?? begun(machine, id)
  subjects.set(key, subject)
  advance(subject, { from, to, trigger, guards: rune.guards })

  const edge = machine.transitions.find((t) => t.from === from && t.on === trigger && t.to === to)
  const unopened = known === undefined && machine.opens !== null
  return [
    ...(unopened ? [`${name} ${id} moves, but no ${machine.opens} opened it`] : []),
    ...(edge === undefined || edge.rune === rune.kind
      ? []
      : [`${name} ${from} → ${to} on ${trigger} is recorded by ${edge.rune ?? 'no rune'}`]),
  ]
}

/** Another machine's rune takes these along, if they are where the edge begins; elsewhere it does not concern them. */
function carried(subjects: Map<string, Subject>, rune: RuneLike): readonly string[] {
  for (const machine of machines as readonly Machine[]) {
    const id = idOf(machine, rune)
    const subject = id === undefined ? undefined : subjects.get(keyOf(machine, rune.session_id, id))
    const edge = machine.transitions.find((t) => t.carried && t.rune === rune.kind && t.from === subject?.at)
    // Where the guards of a carried edge did not hold, the rune has no readings of them, and the subject stays.
    if (edge?.when?.some((name) => !rune.guards?.some(({ guard }) => guard === name))) continue
    if (subject !== undefined && edge !== undefined)
      advance(subject, { from: edge.from, to: edge.to, trigger: edge.on, guards: rune.guards })
  }
  return []
}

function advance(subject: Subject, move: Move): void {
  subject.moves.push(move)
  subject.at = restingState(subject.machine, move.to)
}

function begun(machine: Machine, id: string): Subject {
  return { name: `${machine.name} ${id}`, machine, moves: [], at: machine.initial }
}

function idOf(machine: Machine, rune: RuneLike): string | undefined {
  const field = idFields[machine.name]
  return field === undefined ? undefined : rune[field]
}

function keyOf(machine: Machine, session_id: string, id: string): string {
  return JSON.stringify([session_id, machine.name, id])
}
