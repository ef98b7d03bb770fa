import { finding } from '../../kernel/machine.ts'
import { idOf } from '../checksum.ts'
import type { Given } from '../given.ts'
import {
  decided,
  type GuardTable,
  type Handler,
  judge,
  noted,
  type Outcome,
  type Produced,
  readGuards,
  unless,
  unlessProblems,
  type WaitingHandler,
} from '../guard-table.ts'
import type { AcceptedAnswer, AnswerConflict, Ports, Progress } from '../progress.ts'
import { defaultAnswers, readAnswers } from '../questions/answers.ts'
import { answersInForce, type Governed, mayAsk, standingOf } from '../questions/standing.ts'
import { type AnswerInForce, adjudicate, bearsOn, decisionsOf } from '../rules/adjudicate.ts'
import type { RuleDecision } from '../schemas/judgement.ts'
import type { AnswerPack, Question, QuestionPack } from '../schemas/questions.ts'
import type { Problem } from '../schemas/scalars.ts'

/** Asks the open questions, as far as the budget allows. */
export const questionsEmitted: Handler = (progress, ports) => {
  const { given, governed } = standingOf(progress, ports)
  const pack = packOf(progress, given, governed, ports)
  const ids = pack.questions.map(({ question_id }) => question_id)
  const listed = pack.questions.map(({ key, blocking_level, type }) => `${key} (${type}, ${blocking_level})`)
  const outcome = `${pack.questions.length} asked, ${pack.resolved_by_default.length} answered by default`
  return {
    ...judge(questionGuards, { pack, governed, given }, 'questions_emitted'),
    produced: pack.questions.length === 0 ? [] : [{ type: 'question_pack', artifact: pack }],
    ledger: { ...progress.ledger, asked: [...new Set([...progress.ledger.asked, ...ids])] },
    decisions: [decided('question_emission', listed.join(', ') || 'none fits', outcome)],
    audit: pack.questions.map(({ key, question_id, question_text }) =>
      noted('question_emitted', 'info', `${key}: ${question_text}`, [question_id]),
    ),
  }
}

interface QuestionFacts {
  readonly pack: QuestionPack
  readonly governed: Pick<Governed, 'overflow'>
  readonly given: Given
}

/** The guards of QUESTIONS_EMITTED. */
// biome-ignore format: tables are audited by eye
export const questionGuards: GuardTable<QuestionFacts> = [
  ['question_budget_kept', ({ pack: { policy_constraints: budget }, governed }) => unless(
    [
      ...governed.overflow.map(({ key, question_id }) => `${key} (${question_id})`),
      ...(budget.budget_remaining < 0 ? [`${-budget.budget_remaining} over`] : []),
    ],
    `${budget.budget_consumed} of ${budget.question_budget} questions.`,
    `The budget of ${budget.question_budget} has no room for`),
    ['question_budget_exceeded', 'The questions of the plan may not be asked as they are.', 'budget_exceeded']],

  ['questions_have_evidence', ({ pack, given: { policy: { question_rules: { min_evidence_count: least } } } }) => unless(
    pack.questions.filter(({ evidence_refs }) => new Set(evidence_refs).size < least).map(({ key, question_id }) => `${key} (${question_id})`),
    'Every question rests on evidence.',
    `With less evidence than the ${least} that the policy asks for`),
    ['question_ungoverned', 'The questions of the plan may not be asked as they are.', 'budget_exceeded']],

  ['questions_have_defaults', ({ pack }) => unless(
    pack.questions.filter((question) => !hasDefault(question)).map(({ key }) => key),
    'Every question says what happens without an answer.',
    'Without a default'),
    ['question_ungoverned', 'The questions of the plan may not be asked as they are.', 'budget_exceeded']],

  ['blocking_levels_fit_policy', ({ pack, given }) => unless(
    pack.questions.filter((question) => !mayAsk(question, given)).map(({ key, type }) => `${key} (${type})`),
    `${given.context.effective.mode} allows every one of them.`,
    `${given.context.effective.mode} does not allow`),
    ['question_ungoverned', 'The questions of the plan may not be asked as they are.', 'budget_exceeded']],
]

function hasDefault({ default_strategy: fallback, suggested_answers }: Question): boolean {
  if (fallback.action !== 'use') return fallback.explanation !== ''
  return suggested_answers.some(({ value }) => value === fallback.value)
}

