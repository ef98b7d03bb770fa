import type { Sha256 } from '../../kernel/digest.ts'
import { idOf } from '../checksum.ts'
import { type Given, givenOf, type PlannedStep } from '../given.ts'
import type { AcceptedAnswer, AnswerLedger, Ports, Progress } from '../progress.ts'
import type { AnswerInForce } from '../rules/adjudicate.ts'
import { blockingLevel, type OpenQuestion, type Question } from '../schemas/questions.ts'

/** The questions, grouped by the limits of mode, policy and budget. */
export interface Governed {
  /** The questions to ask, most pressing first. */
  readonly ask: readonly Question[]
  /** Answers given, and the defaults of questions that may not be asked. */
  readonly inForce: readonly AnswerInForce[]
  /** Questions that may not be asked and have no usable default. */
  readonly stuck: readonly Question[]
  /** Questions that may be asked, exceed the budget and need an answer. */
  readonly overflow: readonly Question[]
}

function govern(questions: readonly Question[], given: Given, ledger: AnswerLedger): Governed {
  const open = questions.filter(({ question_id }) => !ledger.accepted.some((one) => one.question_id === question_id))
  const askable = open.filter((question) => mayAsk(question, given))
  const barred = open.filter((question) => !askable.includes(question))

  // A question that is asked again after a conflict does not count twice.
  const fresh = askable.filter(({ question_id }) => !ledger.asked.includes(question_id))
  const room = given.context.effective.question_budget - ledger.asked.length
  const ask = askable.filter((question) => !fresh.slice(room).includes(question))
  const unasked = askable.filter((question) => !ask.includes(question))

  const { auto_fallback } = given.policy
  const canDefault = (question: Question) => auto_fallback && question.default_strategy.action === 'use'
  const overflow = unasked.filter((question) => question.blocking_level === 'critical' || !canDefault(question))
  return {
    ask,
    inForce: [
      ...answersInForce(questions, ledger.accepted),
      ...barred.filter(canDefault).flatMap(byPolicy),
      ...unasked.filter((question) => !overflow.includes(question)).flatMap(byPolicy),
    ],
    stuck: barred.filter((question) => !canDefault(question)),
    overflow,
  }
}

/** Whether mode, policy and budget allow the question. Red line 2: never in full_auto. */
export function mayAsk({ type }: Question, { context, policy }: Given): boolean {
  const { mode, question_budget, question_policy } = context.effective
  if (mode === 'full_auto' || question_budget === 0 || question_policy === 'never') return false
  if (!policy.question_rules.allowed_types.includes(type)) return false
  return type === 'blocker' || (mode === 'interactive' && question_policy !== 'blockers_only')
}

/** Each answered question with its answer, in the order of the questions. */
export function answersInForce(
  questions: readonly Question[],
  answers: readonly AcceptedAnswer[],
): readonly AnswerInForce[] {
  return questions.flatMap((question) => {
    const found = answers.find(({ question_id }) => question_id === question.question_id)
    if (found === undefined) return []
    const { answer_type, value, provided_by } = found
    return [{ question, answer_type, value, provided_by }]
  })
}

function byPolicy(question: Question): AnswerInForce[] {
  const { default_strategy: fallback } = question
  if (fallback.action !== 'use') return []
  return [{ question, answer_type: 'choice', value: fallback.value, provided_by: 'policy_default' }]
}

/** Governs the open questions. Questions about denied steps are not asked; their defaults stay in force. */
export function standingOf(progress: Progress, { sha256 }: Ports): { given: Given; governed: Governed } {
  const given = givenOf(progress)
  const decisions = progress.artifacts.rule_decisions.at(-1)?.decisions ?? []
  const isDenied = (step: string) => decisions.some(({ step_id, decision }) => step_id === step && decision === 'deny')
  const isOpen = ({ impact: { affected_steps } }: Question) =>
    affected_steps.length === 0 || !affected_steps.every(isDenied)
  const questions = uncertaintiesOf(given, progress.run_id, sha256)
  const { ask, stuck, overflow, inForce } = govern(questions, given, progress.ledger)
  const governed = { ask: ask.filter(isOpen), stuck: stuck.filter(isOpen), overflow: overflow.filter(isOpen), inForce }
  return { given, governed }
}

