import { intentChecksum } from '../../coordinator/checksum.ts'
import { indexOf, type RegistryIndex, resolve } from '../../coordinator/registry/references.ts'
import { type ExecutionIntent, executionIntent, intentSchemaVersion } from '../../coordinator/schemas/intent.ts'
import type { Agent, Command, RegistrySnapshot, Workflow } from '../../coordinator/schemas/registry.ts'
import {
  effects as allEffects,
  highestRisk,
  type PhaseName,
  reviewCategories,
} from '../../coordinator/schemas/scalars.ts'
import type { Sha256 } from '../../kernel/digest.ts'
import { isoTime } from '../../kernel/instant.ts'
import { asJson, type Json } from '../../kernel/json.ts'
import type { PlanDraft } from './draft.ts'
import type { GoalConfig } from './goal-config.ts'

interface Drafting {
  readonly goal_id: string
  readonly goal: string
  readonly draft: number
  readonly received_at: number
  readonly registry: RegistrySnapshot
  readonly bounds: Bounds
}

/** What the goal allows its plan: how it may ask, and what it may spend. */
type Bounds = Pick<ExecutionIntent, 'interaction' | 'budgets'>

const widest = { max_files: 500, max_commits: 50, max_tokens: 2_000_000, max_cost_usd: 10_000 }

/** What a goal leaves to its next plan. What it has spent already is gone. */
export function boundsOf({ mode, question_budget, budget }: GoalConfig, used: Spent): Bounds {
  const left = (most: number, limit: number | undefined, spent: number | undefined) =>
    limit === undefined ? most : Math.min(most, Math.max(0, limit - (spent ?? 0)))
  return {
    interaction:
      mode === 'auto'
        ? { mode: 'full_auto', question_budget: 0, question_policy: 'never' }
        : { mode: 'interactive', question_budget: question_budget ?? 10, question_policy: 'conceptual_only' },
    budgets: {
      ...widest,
      max_tokens: left(widest.max_tokens, budget.tokens, used.tokens),
      max_cost_usd: left(widest.max_cost_usd, budget.cost_usd, used.cost_usd),
    },
  }
}

type Spent = { readonly tokens?: number; readonly cost_usd?: number }

