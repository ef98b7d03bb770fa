import { coordinate } from '../../src/coordinator/coordinate.ts'
import { type FrozenFiles, freeze } from '../../src/coordinator/outputs/freeze.ts'
import type { AnswerRound, CoordinationInput } from '../../src/coordinator/progress.ts'
import type { QuestionPack } from '../../src/coordinator/schemas/questions.ts'
import type { Json } from '../../src/kernel/json.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import { say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { answering, inputOf, intentOf, openQuestion, ports, rule, rulesOnly } from './coordinator.ts'
import { createWorld, type WorldOptions } from './world.ts'

export const bystander = agent({ role: 'bystander', model: scriptedModel([say('hello')]) })

/** A world whose agents have nothing to do with the plans in it. */
export function planWorld(options: Partial<WorldOptions> = {}) {
  return createWorld({ agents: { bystander }, ...options })
}

/** Rules that do not let the scan go to production. */
export const noProduction = rulesOnly(
  rule('rule_ok', 'allow', 'context.risk >= 0'),
  rule('rule_no_production', 'deny', 'context.answers.contains("target=production")'),
)

/** One question, whose answer `production` is against the rules and `staging` is not. */
export const whereTo = openQuestion('target', {
  affects_steps: ['cmd_scan'],
  suggested_answers: [
    { value: 'production', answer_text: 'Production.', rationale: 'It is real.' },
    { value: 'staging', answer_text: 'Staging.', rationale: 'It is safe.' },
  ],
  default_strategy: { action: 'use', value: 'staging', explanation: 'Staging is safe.' },
})

export const asking = (...questions: readonly Json[]) =>
  inputOf({
    intent: intentOf((i) => ({ ...i, open_questions: [...questions] })),
    registry: noProduction,
  })

export const forbidden = inputOf({ intent: intentOf((i) => ({ ...i, shell: 'rm' })) })

export const exampleRegistry = 'examples/plans/registry'

/** A small intent for the registry of the examples. */
export function exampleIntent(more: Readonly<Record<string, Json>> = {}): Readonly<Record<string, Json>> {
  const command = {
    command_id: 'cmd_read_code',
    intent: 'Read.',
    effects: ['read'],
    risk_level: 'low',
    evidence_refs: ['ev1'],
  }
  return intentOf((i) => ({
    ...i,
    selected_workflows: [{ workflow_id: 'wf_audit', phases: ['analysis'] }],
    selected_agents: [{ agent_id: 'agent_reader', role: 'reader', responsibilities: ['Read.'] }],
    planned_commands: [command],
    ...more,
  })) as Readonly<Record<string, Json>>
}

/** The same with a question: `which`, answered with `go` or `stop`. */
export const exampleQuestion = exampleIntent({ open_questions: [openQuestion('which')] })

export function packFor(asked: QuestionPack | null | undefined, choices: Readonly<Record<string, string>>): Json {
  return (answering(asked ?? null, choices) as { answer_pack: Json }).answer_pack
}

/** The result of the Coordinator when it has all inputs from the start. */
export function allAtOnce(input: CoordinationInput, rounds: readonly AnswerRound[] = []): FrozenFiles {
  return freeze(coordinate(input, rounds, ports), input, ports)
}
