import * as z from 'zod'
import { keyProblems, openQuestion } from './questions.ts'
import * as s from './scalars.ts'

/** The version of this shape. */
export const intentSchemaVersion = '0.9.1'

const noLocks = 'must be { mode: none, paths: [] } or left out: no part of Statewright takes locks on files or tasks'

/** Pins the content that the author saw. The precheck reports later changes. */
const pin = { version: s.semver.optional(), checksum: s.sha256Hex.optional() }

const selectedWorkflow = z.strictObject({
  workflow_id: s.contentId,
  ...pin,
  phases: z.array(s.phaseName).min(1).max(12),
  reason: s.sentence.optional(),
})

const selectedAgent = z.strictObject({
  agent_id: s.contentId,
  ...pin,
  role: s.contentId,
  responsibilities: z.array(s.sentence).min(1).max(12),
})

const plannedCommand = z.strictObject({
  command_id: s.contentId,
  ...pin,
  /** The name of this use of the command within the intent. Default: the command's id. */
  step_id: s.contentId.optional(),
  intent: s.sentence,
  effects: z.array(s.effect).min(1).max(6),
  risk_level: s.riskLevel,
  /** May be empty here: red line 4 is checked when the graph is drafted, and names the node. */
  evidence_refs: z.array(s.evidenceRef).max(30),
  workflow_id: s.contentId.optional(),
  phase: s.phaseName.optional(),
  agent_id: s.contentId.optional(),
  depends_on: z.array(s.contentId).max(30).optional(),
  /** The step is taken only if this holds, as the executor of the plan decides: `rule:` and an expression, or words. */
  condition: s.sentence.optional(),
})