/** Where a whole intent goes beyond its goal. It is read as it is taken in: sealed, so it is refused and not changed. */
export function beyondGoal(taken_in: Json, { interaction, budgets }: Bounds): string[] {
  const read = executionIntent.safeParse(taken_in)
  // What is not an intent at all is the Coordinator's to refuse.
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

interface Place {
  readonly workflow_id: string
  readonly phase: PhaseName
  readonly role: string | undefined
}

/** A goal is evidence for the tasks that serve it. */
export const evidenceRefOf = (goal_id: string) => `goal:${goal_id}`

/**
 * The intent that a draft comes to. What the draft leaves open is taken from
 * the registry; what the registry does not have is left in, so that the
 * Coordinator refuses it by its own words. The same draft gives the same bytes.
 */
export function intentOf(draft: PlanDraft, about: Drafting, sha256: Sha256): Json {
  const index = indexOf(about.registry)
  const places = draft.tasks.map((task) => placeOf(task, index))
  const owners = draft.tasks.map((task, i) => task.owner ?? leaderOf(places[i], index))
  const commands = draft.tasks.map((task) => index.versions('command', task.command)[0])
  const ref = evidenceRefOf(about.goal_id)
  // A draft can add an effect or a review to what follows from the registry, and take none away.
  const effects = draft.tasks.map((task, i) => {
    const has = [...(task.effects ?? []), ...((commands[i] as Command | undefined)?.effects ?? [])]
    return has.length === 0 ? (['read'] as const) : allEffects.filter((effect) => has.includes(effect))
  })
  const levels = draft.tasks.map((task, i) => task.risk_level ?? commands[i]?.risk_level ?? 'low')
  const intent: { [key: string]: Json } = {
    id: `intent_${about.goal_id
      .toLowerCase()
      .replaceAll(/[^a-z0-9_]/g, '_')
      .slice(-48)}_${about.draft}`,
    type: 'execution_intent',
    title: draft.title ?? titleOf(about.goal),
    version: '1.0.0',
    status: 'proposed',
    created_at: isoTime(about.received_at),
    lineage: { introduced_in: intentSchemaVersion, derived_from: [about.goal_id], supersedes: [] },
    scope: { project_id: about.goal_id, repo_root: '.', targets: { files: [], modules: [], areas: [] } },
    objective: {
      goal: about.goal,
      success_criteria: draft.success_criteria ?? [about.goal],
      non_goals: [],
    },
    selected_workflows: selectedWorkflows(places),
    selected_agents: selectedAgents(owners, index),
    planned_commands: draft.tasks.map((task, i) => ({
      command_id: task.command,
      step_id: task.id,
      intent: task.intent,
      effects: [...(effects[i] ?? ['read'])],
      risk_level: levels[i] ?? 'low',
      evidence_refs: task.evidence ?? [ref],
      ...(places[i] === undefined ? {} : { workflow_id: places[i].workflow_id, phase: places[i].phase }),
      ...(owners[i] === undefined ? {} : { agent_id: owners[i] }),
      depends_on: task.depends_on,
      ...(task.condition === undefined ? {} : { condition: task.condition }),
    })),
    ...(draft.open_questions === undefined ? {} : { open_questions: draft.open_questions.map(asJson) }),
    interaction: about.bounds.interaction,
    risk: {
      overall: draft.risk?.overall ?? highestRisk(levels),
      drivers: draft.risk?.drivers ?? ['It follows from the commands of the plan.'],
      requires_review: reviewsOf(effects.flat(), draft.risk?.requires_review),
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
    metadata: { tasks: Object.fromEntries(draft.tasks.map((task) => [task.id, extrasOf(task)])) },
  }
  return { ...intent, audit: { ...(intent.audit as object), checksum: intentChecksum(intent, sha256) } }
}

/** What the Coordinator has no word for, sealed with the rest. */
export type TaskExtras = { readonly priority: Task['priority']; readonly instead_of: string | null }

function extrasOf({ priority, instead_of }: Task): TaskExtras {
  return { priority, instead_of: instead_of ?? null }
}

function titleOf(goal: string): string {
  const line = goal.split('\n', 1)[0] ?? ''
  return line.length < 5 ? `Goal: ${line}` : line.slice(0, 160).toWellFormed()
}

/** Where the draft puts it; else where the command is at home; else the first phase there is. */
function placeOf(task: Task, index: RegistryIndex): Place | undefined {
  const workflows = index.ids('workflow').flatMap((id) => (index.versions('workflow', id)[0] ?? []) as Workflow)
  const all = workflows.flatMap(({ id, phases }) =>
    phases.map(({ phase, role, commands }) => ({ workflow_id: id, phase, role, commands })),
  )
  const fits = all.filter(
    ({ workflow_id, phase }) => (task.workflow ?? workflow_id) === workflow_id && (task.phase ?? phase) === phase,
  )
  return fits.find(({ commands }) => commands.includes(task.command)) ?? fits[0]
}

function leaderOf(place: Place | undefined, index: RegistryIndex): string | undefined {
  const agents = index.ids('agent').flatMap((id) => (index.versions('agent', id)[0] ?? []) as Agent)
  return (agents.find(({ roles }) => place?.role !== undefined && roles.includes(place.role)) ?? agents[0])?.id
}

function selectedWorkflows(places: readonly (Place | undefined)[]): Json {
  const chosen = new Map<string, Set<PhaseName>>()
  for (const place of places)
    if (place !== undefined)
      chosen.set(place.workflow_id, (chosen.get(place.workflow_id) ?? new Set<PhaseName>()).add(place.phase))
  return [...chosen].map(([workflow_id, phases]) => ({ workflow_id, phases: [...phases] }))
}

function selectedAgents(owners: readonly (string | undefined)[], index: RegistryIndex): Json {
  return [...new Set(owners.flatMap((owner) => owner ?? []))].map((agent_id) => ({
    agent_id,
    role: resolve(index, { kind: 'agent', id: agent_id }).found?.roles[0] ?? 'worker',
    responsibilities: ['The tasks that the plan gives it.'],
  }))
}

/** A plan that writes or deploys is reviewed first, and so is whatever the draft names. */
function reviewsOf(effects: readonly string[], drafted: readonly string[] = []): Json {
  const needed = new Set(drafted)
  if (effects.includes('deploy')) needed.add('release')
  if (effects.includes('write')) needed.add('architecture')
  return reviewCategories.filter((category) => needed.has(category))
}
