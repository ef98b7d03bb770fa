import { canonicalJson, type Json } from '../kernel/json.ts'
import type { State } from '../kernel/machine.ts'
import { type ContractStatus, type ContractTrigger, contractMachine } from '../machines/contract.ts'
import type { Decider, Payload } from '../runes/kinds.ts'
import { actorCategory, type Draft, type Rune } from '../runes/rune.ts'
import type { ExecutionSnapshot, MemoryFact, TransitionRecord } from '../wire/contract.ts'
import type { ConsequenceLabel, ConsequenceView } from '../wire/dialogue.ts'
import { elapsed } from './durations.ts'
import { isShown } from './visible.ts'

/** The consequence label of each status. An unknown outcome is a `waiting` with its own label. */
// biome-ignore format: tables are audited by eye, so their columns line up
export const consequenceLabels: { readonly [S in ContractStatus]: ConsequenceLabel } = {
  pending:   'NOT_STARTED',
  running:   'IN_PROGRESS',
  waiting:   'WAITING',
  completed: 'SUCCESS',
  failed:    'FAILED',
  rejected:  'REJECTED',
  cancelled: 'CANCELLED',
}

/** The action took place. If it is irreversible, too, it left a lasting effect. */
export function hasHappened(status: ContractStatus): boolean {
  return consequenceLabels[status] === 'SUCCESS'
}

/** The flags of a status in the declaration. */
export function statusFlags(status: ContractStatus) {
  const { terminal, stable, resumable }: State = contractMachine.states[status]
  const is_terminal = terminal === true
  return { is_terminal, is_stable: is_terminal || stable === true, is_resumable: resumable === true }
}

/** The runes of one contract, oldest first. They are drafts: a writer can include those that it will append. */
export type ContractHistory = readonly [Draft<'contract.opened'>, ...Draft<'contract.moved' | 'interaction.opened'>[]]

/** The cause of a move, the same in every view of moves. */
export function causeOf({ payload }: Draft<'contract.moved'>) {
  const { reason: waiting_reason = null, error_kind = null, interaction_id = null } = payload
  return { waiting_reason, error_kind, interaction_id }
}

/** The contracts in these runes by `execution_id`, in the order in which they were opened. */
export function contractHistories(runes: Iterable<Draft>): ReadonlyMap<string, ContractHistory> {
  const histories: GrowingHistories = new Map()
  for (const rune of runes) addToHistories(histories, rune)
  return histories
}

/** Histories that grow with each folded rune. */
export type GrowingHistories = Map<string, [...ContractHistory]>

/** Adds a rune to the history of its contract. */
export function addToHistories(histories: GrowingHistories, rune: Draft): void {
  if (rune.execution_id === undefined) return
  if (rune.kind === 'contract.opened') histories.set(rune.execution_id, [rune])
  else if (rune.kind === 'contract.moved' || rune.kind === 'interaction.opened')
    histories.get(rune.execution_id)?.push(rune)
}

/** A contract as it is at `now`. */
export function snapshot(history: ContractHistory, now: number): ExecutionSnapshot {
  const [opened] = history
  const moves = movesOf(history)
  const { payload } = opened
  const last = moves.at(-1)
  const current_status = statusOf(history)
  const entered_at = (last ?? opened).at

  return {
    execution_id: idOf(history),
    action_type: payload.action_type,
    action_summary: payload.action_summary,
    current_status,
    created_at: opened.at,
    entered_at,
    duration_in_state_ms: elapsed(entered_at, now),
    ...statusFlags(current_status),
    has_side_effects: payload.irreversible,
    irreversible: payload.irreversible,
    idempotency_key: payload.idempotency_key,
    timeout_ms: payload.timeout_ms,
    result: last?.payload.result ?? null,
    error_message: last?.payload.error_message ?? null,
    error_kind: last?.payload.error_kind ?? null,
    waiting_reason: last?.payload.reason ?? null,
    interaction_id: questionOf(history),
    transition_count: moves.length,
    last_actor: last?.actor ?? null,
    last_trigger: (last?.trigger as ContractTrigger | undefined) ?? null,
  }
}

/** The only view of a contract that a model gets. */
export function consequenceView(history: ContractHistory): ConsequenceView {
  const [opened] = history
  const { payload } = opened
  const last = lastMove(history)
  const status = statusOf(history)
  const { is_terminal } = statusFlags(status)

  return {
    execution_id: idOf(history),
    action_type: payload.action_type,
    action_summary: payload.action_summary,
    consequence_label: outcomeIsUnknown(history) ? 'UNKNOWN' : consequenceLabels[status],
    result: last?.payload.result ?? null,
    error_message: last?.payload.error_message ?? null,
    has_side_effects: payload.irreversible && hasHappened(status),
    was_suspended: movesOf(history).some(({ to }) => statusFlags(to as ContractStatus).is_resumable),
    decided_by: deciderIn(history) ?? null,
    is_still_pending: !is_terminal,
    total_duration_ms: is_terminal ? elapsed(opened.at, (last ?? opened).at) : null,
  }
}

/** Every move of a contract, oldest first. */
export function transitionRecords(history: ContractHistory): readonly TransitionRecord[] {
  return movesOf(history).map((move, sequence_number) => ({
    execution_id: idOf(history),
    sequence_number,
    from_status: move.from as ContractStatus,
    to_status: move.to as ContractStatus,
    trigger: move.trigger as ContractTrigger,
    actor: move.actor,
    actor_category: actorCategory(move.actor),
    timestamp: move.at,
    is_terminal_transition: statusFlags(move.to as ContractStatus).is_terminal,
    ...causeOf(move),
  }))
}