function packOf({ run_id, ledger }: Progress, given: Given, governed: Governed, { sha256 }: Ports): QuestionPack {
  const questions = governed.ask.map((question) => withConflicts(question, ledger))
  const consumed = new Set([...ledger.asked, ...questions.map(({ question_id }) => question_id)]).size
  const { mode, question_budget } = given.context.effective
  const round = ledger.returns + 1
  return {
    pack_id: idOf('qpack', [run_id, round, questions], sha256),
    schema_version: '1.0.0',
    coordinator_run_id: run_id,
    intent_id: given.intent.id,
    round,
    questions,
    policy_constraints: {
      execution_mode: mode,
      question_budget,
      budget_consumed: consumed,
      budget_remaining: question_budget - consumed,
    },
    resolved_by_default: governed.inForce.flatMap(({ question, value, provided_by }) => {
      const { question_id, key, default_strategy } = question
      return provided_by === 'policy_default' ? [{ question_id, key, value, reason: default_strategy.explanation }] : []
    }),
  }
}

/** A question that is asked again says why the rules refused the earlier answers. */
function withConflicts(question: Question, { conflicts }: Progress['ledger']): Question {
  const earlier = conflicts.filter(({ question_id }) => question_id === question.question_id)
  if (earlier.length === 0) return question
  const reasons = earlier.map(({ value, step_id, reason }) => `"${value}" cannot stand: ${step_id}: ${reason}`)
  return { ...question, context: [question.context, ...new Set(reasons)].join(' ').slice(0, 8000).toWellFormed() }
}

/** Handles the next round that arrived. The engine calls it only if one has. */
export const awaitingAnswers: WaitingHandler = (progress, ports) => {
  const { ledger, artifacts } = progress
  const arrived = ledger.arrived[ledger.read]
  const asked = artifacts.question_pack.at(-1)
  if (arrived === undefined || asked === undefined) throw new Error('Nothing has arrived, or nothing was asked.')

  const read = ledger.read + 1
  const refs = [asked.pack_id]
  /** The outcome when no answer will come: a timeout for questions without a default, or withdrawn questions. */
  const unanswered = (facts: Partial<AnswerFacts>, message: string): Outcome => ({
    ...judge(answerGuards, { ...nothingWrong, ...facts, returns: ledger.returns }, 'answers_received'),
    produced: [],
    ledger: { ...ledger, read },
    audit: [noted('answer_received', 'warning', message, refs)],
  })
  if ('withdrawn' in arrived)
    return unanswered({ unanswered: asked.questions, withdrawn: true }, 'The questions were withdrawn.')
  if ('timed_out' in arrived) {
    const { answers, blocked } = defaultAnswers(asked)
    if (blocked.length > 0) return unanswered({ unanswered: blocked }, 'Time ran out.')
    return weigh(progress, { asked, answers, pack: null }, ports)
  }
  const reading = readAnswers(arrived.answer_pack, asked)
  if (reading.taken) return weigh(progress, { asked, answers: reading.answers, pack: reading.pack }, ports)
  const { problems } = reading
  const guards = readGuards(answerGuards, { ...nothingWrong, problems, returns: ledger.returns })
  const refused = [...ledger.refused, { arrived: ledger.read, problems, guards }]
  const message = `Refused: ${problems.map((problem) => problem.message).join(' ')}`
  return {
    stays: true,
    ledger: { ...ledger, read, refused },
    audit: [noted('answer_received', 'warning', message, refs)],
  }
}

interface Round {
  readonly asked: QuestionPack
  readonly answers: readonly AcceptedAnswer[]
  /** Null: time ran out and the answers are the defaults. */
  readonly pack: AnswerPack | null
}

