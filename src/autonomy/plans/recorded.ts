import { arrive, begin, isAtRest, step } from '../../coordinator/engine.ts'
import type { AnswerRound, CoordinationInput, Ports, Progress } from '../../coordinator/progress.ts'
import type { FailurePack } from '../../coordinator/schemas/plan.ts'
import type { QuestionPack } from '../../coordinator/schemas/questions.ts'
import type { GuardReading, TapeEntry } from '../../coordinator/schemas/record.ts'
import { faults } from '../../faults/catalogue.ts'
import { canonicalJson, type Json } from '../../kernel/json.ts'
import { type CoordinationState, coordinationMachine } from '../../machines/coordination.ts'
import type { ReadModel } from '../../runelog/port.ts'
import { erased } from '../../runes/erasure.ts'
import type { Rune } from '../../runes/rune.ts'
import type { PlanFile, PlanMove, PlanQuestions, PlanRow, PlanView } from './plans.ts'

/** The record of one coordination in the log of its session. */
export interface Recorded {
  readonly coordination_id: string
  readonly received: Rune<'coordination.received'>
  readonly moves: readonly Rune<'coordination.moved'>[]
  /** The answers, timeouts and withdrawals, in the order in which they were recorded. */
  readonly rounds: readonly AnswerRound[]
  /** Every question pack, oldest first. */
  readonly asked: readonly Asked[]
  readonly files: readonly PlanFile[]
}

interface Asked extends PlanQuestions {
  readonly is_open: boolean
  /** The idempotency key of the answer. Null: there is none. */
  readonly idempotency_key: string | null
}

/** Undefined if the session has no such coordination. */
export function recordedIn(runes: readonly Rune[], coordination_id: string): Recorded | undefined {
  let received: Rune<'coordination.received'> | undefined
  const moves: Rune<'coordination.moved'>[] = []
  const rounds: AnswerRound[] = []
  const asked = new Map<string, Asked>()
  let files: readonly PlanFile[] = []
  for (const rune of runes) {
    if (rune.coordination_id !== coordination_id) continue
    const pack = asked.get(rune.interaction_id ?? '')
    switch (rune.kind) {
      case 'coordination.received':
        received = rune
        break
      case 'coordination.moved':
        moves.push(rune)
        break
      case 'coordination.frozen':
        files = rune.payload.files
        break
      case 'interaction.opened':
        if (rune.payload.interaction_kind === 'question_pack') {
          const { request, deadline } = rune.payload
          const interaction_id = rune.interaction_id ?? ''
          const question_pack = readBack<QuestionPack>(request.question_pack)
          asked.set(interaction_id, { interaction_id, question_pack, deadline, is_open: true, idempotency_key: null })
        }
        break
      case 'interaction.answered':
        if (pack === undefined) break
        asked.set(pack.interaction_id, { ...pack, is_open: false, idempotency_key: rune.payload.idempotency_key })
        rounds.push({ answer_pack: rune.payload.reply })
        break
      case 'interaction.expired':
      case 'interaction.withdrawn':
        if (pack === undefined) break
        asked.set(pack.interaction_id, { ...pack, is_open: false })
        rounds.push(rune.kind === 'interaction.expired' ? { timed_out: true } : { withdrawn: true })
    }
  }
  return received && { coordination_id, received, moves, rounds, asked: [...asked.values()], files }
}

/** The state after the last recorded move. */
export function stateOf({ moves }: Pick<Recorded, 'moves'>): CoordinationState {
  return (moves.at(-1)?.to ?? coordinationMachine.initial) as CoordinationState
}

/** The input as it was recorded. */
export function inputOf({ received }: Recorded): CoordinationInput {
  return readBack(received.payload.input)
}

/** The open questions. Null if there are none, or if they were redacted and cannot be answered. */
export function openPack({ asked }: Recorded): PlanQuestions | null {
  const pack = asked.find(({ is_open, question_pack: found }) => is_open && found !== undefined)
  if (pack === undefined) return null
  const { interaction_id, question_pack, deadline } = pack
  return { interaction_id, question_pack, deadline }
}