/** A contract at its end, as its writer knows it. */
interface EndedContract
  extends Pick<
    Payload<'memory.committed'>,
    'execution_id' | 'action_type' | 'action_summary' | 'final_status' | 'irreversible' | 'duration_ms'
  > {
  readonly result?: Json | undefined
  readonly error_message?: string | undefined
  readonly decided_by: Decider | null
  /** One of its runes is secret, now or before. */
  readonly is_secret: boolean
}

/** The memory of an ended contract. INV-MEMORY-PRIVACY: undefined for a contract with a secret rune. */
export function executionFact(ended: EndedContract): Payload<'memory.committed'> | undefined {
  const { result = null, error_message, decided_by, is_secret, ...contract } = ended
  if (is_secret) return undefined
  return {
    type: 'execution_fact',
    ...contract,
    action_summary: summary(contract.action_summary),
    result_summary: result === null ? null : summary(result),
    error_summary: error_message === undefined ? null : summary(error_message),
    ...(decided_by !== null && { decided_by }),
  }
}

/** It waits because it is unknown whether the action happened. */
export function outcomeIsUnknown(history: ContractHistory): boolean {
  return lastMove(history)?.payload.reason === 'outcome_unknown' && statusFlags(statusOf(history)).is_resumable
}

/** The status that the last move of a contract led to. */
export function statusOf(history: ContractHistory): ContractStatus {
  return (lastMove(history)?.to as ContractStatus | undefined) ?? contractMachine.initial
}

/** The last decider in these runes of a contract. Undefined: they name none. */
export function deciderIn(runes: readonly Draft[]): Decider | undefined {
  for (const rune of runes.toReversed())
    if (rune.kind === 'contract.moved' && rune.payload.decided_by !== undefined) return rune.payload.decided_by
  return undefined
}

function movesOf(history: ContractHistory): readonly Draft<'contract.moved'>[] {
  return history.filter((rune) => rune.kind === 'contract.moved')
}

function lastMove(history: ContractHistory): Draft<'contract.moved'> | undefined {
  return history.findLast((rune) => rune.kind === 'contract.moved')
}

function questionOf(history: ContractHistory): string | null {
  for (const rune of history.toReversed()) {
    const asked = rune.kind === 'contract.moved' ? rune.payload.interaction_id : rune.interaction_id
    if (asked !== undefined) return asked
  }
  return null
}

const idOf = ([opened]: ContractHistory): string => opened.execution_id ?? ''

/** Labels of attempts that ended with an answer. */
const answered: readonly ConsequenceLabel[] = ['SUCCESS', 'FAILED', 'REJECTED']

/** A consequence as a model reads it, on one line unless its result has several. */
export function renderConsequence(view: ConsequenceView): string {
  const { consequence_label, action_summary, has_side_effects } = view
  const irreversible = has_side_effects ? ' IRREVERSIBLE' : ''
  const head = `[${consequence_label}${irreversible}${decision(view)}] ${action_summary}`
  const outcome = outcomeOf(view)
  return outcome === '' ? head : `${head}: ${outcome}`
}

/** A person or a deadline decides only a contract that waited. */
function decision(view: ConsequenceView): string {
  if (view.was_suspended) return howDecided(view) || ' (suspended)'
  return view.decided_by === 'policy' ? howDecided(view) : ''
}

type Decided = Pick<ConsequenceView, 'consequence_label' | 'action_type' | 'decided_by'>

/** The way it was decided. Silence is never reported as consent: only an answer of a person confirms. */
export function howDecided({ consequence_label, action_type, decided_by }: Decided): string {
  if (!answered.includes(consequence_label)) return ''
  if (decided_by === 'human') return ' (human-confirmed)'
  if (decided_by === 'timer') return ' (default after timeout)'
  return decided_by === 'policy' && action_type === 'ecs_request' ? ' (default, no one was asked)' : ''
}

function outcomeOf({ consequence_label, result, error_message }: ConsequenceView): string {
  if (error_message !== null) return error_message
  if (result !== null) return asText(result)
  return consequence_label === 'UNKNOWN' ? 'it is unknown whether it happened; do not repeat it' : ''
}

/** The requested facts. */
export interface MemoryQuery {
  /** Only what this agent remembers. */
  readonly agentId?: string | undefined
}

/** The fact that a rune commits to memory; undefined if there is none, or none that is asked for. */
export function memoryFact(rune: Rune, wanted?: string): MemoryFact | undefined {
  if (rune.kind !== 'memory.committed') return undefined
  const { event_id, at, session_id, run_id = null, agent_id = null } = rune
  if (wanted !== undefined && wanted !== agent_id) return undefined
  return { event_id, at, session_id, run_id, agent_id, ...rune.payload }
}

/** The memories of agents, oldest first. Facts that no reader may see are left out. */
export function memoryFacts(runes: readonly Rune[], { agentId }: MemoryQuery = {}): readonly MemoryFact[] {
  return runes.filter((rune) => isShown(rune)).flatMap((rune) => memoryFact(rune, agentId) ?? [])
}

const summaryLength = 200

/** A value as text, the same before and after recording: a string as it is, any other as canonical JSON. */
export function asText(value: Json): string {
  return typeof value === 'string' ? value : canonicalJson(value)
}

/** The first 200 characters. It never ends in half a character, which canonical JSON would refuse. */
export function summary(value: Json): string {
  const text = asText(value)
  if (text.length <= summaryLength) return text
  const last = text.charCodeAt(summaryLength - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? summaryLength - 1 : summaryLength)
}
