import { followRows } from '../kernel/coupling.ts'
import { isTerminal } from '../kernel/machine.ts'
import { restingState } from '../kernel/transition.ts'
import { type MachineName, machineOf } from '../machines/all.ts'
import { couplings } from '../machines/couplings.ts'
import { type Carrier, carriedMoves, type RecordedMove, threadOf } from '../runes/rune.ts'

/** The part of a rune that the check reads: its header. An erased payload makes no difference. */
export type Recorded = Carrier & Partial<RecordedMove>

/** After these, no call of the model is under way. */
const roundEnds = new Set(['turn.tools_finished', 'turn.completed', 'turn.interrupted', 'turn.error'])

/** The required end of a question in the append of these moves of its run. */
const needed: Readonly<Record<string, string>> = {
  'interaction.reply.accepted': 'answered',
  'interaction.auto_decide.timeout': 'expired',
}

/**
 * Checks the rules that no rune of a session shows alone: its moves follow on each other, form whole rows of the
 * couplings, and keep the invariants of specification 002. Takes runes that are legal each by itself, in order, and
 * reports each contradiction to those before.
 */
export function checkSequence(): (rune: Recorded) => string | undefined {
  const states = new Map<string, string>()
  const isInRow = followRows(couplings)
  /** For each turn, the calls that owe their result, and the contracts that are under way. */
  const owing = new Map<string, Set<string>>()
  /** The runs and agents that are not over. */
  const alive = new Set<string>()
  /** The end of a run's question since the run last moved. */
  const ended = new Map<string, string>()

  function moveProblem(rune: Recorded): string | undefined {
    const { subject_id = '', from = null, to = '', trigger = null, run_id = '' } = rune
    const machine = machineOf(rune.machine as MachineName)
    const who = () => `${machine.name} ${subject_id}`
    const at = states.get(subject_id) ?? (machine.opens === null ? machine.initial : null)
    if (from !== at) {
      if (from === null) return `${who()} was opened before.`
      return at === null ? `${who()} moves, and nothing opened it.` : `it leaves ${from}, but ${who()} was ${at}.`
    }
    if (!isInRow({ machine: machine.name, trigger, thread: threadOf(machine.name, rune) }))
      return `${who()}: the moves that belong to ${trigger ?? 'its opening'} are not all there.`
    if (machine.name === 'interaction') ended.set(run_id, to)
    if (machine.name === 'run') {
      const how = needed[trigger ?? '']
      if (how !== undefined && ended.get(run_id) !== how) return `${who()}: no question of it was ${how}.`
      ended.delete(run_id)
    }
    if (machine.name === 'run' || machine.name === 'agent')
      if (isTerminal(machine, to)) alive.delete(subject_id)
      else alive.add(subject_id)
    const [left] = to === 'closed' && machine.name === 'session' ? alive : []
    return left && `${who()} is closed while ${left} is not over.`
  }

  function invariantProblem(rune: Recorded): string | undefined {
    const { kind, machine, to, agent_id = '', turn_id = '', call_id = '', execution_id = '' } = rune
    if (kind === 'turn.started' && states.get(agent_id) !== 'idle')
      return `INV-TURN-SEQUENTIAL: agent ${agent_id} began turn ${turn_id} and was ${states.get(agent_id)}.`
    if (machine !== 'contract' && kind !== 'tool.call' && kind !== 'tool.result' && !roundEnds.has(kind))
      return undefined
    const owed = owing.get(turn_id) ?? new Set()
    if (kind === 'tool.result' && !owed.delete(call_id))
      return `INV-TOOL-TERMINAL: call ${call_id} was not made, or has a result already.`
    if (kind === 'tool.call') owed.add(call_id)
    if (machine === 'contract')
      if (to === 'pending' || to === 'running') owed.add(execution_id)
      else owed.delete(execution_id)
    if (owed.size === 0) owing.delete(turn_id)
    else owing.set(turn_id, owed)
    const [open] = roundEnds.has(kind) ? owed : []
    return open && `INV-TOOL-TERMINAL: ${open} is under way or has no result, and its round is over.`
  }

  const stateOf = (subject_id: string) => states.get(subject_id)
  return (rune) => {
    const { machine, subject_id, to } = rune
    const problem = (machine === undefined ? undefined : moveProblem(rune)) ?? invariantProblem(rune)
    const carried = carriedMoves(rune, stateOf)
    if (machine !== undefined && subject_id !== undefined && to !== undefined)
      states.set(subject_id, restingState(machineOf(machine as MachineName), to))
    for (const { subject_id, to } of carried) states.set(subject_id, to)
    return problem
  }
}
