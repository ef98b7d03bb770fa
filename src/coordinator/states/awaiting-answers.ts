import { finding } from '../../kernel/machine.ts'
import { idOf } from '../checksum.ts'
import { type GuardTable, judge, readGuards, unless, unlessProblems } from '../guard-table.ts'
import { noted, type Outcome, type WaitingHandler } from '../handler.ts'
import type { AcceptedAnswer, AnswerConflict, AnswerLedger, Ports, Progress } from '../progress.ts'
import { defaultAnswers, readAnswers } from '../questions/answers.ts'
import { conflictsOf } from '../questions/conflicts.ts'
import { standingOf } from '../questions/standing.ts'
import { adjudicate } from '../rules/adjudicate.ts'
import type { Settled } from '../rules/request.ts'
import type { Problem } from '../schemas/problem.ts'
import type { AnswerPack, Question, QuestionPack } from '../schemas/questions.ts'

/** Handles the next round that arrived. The engine calls it only if one has. */
export const awaitingAnswers: WaitingHandler = (progress, ports) => {
  const { ledger, artifacts } = progress
  const arrived = ledger.arrived[ledger.read]
  const asked = artifacts.question_pack.at(-1)
  if (arrived === undefined || asked === undefined) throw new Error('Nothing has arrived, or nothing was asked.')

  if ('withdrawn' in arrived)
    return unanswered(ledger, asked, { unsettled: asked.questions, withdrawn: true }, 'The questions were withdrawn.')
  if ('timed_out' in arrived) {
    const { answers, blocked } = defaultAnswers(asked)
    if (blocked.length > 0) return unanswered(ledger, asked, { unsettled: blocked }, 'Time ran out.')
    return weigh(progress, { asked, answers, pack: null }, ports)
  }
  const read = readAnswers(arrived.answer_pack, asked)
  if (read.taken) return weigh(progress, { asked, answers: read.answers, pack: read.pack }, ports)
  const guards = readGuards(answerGuards, { ...nothingWrong, problems: read.problems, returns: ledger.returns })
  return {
    stays: true,
    ledger: {
      ...ledger,
      read: ledger.read + 1,
      refused: [...ledger.refused, { arrived: ledger.read, problems: read.problems, guards }],
    },
    audit: [
      noted('answer_received', 'warning', `Refused: ${read.problems.map(({ message }) => message).join(' ')}`, [
        asked.pack_id,
      ]),
    ],
  }
}

/** No answer will come: time ran out for questions without a default, or the plan is no longer wanted. */
function unanswered(ledger: AnswerLedger, asked: QuestionPack, facts: Partial<AnswerFacts>, message: string): Outcome {
  return {
    ...judge(answerGuards, { ...nothingWrong, ...facts, returns: ledger.returns }, 'answers_received'),
    produced: [],
    ledger: { ...ledger, read: ledger.read + 1 },
    audit: [noted('answer_received', 'warning', message, [asked.pack_id])],
  }
}

interface Answered {
  readonly asked: QuestionPack
  readonly answers: readonly AcceptedAnswer[]
  /** Null: time ran out and the answers are the defaults. */
  readonly pack: AnswerPack | null
}

/** Evaluates the rules on the plan with the answers in it. */
function weigh(progress: Progress, { asked, answers, pack }: Answered, ports: Ports): Outcome {
  const { ledger, artifacts } = progress
  const { given, governed } = standingOf(progress, ports)
  const round = artifacts.rule_decisions.length + 1
  const fresh = answers.flatMap(({ question_id, key: _, ...answer }): Settled[] => {
    const question = asked.questions.find((one) => one.question_id === question_id)
    return question === undefined ? [] : [{ question, ...answer }]
  })
  const before = artifacts.rule_decisions.at(-1)?.decisions ?? []
  const after = adjudicate({ steps: given.steps, settled: [...governed.settled, ...fresh], round }, given, ports)
  const compared = { fresh, standing: governed.settled, before, after: after.decisions, round: ledger.returns + 1 }
  const conflicts = conflictsOf(compared, given, ports)
  const all = [...ledger.conflicts, ...conflicts]
  const facts = { ...nothingWrong, conflicts, all, returns: ledger.returns }
  const judged = judge(answerGuards, facts, conflicts.length === 0 ? 'answers_received' : 'answer_conflicts')

  const guilty = new Set(conflicts.map(({ question_id }) => question_id))
  const standing = answers.filter(({ question_id }) => !guilty.has(question_id))
  const isSentBack = judged.trigger === 'answer_conflicts'
  const message = pack === null ? 'Time ran out; the defaults stand.' : `${answers.length} answers arrived.`
  const isResolved = conflicts.length === 0 && ledger.conflicts.length > 0
  const decided = {
    decisions_id: idOf('decs', [progress.run_id, round], ports.sha256),
    schema_version: '1.0.0' as const,
    round,
    decisions: [...after.decisions],
  }
  return {
    ...judged,
    produced: [
      ...(pack === null ? [] : [{ type: 'answer_pack' as const, artifact: pack }]),
      ...(conflicts.length > 0 ? [] : [{ type: 'rule_decisions' as const, artifact: decided }]),
    ],
    ...(conflicts.length > 0 ? {} : { evaluations: after.evaluations }),
    ledger: {
      ...ledger,
      read: ledger.read + 1,
      accepted: [...ledger.accepted, ...standing],
      conflicts: all,
      returns: ledger.returns + (isSentBack ? 1 : 0),
    },
    audit: [
      noted('answer_received', 'info', message, [asked.pack_id]),
      ...conflicts.map((one) => noted('conflict_detected', 'warning', clash(one), [one.question_id, one.step_id])),
      ...(isResolved
        ? [noted('conflict_resolved', 'info', 'The rules let the new answers stand.', [asked.pack_id])]
        : []),
    ],
  }
}

