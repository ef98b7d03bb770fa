import { idOf } from '../../coordinator/checksum.ts'
import { coordinationOf, lasted } from '../../coordinator/coordinate.ts'
import { isAtRest } from '../../coordinator/engine.ts'
import { type FrozenFiles, freeze } from '../../coordinator/outputs/freeze.ts'
import { listArtifacts } from '../../coordinator/outputs/lineage.ts'
import type { Ports as CorePorts, Ports, Progress } from '../../coordinator/progress.ts'
import type { FailurePack } from '../../coordinator/schemas/plan.ts'
import type { QuestionPack } from '../../coordinator/schemas/questions.ts'
import { faults } from '../../faults/catalogue.ts'
import type { Sha256 } from '../../kernel/digest.ts'
import { asJson, type Json } from '../../kernel/json.ts'
import { isTerminal } from '../../kernel/machine.ts'
import { type CoordinationTrigger, coordinationMachine } from '../../machines/coordination.ts'
import { goalMachine } from '../../machines/goal.ts'
import type { InteractionView, SessionState } from '../../observation/session-state.ts'
import type { Concerns } from '../../runes/rune.ts'
import { type Batch, createBatch, subject } from '../../runtime/batch.ts'
import { attempt } from '../../runtime/decide-and-append.ts'
import type { Engine } from '../../runtime/engine.ts'
import { withdrawQuestions } from '../../runtime/run/closing.ts'
import type { Blobs } from '../../runtime/store.ts'
import type { PlanDocuments, PlanFile } from './plans.ts'
import type { PlanPorts } from './receive.ts'
import { nextMove, openPack, type Recorded, rerun, stateOf } from './recorded.ts'

type DrivePorts = PlanPorts & { readonly core: () => Promise<CorePorts>; readonly isStopping: () => boolean }

/** Works on a coordination until it is at rest. Each move is recorded before the next one is made. */
export async function drive(ports: DrivePorts, read: () => Promise<Recorded>): Promise<void> {
  for (;;) {
    const recorded = await read()
    const head = await ports.engine().runelog.head(recorded.received.session_id)
    if (isTerminal(coordinationMachine, stateOf(recorded)) || head?.sealed === true) return
    const isAsked = recorded.asked.some(({ is_open }) => is_open)
    if (isAsked && (await withdrawMoot(ports.engine(), recorded))) continue
    if (openPack(recorded) !== null) return
    const core = await ports.core()
    const went = await goOn(ports, core, recorded, rerun(recorded, core))
    // The goal may have ended, or the session closed, before the questions were recorded.
    if (went !== 'overtaken' && went !== 'asks') return
  }
}

async function goOn(ports: DrivePorts, core: CorePorts, recorded: Recorded, from: Progress) {
  const engine = ports.engine()
  let progress = from
  let since = recorded.moves.at(-1)?.at ?? recorded.received.at
  while (!isAtRest(progress)) {
    if (ports.isStopping() || engine.isStopping()) return 'stopped'
    const next = nextMove(progress, core)
    if (next.entries.length === progress.entries.length) return 'rests'
    const files = isTerminal(coordinationMachine, next.state) ? await keepFrozen(ports, core, next) : []
    const at = await record(engine, recorded, next, { since, files })
    if (at === null) return 'overtaken'
    progress = next
    since = at
  }
  return progress === from || isTerminal(coordinationMachine, progress.state) ? 'rests' : 'asks'
}

/**
 * Withdraws the questions of a plan that is no longer wanted. They may have been recorded after the goal ended or the
 * session began to close. True: the plan asks no more, so read the record again.
 */
async function withdrawMoot(engine: Engine, { coordination_id, received }: Recorded): Promise<boolean> {
  return attempt(engine, received.session_id, async (state) => {
    const reason = whyMoot(state, received.goal_id)
    if (reason === undefined) return { answer: () => false }
    const batch = createBatch(state, engine.clock.now())
    const isMeant = (question: InteractionView) => question.coordination_id === coordination_id
    withdrawQuestions(batch, isMeant, { reason, actor: 'coordinator' })
    if (batch.runes.length > 0) return { batch, answer: () => true }
    // Another process withdrew the question, or an answer came first.
    await engine.sessions.refresh(state)
    return { answer: () => true }
  })
}

/** Why a plan is no longer wanted. Undefined: it is still wanted. */
export function whyMoot({ session_id, subjects, goals }: SessionState, goal_id: string | null | undefined) {
  if (subjects.get(session_id)?.state === 'closing') return 'Its session is being closed.'
  return isTerminal(goalMachine, goals.get(goal_id ?? '')?.state) ? 'The goal it was asked for is over.' : undefined
}

type Made = { readonly since: number; readonly files: readonly PlanFile[] }

/** The time of the recorded move; null if another process recorded it first. `since`: when the state was entered. */
async function record(engine: Engine, recorded: Recorded, progress: Progress, { since, files }: Made) {
  const { coordination_id, received } = recorded
  const { session_id, goal_id, payload } = received
  const about = { coordination_id, ...(goal_id === undefined ? {} : { goal_id }) }
  let deadline: Deadline | null = null
  const moved_at = await attempt(engine, session_id, (state) => {
    // The opening was version 1 of the coordination, and each recorded move made one more.
    if (state.subjects.get(coordination_id)?.version !== progress.entries.length - 1) return { answer: () => null }
    const at = engine.clock.now()
    const batch = createBatch(state, at)
    const duration_ms = lasted(since, at)
    const { answer_timeout_ms = null } = payload
    deadline = recordMove(batch, { about, progress, at, duration_ms, answer_timeout_ms, files }, engine.sha256)
    return { batch, answer: () => at }
  })
  if (moved_at === null) return null
  if (deadline !== null) {
    const { interaction_id, at } = deadline as Deadline
    engine.deadline(interaction_id, session_id, at)
  }
  const { failure_pack } = progress.artifacts
  if (progress.state === 'ABORTED' && failure_pack !== undefined) {
    const { cause, message, intent_id } = failure_pack
    engine.warn('a plan was aborted; a person has to look', { coordination_id, session_id, intent_id, cause, message })
  }
  return moved_at
}