/** A document as it was recorded. Its shape was checked before. */
export function readBack<T>(document: unknown): T {
  return document as T
}

/** Why the coordination failed. Null: it did not fail, or the reason is redacted. */
function failureOf({ moves }: Recorded): FailurePack | null {
  const last = moves.at(-1)
  return last?.redacted === true ? null : ((last?.payload.failure as FailurePack | undefined) ?? null)
}

function moveOf({ from, to, trigger, at, payload }: Rune<'coordination.moved'>): PlanMove {
  const { duration_ms, guards, outputs } = payload
  const states = { from: from as CoordinationState, to: to as CoordinationState }
  return { ...states, trigger: trigger ?? '', at, duration_ms, guards: guards as readonly GuardReading[], outputs }
}

/** The plan as clients see it. */
export function viewOf(recorded: Recorded): PlanView {
  const { coordination_id, received, moves, files } = recorded
  const { intent_id, run_id = null } = received.payload
  return {
    coordination_id,
    session_id: received.session_id,
    goal_id: received.goal_id ?? null,
    intent_id,
    run_id,
    state: stateOf(recorded),
    submitted_at: received.at,
    updated_at: moves.at(-1)?.at ?? received.at,
    input: inputOf(recorded),
    moves: moves.map(moveOf),
    waits_for: openPack(recorded),
    failure: failureOf(recorded),
    files,
  }
}

/** All coordinations by state; the one that moved last comes last. */
export const coordinations: ReadModel<PlanRow> = {
  name: 'coordinations',
  version: 1,
  keys: (rune) => (rune.machine === 'coordination' && rune.subject_id !== undefined ? [rune.subject_id] : []),
  fold(row, rune, key) {
    const before = row?.value
    const state = rune.to as CoordinationState
    const value: PlanRow = {
      coordination_id: key,
      session_id: rune.session_id,
      goal_id: before?.goal_id ?? rune.goal_id ?? null,
      intent_id: rune.kind === 'coordination.received' ? rune.payload.intent_id : (before?.intent_id ?? ''),
      state,
      submitted_at: before?.submitted_at ?? rune.at,
      updated_at: rune.at,
    }
    return { key, tag: state, sort: rune.at, value }
  },
}

/** Runs the Coordinator again over the record, up to its last move. Refused if a move differs from the record. */
export function rerun(recorded: Recorded, ports: Ports): Progress {
  const { coordination_id, received, moves, rounds } = recorded
  const refuse = (problem: string) => faults.coordination_diverged({ coordination_id, problem })
  if (received.redacted === true) throw refuse('what was asked of it is redacted.')
  if (rounds.some((round) => 'answer_pack' in round && round.answer_pack === erased))
    throw refuse('an answer to its questions is redacted.')
  let progress = arrive(begin(inputOf(recorded), ports), rounds, ports)
  for (const [i, move] of moves.entries()) {
    progress = nextMove(progress, ports)
    const entry = progress.entries[i + 1]
    const differs = `move ${i + 1} of the record is ${move.from} → ${move.to}; run again, it`
    if (entry === undefined) throw refuse(`${differs} makes none.`)
    if (canonicalJson(madeBy(entry)) !== canonicalJson(recordedBy(move)))
      throw refuse(`${differs} is ${entry.from_state} → ${entry.to_state} or says something else.`)
  }
  return progress
}

/** Makes the next move, or runs until the coordination rests. A refused answer makes no move. */
export function nextMove(progress: Progress, ports: Ports): Progress {
  let at = progress
  while (!isAtRest(at) && at.entries.length === progress.entries.length) at = step(at, ports)
  return at
}

function madeBy({ from_state, to_state, trigger, guards_evaluated, outputs_produced }: TapeEntry): Json {
  return { from: from_state, to: to_state, trigger, guards: guards_evaluated, outputs: outputs_produced }
}

function recordedBy({ from, to, trigger, payload: { guards, outputs } }: Rune<'coordination.moved'>): Json {
  return { from: from ?? null, to: to ?? null, trigger: trigger ?? null, guards, outputs }
}
