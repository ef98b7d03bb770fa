import type { Sha256 } from '../../kernel/digest.ts'
import { idOf } from '../checksum.ts'
import { type Given, givenOf, type PlannedStep } from '../given.ts'
import type { AcceptedAnswer, AnswerLedger, Ports, Progress } from '../progress.ts'
import type { Settled } from '../rules/adjudicate.ts'
import type { RuleDecision } from '../schemas/judgement.ts'
import { blockingLevels, type OpenQuestion, type Question } from '../schemas/questions.ts'

/** What becomes of the open questions under the mode, the policy and the budget. */
export interface Governed {
  /** To be put to someone, most pressing first. */
  readonly ask: readonly Question[]
  /** May not or cannot be asked; their default stands in. */
  readonly settled: readonly Settled[]
  /** May not be asked, and no default stands in. */
  readonly stuck: readonly Question[]
  /** Would be asked, but do not fit the budget and cannot do without an answer. */
  readonly overflow: readonly Question[]
}

function govern(questions: readonly Question[], given: Given, ledger: AnswerLedger): Governed {
  const answered = new Map(ledger.accepted.map((answer) => [answer.question_id, answer]))
  const open = questions.filter(({ question_id }) => !answered.has(question_id))
  const askable = open.filter((question) => mayAsk(question, given))
  const barred = open.filter((question) => !askable.includes(question))

  // A question that comes back after a conflict has been paid for already.
  const fresh = askable.filter(({ question_id }) => !ledger.asked.includes(question_id))
  const room = given.context.effective.question_budget - ledger.asked.length
  const ask = askable.filter((question) => !fresh.slice(room).includes(question))
  const unasked = askable.filter((question) => !ask.includes(question))

  const { auto_fallback } = given.policy
  const canDefault = (question: Question) => auto_fallback && question.default_strategy.action === 'use'
  const overflow = unasked.filter((question) => question.blocking_level === 'critical' || !canDefault(question))
  return {
    ask,
    settled: [
      ...questions.flatMap((question) => settledBy(question, answered.get(question.question_id))),
      ...barred.filter(canDefault).flatMap(byPolicy),
      ...unasked.filter((question) => !overflow.includes(question)).flatMap(byPolicy),
    ],
    stuck: barred.filter((question) => !canDefault(question)),
    overflow,
  }
}

/** Red line 2: in full_auto the answer is always no, whatever the budget says. */
export function mayAsk({ type }: Question, { context, policy }: Given): boolean {
  const { mode, question_budget, question_policy } = context.effective
  if (mode === 'full_auto' || question_budget === 0 || question_policy === 'never') return false
  if (!policy.question_rules.allowed_types.includes(type)) return false
  return type === 'blocker' || (mode === 'interactive' && question_policy !== 'blockers_only')
}

function settledBy(question: Question, answer: AcceptedAnswer | undefined): Settled[] {
  return answer === undefined
    ? []
    : [{ question, answer_type: answer.answer_type, value: answer.value, provided_by: answer.provided_by }]
}

function byPolicy(question: Question): Settled[] {
  const { default_strategy: fallback } = question
  if (fallback.action !== 'use') return []
  return [{ question, answer_type: 'choice', value: fallback.value, provided_by: 'policy_default' }]
}

/** The inputs, the questions, and how each question is handled. */
interface Standing {
  readonly given: Given
  readonly governed: Governed
  readonly questions: readonly Question[]
}

/**
 * Where the questions stand now. What only concerns steps that were denied is not asked any more. A default that is in
 * force stays so: it may be why the rules deny the step, and they would allow it without.
 */
export function standingOf(progress: Progress, { sha256 }: Ports): Standing {
  const given = givenOf(progress)
  const denied = deniedSteps(progress.artifacts.rule_decisions.at(-1)?.decisions ?? [])
  const questions = uncertaintiesOf(given, progress.run_id, sha256)
  const isOpen = ({ impact: { affected_steps } }: Question) =>
    affected_steps.length === 0 || affected_steps.some((step) => !denied.has(step))
  const { ask, stuck, overflow, settled } = govern(questions, given, progress.ledger)
  const governed = {
    ask: ask.filter(isOpen),
    stuck: stuck.filter(isOpen),
    overflow: overflow.filter(isOpen),
    settled,
  }
  return { given, governed, questions }
}

