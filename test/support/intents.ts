import fc from 'fast-check'
import type { AnswerRound, CoordinationInput } from '../../src/coordinator/progress.ts'
import type { Json } from '../../src/kernel/json.ts'
import {
  answering,
  facts,
  intentOf,
  interactionOf,
  memory,
  openQuestion,
  plan,
  planned,
  registryOf,
} from './coordinator.ts'

const registry = registryOf()
const risks = ['low', 'medium', 'high', 'critical']
const text = fc.string({ unit: 'grapheme', minLength: 5, maxLength: 60 }).filter((s) => s.isWellFormed())

const step = fc.record({
  command_id: fc.constantFrom('cmd_read', 'cmd_scan', 'cmd_write', 'cmd_deploy'),
  effects: fc.subarray(['read', 'write', 'network', 'deploy', 'security', 'data'], { minLength: 1 }),
  risk_level: fc.constantFrom(...risks),
  evidence_refs: fc.array(fc.constantFrom('ev1', 'ticket_17', 'ev404'), { maxLength: 3 }),
  intent: text,
  after: fc.option(fc.nat(5), { nil: undefined }),
})

const question = fc.record({
  type: fc.constantFrom('clarification', 'blocker', 'optimization', 'risk_mitigation'),
  blocking_level: fc.constantFrom('critical', 'high', 'medium', 'low'),
  default_strategy: fc.constantFrom<Json>(
    { action: 'use', value: 'go', explanation: 'Go.' },
    { action: 'block', explanation: 'Stop.' },
  ),
  question_text: fc.string({ unit: 'grapheme', minLength: 10, maxLength: 80 }).filter((s) => s.isWellFormed()),
})

/** Intents of every kind that have the right shape: plain ones, risky ones, ones that ask, ones that run in circles. */
export const anyInput: fc.Arbitrary<CoordinationInput> = fc
  .record({
    steps: fc.array(step, { maxLength: 8 }),
    questions: fc.array(question, { maxLength: 4 }),
    mode: fc.constantFrom('interactive', 'semi_auto', 'full_auto'),
    policyMode: fc.constantFrom('interactive', 'semi_auto', 'full_auto'),
    budget: fc.nat(5),
    overall: fc.constantFrom(...risks),
    review: fc.subarray(['security', 'data', 'release', 'architecture', 'cost', 'compliance'], { minLength: 1 }),
    phases: fc.subarray(['analysis', 'implementation', 'release'], { minLength: 1 }),
    max_tokens: fc.constantFrom(0, 5000, 100_000),
    goal: text,
    payload: fc.constantFrom<{ [key: string]: Json }>(
      {},
      {},
      {},
      { metadata: { note: 'execute' } },
      { metadata: { script: 'x' } },
    ),
  })
  .map((g) => ({
    registry,
    memory,
    facts,
    policy: { schema_version: '1.0.0', mode: g.policyMode },
    intent: intentOf((i) => ({
      ...i,
      ...g.payload,
      objective: { goal: g.goal, success_criteria: [g.goal], non_goals: [] },
      selected_workflows: [{ workflow_id: 'wf_change', phases: g.phases }],
      planned_commands: g.steps.map(({ after, command_id, ...more }, n) =>
        planned(command_id, {
          ...more,
          step_id: `step_${n}`,
          ...(after === undefined ? {} : { depends_on: [`step_${after % g.steps.length}`] }),
        }),
      ),
      open_questions: g.questions.map((more, n) => openQuestion(`open_${n}`, more)),
      interaction: interactionOf(g.mode, g.budget),
      risk: { overall: g.overall, drivers: [g.goal], requires_review: g.review },
      budgets: { max_files: 500, max_commits: 50, max_tokens: g.max_tokens, max_cost_usd: 100 },
    })),
  }))

/** Answers until it ends: at each pack the value that the choice points to, or a timeout. */
export function answersFor(input: CoordinationInput, choices: readonly number[]): readonly AnswerRound[] {
  const rounds: AnswerRound[] = []
  for (const choice of choices) {
    const { waits_for } = plan(input, rounds)
    if (waits_for === null) break
    if (choice === 0) rounds.push({ timed_out: true })
    else
      rounds.push(
        answering(
          waits_for,
          Object.fromEntries(
            waits_for.questions.map(({ key, suggested_answers }) => [
              key,
              suggested_answers[choice % suggested_answers.length]?.value ?? '',
            ]),
          ),
        ),
      )
  }
  return rounds
}

/** The same value with the members of every object in another order. */
export function shuffled(value: Json, turn: number): Json {
  if (Array.isArray(value)) return value.map((item: Json) => shuffled(item, turn + 1))
  if (value === null || typeof value !== 'object') return value
  const entries = Object.entries(value)
  const at = entries.length === 0 ? 0 : turn % entries.length
  const turned = [...entries.slice(at), ...entries.slice(0, at)].reverse()
  return Object.fromEntries(turned.map(([key, member]) => [key, shuffled(member, turn + key.length)]))
}
