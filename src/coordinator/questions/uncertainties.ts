import type { Sha256 } from '../../kernel/digest.ts'
import { idOf } from '../checksum.ts'
import type { Given, PlannedStep } from '../given.ts'
import { blockingLevels, type OpenQuestion, type Question } from '../schemas/questions.ts'

/**
 * The open questions of the plan, most pressing first: those of the intent, those of its commands, evidence that cannot be
 * found, and changes without a rollback.
 */
export function uncertaintiesOf(
  { intent, context, steps }: Given,
  run_id: string,
  sha256: Sha256,
): readonly Question[] {
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