function deniedSteps(decisions: readonly RuleDecision[]): ReadonlySet<string> {
  return new Set(decisions.filter(({ decision }) => decision === 'deny').map(({ step_id }) => step_id))
}

/**
 * The open questions of the plan, most pressing first: those of the intent, those of its commands, evidence that cannot be
 * found, and changes without a rollback.
 */
function uncertaintiesOf({ intent, context, steps }: Given, run_id: string, sha256: Sha256): readonly Question[] {
  const all = steps.map(({ step_id }) => step_id)
  const evidence = new Set([
    ...intent.evidence_refs,
    ...context.fact_pack.evidence.map(({ id }) => id),
    ...context.memory_context.memories.map(({ id }) => id),
  ])
  const ask = (open: OpenQuestion, affected: readonly string[], evidence_refs: readonly string[]): Question => ({
    question_id: idOf('q', [run_id, open.key, affected], sha256),
    key: open.key,
    type: open.type,
    blocking_level: open.blocking_level,
    question_text: open.question_text,
    context: open.context,
    evidence_refs: [...evidence_refs],
    suggested_answers: open.suggested_answers,
    default_strategy: open.default_strategy,
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
  return blockingLevels.flatMap((level) => asked.filter(({ blocking_level }) => blocking_level === level))
}

function changesThings({ effects, command }: PlannedStep): boolean {
  return (
    command.irreversible || effects.some((effect) => effect === 'write' || effect === 'deploy' || effect === 'data')
  )
}

function registryEvidence({ command }: PlannedStep): string[] {
  return [`registry:command/${command.id}@${command.version}`]
}

function impactOf(affected: readonly string[], all: readonly string[]): Question['impact'] {
  const scope =
    affected.length === all.length && all.length > 1
      ? 'entire_plan'
      : affected.length === 1
        ? 'single_action'
        : 'several_actions'
  return {
    scope,
    description:
      scope === 'entire_plan' ? 'It bears on the whole plan.' : `It bears on ${affected.join(', ') || 'no step'}.`,
    affected_steps: [...affected],
  }
}

function evidenceNotFound({ step_id }: PlannedStep, lost: readonly string[]): OpenQuestion {
  return {
    key: 'evidence_not_found',
    type: 'clarification',
    blocking_level: 'medium',
    question_text: `Should ${step_id} stay in the plan although its evidence cannot be found?`,
    context: `Neither the intent nor the facts nor the memory knows ${lost.join(', ')}.`,
    suggested_answers: [
      {
        value: 'review',
        answer_text: 'Keep it, and have it reviewed.',
        rationale: 'A person looks before it runs.',
        effect: { review_steps: [step_id] },
      },
      { value: 'keep', answer_text: 'Keep it.', rationale: 'The evidence is known elsewhere.' },
      {
        value: 'drop',
        answer_text: 'Leave it out.',
        rationale: 'Nothing supports it.',
        effect: { drop_steps: [step_id] },
      },
    ],
    default_strategy: { action: 'use', value: 'review', explanation: 'A person looks at it before it runs.' },
  }
}

function noWayBack({ step_id, command }: PlannedStep): OpenQuestion {
  return {
    key: 'no_way_back',
    type: 'risk_mitigation',
    blocking_level: command.irreversible ? 'high' : 'medium',
    question_text: `The registry does not say how to undo ${step_id}. Should it be planned?`,
    context: `${command.id} ${command.version} changes things, and the registry has no rollback for it.`,
    suggested_answers: [
      {
        value: 'review',
        answer_text: 'Yes, after a review.',
        rationale: 'A person weighs it before it runs.',
        effect: { review_steps: [step_id] },
      },
      { value: 'keep', answer_text: 'Yes.', rationale: 'The way back is known to those who run it.' },
      {
        value: 'drop',
        answer_text: 'No, leave it out.',
        rationale: 'What cannot be undone is not done.',
        effect: { drop_steps: [step_id] },
      },
    ],
    default_strategy: { action: 'use', value: 'review', explanation: 'A person weighs it before it runs.' },
  }
}
