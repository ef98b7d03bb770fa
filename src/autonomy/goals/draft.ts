import * as z from 'zod'
import { sealIntent } from '../../coordinator/checksum.ts'
import { placeAmong } from '../../coordinator/given.ts'
import { indexOf, type RegistryIndex, resolve } from '../../coordinator/registry.ts'
import { questionBudgets } from '../../coordinator/schemas/context.ts'
import { type ExecutionIntent, executionIntent, intentSchemaVersion } from '../../coordinator/schemas/intent.ts'
import { openQuestion } from '../../coordinator/schemas/questions.ts'
import type { RegistrySnapshot } from '../../coordinator/schemas/registry.ts'
import * as s from '../../coordinator/schemas/scalars.ts'
import type { Sha256 } from '../../kernel/digest.ts'
import { isoTime } from '../../kernel/instant.ts'
import { asJson, boundedJson, type Json, jsonLimits } from '../../kernel/json.ts'
import { priorities } from '../../observation/goal-state.ts'
import { quoted } from '../../runtime/model.ts'
import { closedObject, fieldProblems, problemSentence } from '../../runtime/shape-problems.ts'
import type { GoalConfig } from './goal-context.ts'

const draftTask = closedObject({
  id: s.contentId,
  /** A command of the registry: it decides which tools the task may use. */
  command: s.contentId,
  intent: s.sentence,
  /** An agent of the registry that is also configured here. Default: the agent that leads the phase. */
  owner: s.contentId.optional(),
  depends_on: z.array(s.contentId).max(30).default([]),
  priority: z.enum(priorities).default('medium'),
  /** The task that this one replaces: this one begins only if that task fails. */
  instead_of: s.contentId.optional(),
  effects: z.array(s.effect).min(1).max(6).optional(),
  risk_level: s.riskLevel.optional(),
  evidence: z.array(s.evidenceRef).min(1).max(30).optional(),
  workflow: s.contentId.optional(),
  phase: s.phaseName.optional(),
  condition: s.sentence.optional(),
})

/** The fields that a planner may fill in. The others follow from the goal, the operator and the registry. */
const plannersOwn = {
  title: z.string().min(5).max(160).optional(),
  tasks: z.array(draftTask).min(1).max(80),
  risk: closedObject({
    overall: s.riskLevel.optional(),
    drivers: z.array(s.sentence).min(1).max(20).optional(),
    requires_review: z.array(s.reviewCategory).optional(),
  }).optional(),
  open_questions: z
    .array(openQuestion.safeExtend({ evidence_refs: z.array(s.evidenceRef).max(30) }))
    .max(50)
    .optional(),
}

type Tasks = z.output<typeof plannersOwn.tasks>

function checkTasks({ tasks }: { readonly tasks: Tasks }, issues: z.RefinementCtx) {
  const ids = tasks.map((task) => task.id)
  const say = (i: number, field: string, message: string) =>
    issues.addIssue({ code: 'custom', path: ['tasks', i, field], message })
  tasks.forEach(({ id, depends_on, instead_of }, i) => {
    if (ids.indexOf(id) < i) say(i, 'id', `There are two tasks ${id}.`)
    for (const before of depends_on) if (!ids.includes(before)) say(i, 'depends_on', `There is no task ${before}.`)
    if (instead_of === undefined) return
    if (!ids.includes(instead_of) || instead_of === id) say(i, 'instead_of', `There is no other task ${instead_of}.`)
    if (tasks.findIndex((task) => task.instead_of === instead_of) < i)
      say(i, 'instead_of', `Another task stands in for ${instead_of} already.`)
    const circle = standInCircle(tasks, id)
    if (circle !== null) say(i, 'instead_of', circle)
  })
}

/** Describes the circle in which tasks stand in for each other, so that none could begin. Null: there is no circle. */
export function standInCircle(tasks: readonly StandIn[], id: string): string | null {
  const primaries = new Map(tasks.map((task) => [task.id, task.instead_of ?? null]))
  const chain = [id]
  for (let at = primaries.get(id) ?? null; at !== null; at = primaries.get(at) ?? null) {
    if (at === id)
      return `${[...chain, id].join(' stands in for ')}: that is a circle; let one of them stand in for none.`
    if (chain.includes(at)) return null
    chain.push(at)
  }
  return null
}

type StandIn = { readonly id: string; readonly instead_of?: string | null | undefined }

const plannersDraft = closedObject(plannersOwn).superRefine(checkTasks)

/** A caller may also give the success criteria. */
const callersDraft = closedObject({
  success_criteria: z.array(s.sentence).min(1).max(20).optional(),
  ...plannersOwn,
}).superRefine(checkTasks)

type PlanDraft = z.output<typeof callersDraft>

type ReadDraft = { readonly draft: PlanDraft } | { readonly intent: Json } | { readonly problem: string }