function weigh(progress: Progress, { asked, answers, pack }: Round, ports: Ports): Outcome {
  const { ledger, artifacts } = progress
  const { given, governed } = standingOf(progress, ports)
  const round = artifacts.rule_decisions.length + 1
  const fresh = answersInForce(asked.questions, answers)
  const before = artifacts.rule_decisions.at(-1)?.decisions ?? []
  const after = adjudicate({ steps: given.steps, inForce: [...governed.inForce, ...fresh], round }, given, ports)
  const isNewlyRefused = (decision: RuleDecision) =>
    !passes(decision) && before.some((earlier) => earlier.step_id === decision.step_id && passes(earlier))
  const newly = after.decisions.filter(isNewlyRefused)
  const compared = { fresh, standing: governed.inForce, round: ledger.returns + 1 }
  const conflicts = newly.flatMap((decision) => conflictsOver(decision, compared, given, ports))
  const all = [...ledger.conflicts, ...conflicts]
  const facts = { ...nothingWrong, conflicts, all, returns: ledger.returns }
  const judged = judge(answerGuards, facts, conflicts.length === 0 ? 'answers_received' : 'answer_conflicts')

  const guilty = new Set(conflicts.map(({ question_id }) => question_id))
  const standing = answers.filter(({ question_id }) => !guilty.has(question_id))
  const refs = [asked.pack_id]
  const message = pack === null ? 'Time ran out; the defaults stand.' : `${answers.length} answers arrived.`
  const isResolved = conflicts.length === 0 && ledger.conflicts.length > 0
  const resolved = noted('conflict_resolved', 'info', 'The rules let the new answers stand.', refs)
  const taken: Produced[] = pack === null ? [] : [{ type: 'answer_pack', artifact: pack }]
  const artifact = decisionsOf(progress.run_id, round, after.decisions, ports)
  return {
    ...judged,
    ...(conflicts.length > 0
      ? { produced: taken }
      : { produced: [...taken, { type: 'rule_decisions', artifact }], evaluations: after.evaluations }),
    ledger: {
      ...ledger,
      read: ledger.read + 1,
      accepted: [...ledger.accepted, ...standing],
      conflicts: all,
      returns: ledger.returns + (judged.trigger === 'answer_conflicts' ? 1 : 0),
    },
    audit: [
      noted('answer_received', 'info', message, refs),
      ...conflicts.map((one) => noted('conflict_detected', 'warning', clash(one), [one.question_id, one.step_id])),
      ...(isResolved ? [resolved] : []),
    ],
  }
}

/** How often answers may send a plan back to the rules. The next conflict blocks the plan. */
const conflictLimit = 3

interface AnswerFacts {
  /** The reasons to refuse the pack. With any of them the coordination does not move. */
  readonly problems: readonly Problem[]
  /** Questions that get no answer. */
  readonly unanswered: readonly Question[]
  readonly withdrawn: boolean
  /** Conflicts of these answers with the rules, and of all rounds so far. */
  readonly conflicts: readonly AnswerConflict[]
  readonly all: readonly AnswerConflict[]
  readonly returns: number
}

const nothingWrong = { problems: [], unanswered: [], withdrawn: false, conflicts: [], all: [] }

/** The guards of AWAITING_ANSWERS. */
// biome-ignore format: tables are audited by eye
export const answerGuards: GuardTable<AnswerFacts> = [
  ['answers_fit_schema', ({ problems }) =>
    unlessProblems(problems.filter((problem) => !isMissing(problem)), 'The answers have their shape and fit the questions.')],

  ['critical_questions_answered', ({ problems, unanswered }) => unless(
    [...problems.filter(isMissing).map(({ message }) => message), ...unanswered.map(({ key }) => key)],
    'Every question is answered.',
    'Not answered, and no default stands in'),
    ['timed_out', 'No answer came in time, and not every question has a default.', 'timeout_no_fallback',
      ({ unanswered, withdrawn }) => (withdrawn ? [] : unanswered).map(({ key, question_id, default_strategy: { explanation } }) =>
        ({ code: 'timed_out', message: `${key} has no answer. ${explanation}`, refs: [question_id] }))],
    ['questions_withdrawn', 'The questions were withdrawn: what the plan was for is over.', 'timeout_no_fallback',
      ({ unanswered, withdrawn }) => (withdrawn ? unanswered : []).map(({ key, question_id }) =>
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

type Compared = Readonly<Record<'fresh' | 'standing', readonly AnswerInForce[]>> & { readonly round: number }

/** Fresh answers because of which the rules refuse a step. Each is tried alone; if none is at fault alone, all are. */
function conflictsOver({ step_id, reason }: RuleDecision, compared: Compared, given: Given, ports: Ports) {
  const { fresh, standing, round } = compared
  const steps = given.steps.filter((step) => step.step_id === step_id)
  const touching = fresh.filter(({ question }) => bearsOn(question, step_id))
  const alone = touching.filter((answer) => {
    const { decisions } = adjudicate({ steps, inForce: [...standing, answer], round }, given, ports)
    return decisions.some((tried) => !passes(tried))
  })
  return (alone.length > 0 ? alone : touching).map(({ question: { question_id, key }, value }): AnswerConflict => {
    return { round, question_id, key, value, step_id, reason }
  })
}

const passes = ({ decision }: RuleDecision): boolean => decision !== 'deny' && decision !== null