/** A proposal. It carries nothing to execute; unknown keys, in which that might hide, are refused. */
export const executionIntent = z
  .strictObject({
    id: z.string().regex(/^intent_[a-z0-9_]{6,64}$/, 'must be intent_ and 6 to 64 of a-z, 0-9, _'),
    type: z.literal('execution_intent'),
    title: z.string().min(5).max(160),
    description: s.sentence.optional(),
    version: s.semver,
    status: z.enum(['draft', 'proposed', 'approved', 'rejected', 'superseded']),
    created_at: s.timestamp,
    lineage: z.strictObject({
      introduced_in: s.semver,
      derived_from: z.array(z.string()).max(16),
      supersedes: z.array(z.string()).max(16),
    }),
    scope: z.strictObject({
      project_id: z.string().min(1),
      repo_root: z.string().min(1),
      targets: z.strictObject({
        files: z.array(z.string().min(1)).max(200),
        modules: z.array(z.string().min(1)).max(100),
        areas: z.array(s.area),
      }),
    }),
    objective: z.strictObject({
      goal: s.sentence,
      success_criteria: z.array(s.sentence).min(1).max(20),
      non_goals: z.array(s.sentence).max(20),
    }),
    selected_workflows: z.array(selectedWorkflow).min(1).max(18),
    selected_agents: z.array(selectedAgent).min(1).max(13),
    planned_commands: z.array(plannedCommand).max(80),
    /** Rules whose presence the author relies on. Every active rule applies, named here or not. */
    required_rules: s
      .listOf({ rule_id: s.contentId, ...pin })
      .max(200)
      .optional(),
    open_questions: z
      .array(
        openQuestion.safeExtend({
          evidence_refs: z.array(s.evidenceRef).max(30),
          /** The steps that the answer affects. Default: the whole plan. */
          affects_steps: z.array(s.contentId).max(80).optional(),
        }),
      )
      .max(50)
      .optional(),
    interaction: z.strictObject({
      mode: s.mode,
      question_budget: z.int().min(0).max(50),
      /** `conceptual_only` allows every type; the Coordinator has no questions about how to carry things out. */
      question_policy: z.enum(['conceptual_only', 'blockers_only', 'never']),
    }),
    risk: z.strictObject({
      overall: s.riskLevel,
      drivers: z.array(s.sentence).min(1).max(20),
      requires_review: z.array(s.reviewCategory),
    }),
    budgets: z.strictObject({
      max_files: z.int().min(0).max(500),
      max_commits: z.int().min(0).max(50),
      max_tokens: z.int().min(0).max(2_000_000),
      max_cost_usd: z.number().min(0).max(10_000),
    }),
    evidence_refs: z.array(s.evidenceRef).min(1).max(200),
    constraints: z.strictObject({
      execution: z.literal('forbidden'),
      no_fabrication: z.literal(true),
      registry_only: z.literal(true),
      /** Part of version 0.9.1. The Coordinator takes no locks, so it accepts only the value that asks for none. */
      lock_scope: z
        .strictObject({ mode: z.literal('none', noLocks), paths: z.array(z.string()).max(0, noLocks) })
        .optional(),
    }),
    audit: z.strictObject({
      created_by: z.string().min(1),
      source: z.enum(['human', 'statewright', 'imported']),
      checksum: s.sha256Hex,
    }),
    metadata: z.record(z.string(), z.json()).optional(),
  })
  .superRefine((intent, issues) => {
    const steps = intent.planned_commands.map(stepOf)
    const workflows = intent.selected_workflows.map((workflow) => workflow.workflow_id)
    const agents = intent.selected_agents.map((agent) => agent.agent_id)
    const say = (path: (string | number)[], message: string) => issues.addIssue({ code: 'custom', path, message })

    steps.forEach((step, i) => {
      const first = steps.indexOf(step)
      if (first < i)
        say(['planned_commands', i], `repeats the step ${step} of [${first}]; give it a step_id of its own`)
    })
    const phases = intent.selected_workflows.flatMap((workflow) => workflow.phases)
    intent.planned_commands.forEach(({ depends_on = [], agent_id, workflow_id, phase }, i) => {
      const at = (field: string, message: string) => say(['planned_commands', i, field], message)
      for (const before of depends_on) if (!steps.includes(before)) at('depends_on', `there is no step ${before}`)
      if (agent_id !== undefined && !agents.includes(agent_id)) at('agent_id', `${agent_id} is not a selected agent`)
      if (workflow_id !== undefined && !workflows.includes(workflow_id))
        at('workflow_id', `${workflow_id} is not a selected workflow`)
      if (phase !== undefined && !phases.includes(phase)) at('phase', `no selected workflow has the phase ${phase}`)
    })
    intent.open_questions?.forEach((question, i) => {
      for (const step of question.affects_steps ?? [])
        if (!steps.includes(step)) say(['open_questions', i, 'affects_steps'], `there is no step ${step}`)
      question.suggested_answers.forEach(({ effect = {} }, n) => {
        const { drop_steps = [], review_steps = [], set_risk = {} } = effect
        for (const [field, named] of Object.entries({ drop_steps, review_steps, set_risk: Object.keys(set_risk) }))
          for (const step of named)
            if (!steps.includes(step))
              say(['open_questions', i, 'suggested_answers', n, 'effect', field], `there is no step ${step}`)
      })
    })
    for (const { at, problem } of keyProblems(intent.open_questions ?? [])) say(['open_questions', at, 'key'], problem)
    for (const [field, ids] of Object.entries({ selected_workflows: workflows, selected_agents: agents }))
      ids.forEach((id, i) => {
        if (ids.indexOf(id) < i) say([field, i], `selects ${id}, as [${ids.indexOf(id)}] does`)
      })

    if (intent.status === 'rejected' || intent.status === 'superseded')
      say(['status'], `is ${intent.status}; only an intent that is draft, proposed or approved is planned`)

    const { mode, question_budget, question_policy } = intent.interaction
    if (mode === 'full_auto' && question_budget !== 0)
      say(['interaction', 'question_budget'], 'must be 0 in full_auto, which never asks')
    if (mode === 'full_auto' && question_policy !== 'never')
      say(['interaction', 'question_policy'], 'must be never in full_auto, which never asks')
    const changes = intent.planned_commands.some((c) => c.effects.includes('write') || c.effects.includes('deploy'))
    if (changes && intent.risk.requires_review.length === 0)
      say(['risk', 'requires_review'], 'must name a review category, since a planned command writes or deploys')
  })

/** See `executionIntent`. */
export type ExecutionIntent = z.infer<typeof executionIntent>
/** A command that the intent plans. */
export type PlannedCommand = ExecutionIntent['planned_commands'][number]

/** The id of a planned command: its `step_id`, else its `command_id`. */
export function stepOf(command: { readonly step_id?: string | undefined; readonly command_id: string }): string {
  return command.step_id ?? command.command_id
}