/** Reads a draft. A caller may give a whole intent; a planner may only draft tasks. */
export function readDraft(given: Json, by: 'caller' | 'planner'): ReadDraft {
  const written = typeof given === 'string' ? writtenJson(given) : { value: given }
  if ('problem' in written) return written
  const { value } = written
  const { type } = Object(value) as { type?: unknown }
  if (type === 'execution_intent') return by === 'caller' ? { intent: value } : { problem: wholeIntent }
  const read = (by === 'caller' ? callersDraft : plannersDraft).safeParse(value)
  return read.success ? { draft: read.data } : { problem: problemSentence(fieldProblems(read.error)) }
}

const wholeIntent =
  'It is a whole execution intent. A planner drafts tasks; objective, status, source, evidence and budgets come from the goal.'

/** Names the evidence that a draft cites and the goal does not have. A planner may not invent evidence. */
export function unknownEvidence({ tasks, open_questions = [] }: PlanDraft, known: ReadonlySet<string>): string | null {
  const cited = [
    ...tasks.map(({ id, evidence = [] }) => [id, evidence] as const),
    ...open_questions.map(({ key, evidence_refs }) => [key, evidence_refs] as const),
  ]
  const unknown = cited.flatMap(([name, refs]) =>
    refs.filter((ref) => !known.has(ref)).map((ref) => `${name} cites ${quoted(ref)}`),
  )
  if (unknown.length === 0) return null
  return `${unknown.slice(0, 20).join('; ')}: the goal has no such evidence; it has ${[...known].slice(0, 50).join(', ')}.`
}

/** Parses the JSON of a model, within limits: the whole text, or the part from the first brace to the last. */
function writtenJson(text: string): { readonly value: Json } | { readonly problem: string } {
  for (const part of [text, text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)])
    try {
      return boundedJson(JSON.parse(part), jsonLimits.arguments)
    } catch {
      // Try the next part.
    }
  return { problem: 'It is not JSON.' }
}

/** Parses the output of a model in this shape. */
export function readWritten<S extends z.ZodType>(text: string, shape: S): Read<z.output<S>> {
  const written = writtenJson(text)
  if ('problem' in written) return written
  const { success, data, error } = shape.safeParse(written.value)
  return success ? { read: data } : { problem: problemSentence(fieldProblems(error)) }
}

type Read<T> = { readonly read: T } | { readonly problem: string }

interface Drafting {
  readonly goal_id: string
  readonly goal: string
  readonly draft: number
  readonly received_at: number
  readonly registry: RegistrySnapshot
  readonly bounds: Bounds
}

/** The limits that a goal sets its plan: its questions and its budgets. */
type Bounds = Pick<ExecutionIntent, 'interaction' | 'budgets'>

const widest = { max_files: 500, max_commits: 50, max_tokens: 2_000_000, max_cost_usd: 10_000 }

/** The limits of the next plan of a goal: how it may ask, and the rest of the goal's budgets. */
export function boundsOf({ mode, question_budget, budget }: GoalConfig, used: Spent): Bounds {
  const left = (most: number, limit: number | undefined, spent: number | undefined) =>
    limit === undefined ? most : Math.min(most, Math.max(0, limit - (spent ?? 0)))
  return {
    interaction:
      mode === 'auto'
        ? { mode: 'full_auto', question_budget: 0, question_policy: 'never' }
        : {
            mode: 'interactive',
            question_budget: question_budget ?? questionBudgets.goal,
            question_policy: 'conceptual_only',
          },
    budgets: {
      ...widest,
      max_tokens: left(widest.max_tokens, budget.tokens, used.tokens),
      max_cost_usd: left(widest.max_cost_usd, budget.cost_usd, used.cost_usd),
    },
  }
}

type Spent = { readonly tokens?: number; readonly cost_usd?: number }

/** Problems of a whole intent that exceeds its goal. It is sealed, so its fields cannot be lowered. */
export function beyondGoal(taken_in: Json, { interaction, budgets }: Bounds): string[] {
  const read = executionIntent.safeParse(taken_in)
  // The Coordinator refuses a value that is no intent.
  if (!read.success) return []
  const { interaction: asks, budgets: spends } = read.data
  const most = (name: keyof Bounds['budgets']) =>
    spends[name] > budgets[name] ? [`Its budgets.${name} is ${spends[name]}; the goal has ${budgets[name]} left.`] : []
  if (interaction.mode === 'full_auto' && asks.mode !== 'full_auto')
    return [`Its interaction.mode is ${asks.mode}; the goal is in the mode auto, so it must be full_auto.`]
  const { question_budget } = interaction
  return [
    ...(asks.question_budget > question_budget
      ? [`Its interaction.question_budget is ${asks.question_budget}; the goal allows ${question_budget}.`]
      : []),
    ...most('max_tokens'),
    ...most('max_cost_usd'),
  ]
}

type Task = PlanDraft['tasks'][number]

type Place = ReturnType<typeof placeAmong>

/** The reference by which the tasks of a goal cite it as evidence. */
export const evidenceRefOf = (goal_id: string) => `goal:${goal_id}`