interface Move {
  readonly about: Concerns & { readonly coordination_id: string }
  /** The coordination after the move. */
  readonly progress: Progress
  readonly at: number
  readonly duration_ms: number
  readonly answer_timeout_ms: number | null
  /** The frozen files, if this move ends the coordination. */
  readonly files: readonly PlanFile[]
}

/** Puts the last move of a coordination into a batch, with its question, its alert and its files. */
function recordMove(batch: Batch, move: Move, sha256: Sha256): Deadline | null {
  const { about, progress, duration_ms } = move
  const entry = progress.entries.at(-1)
  if (entry === undefined) throw new Error('A move has an entry on the tape.')
  const { guards_evaluated: guards, outputs_produced: outputs } = entry
  const failure = progress.artifacts.failure_pack
  const payload = { guards, outputs, duration_ms, ...(failure && { failure: asJson(failure) }) }
  const coordination = batch.on({ machine: 'coordination', id: about.coordination_id, about }, 'coordinator')
  coordination.move(entry.trigger as CoordinationTrigger, payload)

  const interaction_id = idOf('int', [about.coordination_id, entry.sequence], sha256)
  const asked = progress.state === 'AWAITING_ANSWERS' ? progress.artifacts.question_pack.at(-1) : undefined
  const deadline = asked === undefined ? null : ask(batch, move, interaction_id, asked)
  if (move.files.length > 0)
    batch.record('coordination.frozen', { actor: 'coordinator', payload: { files: [...move.files] } }, about)
  if (progress.state === 'ABORTED' && failure !== undefined) alert(batch, move, interaction_id, failure)
  return deadline
}

type Deadline = { readonly interaction_id: string; readonly at: number }

function ask(batch: Batch, { about, at, answer_timeout_ms }: Move, interaction_id: string, pack: QuestionPack) {
  const { questions, intent_id, round } = pack
  const deadline = answer_timeout_ms === null ? null : Math.min(at + answer_timeout_ms, Number.MAX_SAFE_INTEGER)
  const many = questions.length === 1 ? 'One question' : `${questions.length} questions`
  const again = round === 1 ? '' : ` The last answers did not go with the rules; this is round ${round}.`
  batch.on(subject.newQuestion(interaction_id, about), 'coordinator').open({
    interaction_kind: 'question_pack',
    prompt: `${many} about the plan ${intent_id}.${again}`,
    request: { question_pack: asJson(pack) },
    evidence: [...new Set(questions.flatMap(({ evidence_refs }) => evidence_refs))],
    deadline,
    on_silence: deadline === null ? 'wait' : 'use_default',
    digest: null,
  })
  return deadline === null ? null : { interaction_id, at: deadline }
}

/** A crossed red line stays in the inbox until a person acknowledges it. */
function alert(batch: Batch, { about }: Move, interaction_id: string, failure: FailurePack) {
  batch.record('coordination.alerted', { actor: 'coordinator', payload: { failure: asJson(failure) } }, about)
  batch.on(subject.newQuestion(interaction_id, about), 'coordinator').open({
    interaction_kind: 'notice',
    prompt: `The plan ${failure.intent_id ?? about.coordination_id} was aborted: ${failure.message}`,
    request: { failure: asJson(failure) },
    evidence: [],
    deadline: null,
    on_silence: 'wait',
    digest: null,
  })
}

/** The frozen documents of an ended coordination. */
export function documentsIn(files: FrozenFiles): PlanDocuments {
  const documents = Object.entries(files).flatMap(([name, text]) =>
    name.endsWith('.json') ? [[name.slice(0, -'.json'.length), JSON.parse(text) as Json] as const] : [],
  )
  return Object.fromEntries(documents)
}

/** The artifacts of a coordination under way. */
export function documentsOf(progress: Progress, ports: Ports): PlanDocuments {
  const { artifacts, tape, lineage } = coordinationOf(progress, ports)
  const made = listArtifacts(artifacts).map(({ name, artifact }) => [name, asJson(artifact)] as const)
  return { ...Object.fromEntries(made), run_tape: asJson(tape), lineage: asJson(lineage) }
}

/** Stores the frozen files of an ended coordination, before the rune that names them is written. */
async function keepFrozen({ blobs, signing }: DrivePorts, core: CorePorts, progress: Progress): Promise<PlanFile[]> {
  const key = await signing?.()
  const files = freeze(coordinationOf(progress, core), progress.input, core, key?.signer)
  const names = Object.keys(files).sort()
  return Promise.all(names.map(async (name) => ({ name, ref: await blobs.keep(files[name] ?? '') })))
}

/** The frozen files by name. Refused if a text is no longer stored. */
export async function fetchFrozen(files: readonly PlanFile[], blobs: Blobs): Promise<FrozenFiles> {
  const texts = await Promise.all(
    files.map(async ({ name, ref }) => {
      const text = await blobs.fetch(ref)
      if (text === undefined) throw faults.not_found({ what: 'output', id: `${ref} (${name})` })
      return [name, text] as const
    }),
  )
  return Object.fromEntries(texts)
}