/** The open questions, most pressing first: of the intent, its commands, lost evidence, changes without a rollback. */
function uncertaintiesOf({ intent, context, steps }: Given, run_id: string, sha256: Sha256): readonly Question[] {
  const all = steps.map(({ step_id }) => step_id)
  const evidence = new Set([
    ...intent.evidence_refs,
    ...context.fact_pack.evidence.map(({ id }) => id),
    ...context.memory_context.memories.map(({ id }) => id),
  ])
  const ask = (open: OpenQuestion, affected: readonly string[], evidence_refs: readonly string[]): Question => ({
    question_id: idOf('q', [run_id, open.key, affected], sha256),
    ...open,
    evidence_refs: [...evidence_refs],
    impact: impactOf(affected, all),
  })
  const asked = [
    ...(intent.open_questions ?? []).map(({ evidence_refs, affects_steps, ...open }) =>
      ask(open, affects_steps ?? all, evidence_refs),
    ),
    ...steps.flatMap((step) => step.command.asks.map((open) => ask(open, [step.step_id], registryEvidence(step)))),
    ...steps.flatMap((step) => {
      const lost = step.planned.evidence_refs.filter((ref) => !evidence.has(ref))
      return lost.length === 0 ? [] : [ask(evidenceNotFound(step, lost), [step.step_id], lost)]
    }),
    ...steps.flatMap((step) =>
      changesThings(step) && step.command.rollback === undefined
        ? [ask(noWayBack(step), [step.step_id], registryEvidence(step))]
        : [],
    ),
  ]
  return blockingLevel.options.flatMap((level) => asked.filter(({ blocking_level }) => blocking_level === level))
}

function changesThings({ effects, command }: PlannedStep): boolean {
  return command.irreversible || (['write', 'deploy', 'data'] as const).some((effect) => effects.includes(effect))
}

function registryEvidence({ command }: PlannedStep): string[] {
  return [`registry:command/${command.id}@${command.version}`]
}

function impactOf(affected: readonly string[], all: readonly string[]): Question['impact'] {
  const affected_steps = [...affected]
  if (affected.length === all.length && all.length > 1)
    return { scope: 'entire_plan', description: 'It bears on the whole plan.', affected_steps }
  const scope = affected.length === 1 ? 'single_action' : 'several_actions'
  return { scope, description: `It bears on ${affected.join(', ') || 'no step'}.`, affected_steps }
}

function evidenceNotFound({ step_id }: PlannedStep, lost: readonly string[]): OpenQuestion {
  return {
    key: 'evidence_not_found',
    type: 'clarification',
    blocking_level: 'medium',
    question_text: `Should ${step_id} stay in the plan although its evidence cannot be found?`,
    context: `Neither the intent nor the facts nor the memory knows ${lost.join(', ')}.`,
    ...keepOrDrop(step_id, {
      review: ['Keep it, and have it reviewed.', 'A person looks before it runs.'],
      keep: ['Keep it.', 'The evidence is known elsewhere.'],
      drop: ['Leave it out.', 'Nothing supports it.'],
      explanation: 'A person looks at it before it runs.',
    }),
  }
}

function noWayBack({ step_id, command }: PlannedStep): OpenQuestion {
  const weighed = 'A person weighs it before it runs.'
  return {
    key: 'no_way_back',
    type: 'risk_mitigation',
    blocking_level: command.irreversible ? 'high' : 'medium',
    question_text: `The registry does not say how to undo ${step_id}. Should it be planned?`,
    context: `${command.id} ${command.version} changes things, and the registry has no rollback for it.`,
    ...keepOrDrop(step_id, {
      review: ['Yes, after a review.', weighed],
      keep: ['Yes.', 'The way back is known to those who run it.'],
      drop: ['No, leave it out.', 'What cannot be undone is not done.'],
      explanation: weighed,
    }),
  }
}

type Wording = readonly [answer_text: string, rationale: string]
type Wordings = Readonly<Record<'review' | 'keep' | 'drop', Wording>> & { readonly explanation: string }

/** The suggested answers to whether a step stays in the plan. The default is a review by a person. */
function keepOrDrop(step_id: string, { explanation, ...wordings }: Wordings) {
  const answer = <V extends keyof typeof wordings>(value: V) => {
    const [answer_text, rationale] = wordings[value]
    return { value, answer_text, rationale }
  }
  return {
    suggested_answers: [
      { ...answer('review'), effect: { review_steps: [step_id] } },
      answer('keep'),
      { ...answer('drop'), effect: { drop_steps: [step_id] } },
    ],
    default_strategy: { action: 'use' as const, value: 'review', explanation },
  }
}