/** Fills a draft from the registry. Names that the registry lacks are kept; the Coordinator refuses them. */
export function intentOf(draft: PlanDraft, about: Drafting, sha256: Sha256): Json {
  const index = indexOf(about.registry)
  const ref = evidenceRefOf(about.goal_id)
  const steps = draft.tasks.map((task) => {
    const place = placeOf(task, index)
    const command = index.versions('command', task.command)[0]
    // A draft can add effects to those of the registry, and remove none.
    const has = [...(task.effects ?? []), ...(command?.effects ?? [])]
    const effects = s.effect.options.filter((one) => (has.length === 0 ? one === 'read' : has.includes(one)))
    const risk_level = task.risk_level ?? command?.risk_level ?? 'low'
    return { task, place, owner: task.owner ?? leaderOf(place, index), effects, risk_level }
  })
  const taken = steps.flatMap(({ place }) => place ?? [])
  const places = Map.groupBy(taken, ({ workflow_id }) => workflow_id)
  const owners = new Set(steps.flatMap(({ owner }) => owner ?? []))
  // A plan that writes or deploys needs a review. A draft can ask for more.
  const effects = steps.flatMap((step) => step.effects)
  const reviews = new Set(draft.risk?.requires_review)
  if (effects.includes('deploy')) reviews.add('release')
  if (effects.includes('write')) reviews.add('architecture')
  const named = about.goal_id.toLowerCase().replaceAll(/[^a-z0-9_]/g, '_')
  const intent = {
    id: `intent_${named.slice(-48)}_${about.draft}`,
    type: 'execution_intent',
    title: draft.title ?? titleOf(about.goal),
    version: '1.0.0',
    status: 'proposed',
    created_at: isoTime(about.received_at),
    lineage: { introduced_in: intentSchemaVersion, derived_from: [about.goal_id], supersedes: [] },
    scope: { project_id: about.goal_id, repo_root: '.', targets: { files: [], modules: [], areas: [] } },
    objective: { goal: about.goal, success_criteria: draft.success_criteria ?? [about.goal], non_goals: [] },
    selected_workflows: [...places].map(([workflow_id, some]) => {
      return { workflow_id, phases: [...new Set(some.map(({ phase }) => phase))] }
    }),
    selected_agents: [...owners].map((agent_id) => ({
      agent_id,
      role: resolve(index, { kind: 'agent', id: agent_id }).found?.roles[0] ?? 'worker',
      responsibilities: ['The tasks that the plan gives it.'],
    })),
    planned_commands: steps.map(({ task, place, owner, effects, risk_level }) => ({
      command_id: task.command,
      step_id: task.id,
      intent: task.intent,
      effects,
      risk_level,
      evidence_refs: task.evidence ?? [ref],
      ...(place && { workflow_id: place.workflow_id, phase: place.phase }),
      ...(owner !== undefined && { agent_id: owner }),
      depends_on: task.depends_on,
      ...(task.condition !== undefined && { condition: task.condition }),
    })),
    ...(draft.open_questions === undefined ? {} : { open_questions: draft.open_questions.map(asJson) }),
    interaction: about.bounds.interaction,
    risk: {
      overall: draft.risk?.overall ?? s.highestRisk(steps.map(({ risk_level }) => risk_level)),
      drivers: draft.risk?.drivers ?? ['It follows from the commands of the plan.'],
      requires_review: s.reviewCategory.options.filter((category) => reviews.has(category)),
    },
    budgets: about.bounds.budgets,
    evidence_refs: [ref],
    constraints: {
      execution: 'forbidden',
      no_fabrication: true,
      registry_only: true,
      lock_scope: { mode: 'none', paths: [] },
    },
    audit: { created_by: 'statewright', source: 'statewright', checksum: '' },
    metadata: { tasks: extrasOf(draft.tasks) },
  }
  return sealIntent(intent, sha256)
}

/** Fields of a task that an intent has no place for. They are in its `metadata`, which its checksum covers. */
export type TaskExtras = { readonly priority: Task['priority']; readonly instead_of: string | null }

function extrasOf(tasks: readonly Task[]): Record<string, TaskExtras> {
  return Object.fromEntries(
    tasks.map((task) => [task.id, { priority: task.priority, instead_of: task.instead_of ?? null }]),
  )
}

function titleOf(goal: string): string {
  const line = goal.split('\n', 1)[0] ?? ''
  return line.length < 5 ? `Goal: ${line}` : line.slice(0, 160).toWellFormed()
}

/** The phase that the draft names; else the first one that lists the command; else the first one. */
function placeOf(task: Task, index: RegistryIndex): Place {
  const workflows = index.ids('workflow').flatMap((id) => index.versions('workflow', id)[0] ?? [])
  const places = workflows.flatMap(({ id, phases }) => phases.map((phase) => ({ workflow_id: id, ...phase })))
  const { command: command_id, workflow: workflow_id, phase } = task
  return placeAmong(places, { command_id, workflow_id, phase })
}

function leaderOf(place: Place, index: RegistryIndex): string | undefined {
  const agents = index.ids('agent').flatMap((id) => index.versions('agent', id)[0] ?? [])
  return (agents.find(({ roles }) => place?.role !== undefined && roles.includes(place.role)) ?? agents[0])?.id
}
