import { asJson, idOf } from '../../coordinator/checksum.ts'
import type { Progress } from '../../coordinator/progress.ts'
import type { FailurePack } from '../../coordinator/schemas/ending.ts'
import type { QuestionPack } from '../../coordinator/schemas/questions.ts'
import type { Sha256 } from '../../kernel/digest.ts'
import type { CoordinationTrigger } from '../../machines/coordination.ts'
import type { Concerns } from '../../runes/rune.ts'
import type { Batch } from '../../runtime/batch.ts'
import { subject } from '../../runtime/subject.ts'
import type { PlanFile } from './plans.ts'

/** The move to record, with what belongs to it. */
export interface Move {
  readonly about: Concerns & { readonly coordination_id: string }
  /** After the move. */
  readonly progress: Progress
  readonly at: number
  readonly duration_ms: number
  readonly answer_timeout_ms: number | null
  /** What the move that ends it leaves behind. */
  readonly files: readonly PlanFile[]
}

/** Puts the last move of a coordination into a batch, and what belongs to it: the question, the alert, the files. */
export function recordMove(batch: Batch, move: Move, sha256: Sha256): { readonly deadline: Deadline | null } {
  const { about, progress, duration_ms } = move
  const entry = progress.entries.at(-1)
  if (entry === undefined) throw new Error('A move has an entry on the tape.')
  const { guards_evaluated: guards, outputs_produced: outputs } = entry
  const failure = progress.artifacts.failure_pack
  const readings = new Map(guards.map(({ guard_name, passed }) => [guard_name as string, passed]))
  batch
    .on({ machine: 'coordination', id: about.coordination_id, about }, 'coordinator')
    .move(
      entry.trigger as CoordinationTrigger,
      { guards, outputs, duration_ms, ...(failure === undefined ? {} : { failure: asJson(failure) }) },
      { readings },
    )

  const interaction_id = idOf('int', [about.coordination_id, entry.sequence], sha256)
  const asked = progress.state === 'AWAITING_ANSWERS' ? progress.artifacts.question_pack.at(-1) : undefined
  const deadline = asked === undefined ? null : ask(batch, move, interaction_id, asked)
  if (move.files.length > 0)
    batch.record('coordination.frozen', { actor: 'coordinator', payload: { files: [...move.files] } }, about)
  if (progress.state === 'ABORTED' && failure !== undefined) alert(batch, move, interaction_id, failure)
  return { deadline }
}

/** When open questions expire. */
export interface Deadline {
  readonly interaction_id: string
  readonly at: number
}

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

/** A crossed red line is for a person to see, and stays in the inbox until one has said so. */
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