/** How often answers may send a plan back to the rules. The next conflict blocks it. */
const conflictLimit = 3

interface AnswerFacts {
  /** Why the pack is refused. With any of them the coordination does not move. */
  readonly problems: readonly Problem[]
  /** Questions that have no answer and get none. */
  readonly unsettled: readonly Question[]
  readonly withdrawn: boolean
  /** Conflicts of these answers with the rules, and of all rounds so far. */
  readonly conflicts: readonly AnswerConflict[]
  readonly all: readonly AnswerConflict[]
  readonly returns: number
}

const nothingWrong = { problems: [], unsettled: [], withdrawn: false, conflicts: [], all: [] }

/** The guards of AWAITING_ANSWERS. */
// biome-ignore format: tables are audited by eye
export const answerGuards: GuardTable<AnswerFacts> = [
  ['answers_fit_schema', ({ problems }) =>
    unlessProblems(problems.filter((problem) => !isMissing(problem)), 'The answers have their shape and fit the questions.')],

  ['critical_questions_answered', ({ problems, unsettled }) => unless(
    [...problems.filter(isMissing).map(({ message }) => message), ...unsettled.map(({ key }) => key)],
    'Every question is settled.',
    'Not answered, and no default stands in'),
    ['timed_out', 'No answer came in time, and not every question has a default.', 'timeout_no_fallback',
      ({ unsettled, withdrawn }) => (withdrawn ? [] : unsettled).map(({ key, question_id, default_strategy: { explanation } }) =>
        ({ code: 'timed_out', message: `${key} has no answer. ${explanation}`, refs: [question_id] }))],
    ['questions_withdrawn', 'The questions were withdrawn: what the plan was for is over.', 'timeout_no_fallback',
      ({ unsettled, withdrawn }) => (withdrawn ? unsettled : []).map(({ key, question_id }) =>
        ({ code: 'questions_withdrawn', message: `${key} was not answered before it was withdrawn.`, refs: [question_id] }))]],

  ['no_answer_conflicts', ({ conflicts }) => unless(
    conflicts.map(({ key, value, step_id, reason }) => `${key}=${value} over ${step_id} (${reason})`),
    'The rules let every answer stand.',
    'The rules do not let stand')],

  ['conflict_rounds_left', ({ returns }) =>
    finding(returns < conflictLimit,
      `Sent back ${returns} of ${conflictLimit} times so far.`,
      `Sent back ${returns} times already; ${conflictLimit} are allowed.`),
    ['conflict_limit_reached', `The answers have conflicted with the rules ${conflictLimit + 1} times.`, 'timeout_no_fallback',
      ({ conflicts, all }) => (conflicts.length === 0 ? [] : all).map((conflict) =>
        ({ code: 'answer_conflict', message: `Round ${conflict.round}: ${clash(conflict)}`, refs: [conflict.question_id, conflict.step_id] }))]],
]

function isMissing({ code }: Problem): boolean {
  return code === 'critical_question_unanswered' || code === 'question_without_fallback'
}

function clash({ key, value, step_id, reason }: AnswerConflict): string {
  return `${key}=${value} does not go with the rules over ${step_id}: ${reason}`
}
