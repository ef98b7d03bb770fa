import { indexOf } from '../../coordinator/registry.ts'
import { type ConditionEngine, readCondition } from '../../coordinator/rules/engine.ts'
import { type ExecutionIntent, executionIntent, stepOf } from '../../coordinator/schemas/intent.ts'
import { type ExecutionGraph, executionGraph, type GraphNode } from '../../coordinator/schemas/plan.ts'
import type { Recovers } from '../../coordinator/schemas/record.ts'
import type { RegistrySnapshot } from '../../coordinator/schemas/registry.ts'
import { isFault } from '../../faults/catalogue.ts'
import { asJson, type Json } from '../../kernel/json.ts'
import { isTerminal } from '../../kernel/machine.ts'
import { coordinationMachine } from '../../machines/coordination.ts'
import type { GoalView, PlannedTask } from '../../observation/goal-state.ts'
import type { Rune } from '../../runes/rune.ts'
import type { Engine } from '../../runtime/engine.ts'
import { readThrown } from '../../runtime/thrown.ts'
import type { Plans, PlanView } from '../plans/plans.ts'
import { takenIn } from '../plans/receive.ts'
import * as drafts from './draft.ts'
import { configOf, type DraftGiven, type GoalConfig, goalIds, type Judgement } from './goal-context.ts'

/** The ports that judging a draft needs. */
export interface Judging {
  readonly engine: Engine
  readonly plans: Pick<Plans, 'submit' | 'rest' | 'files' | 'verify' | 'recovery'>
  readonly registry: () => Promise<RegistrySnapshot>
  /** Loaded when a condition is first evaluated. */
  readonly conditions: () => Promise<ConditionEngine>
}

/** Has the Coordinator judge a draft. Only a frozen graph that verifies becomes tasks. Undefined: answers are open. */
export async function judgeDraft(
  judging: Judging,
  session_id: string,
  goal: GoalView,
  { draft, given, by }: DraftGiven,
): Promise<Judgement | undefined> {
  const { engine, plans, registry: read } = judging
  const ids = goalIds(goal.goal_id, engine.sha256)
  const coordination_id = ids.coordination(draft)
  const { subjects, agents } = await engine.sessions.load(session_id)
  const isKnown = subjects.has(coordination_id)
  // A draft that was submitted before is judged by the registry that was recorded then.
  const plan = isKnown ? await plans.rest(coordination_id) : await submit()
  if ('outcome' in plan) return plan
  if (!isTerminal(coordinationMachine, plan.state)) return undefined
  if (plan.state !== 'DONE') return failed(asJson(plan.failure))
  return frozen(judging, plan, configOf(goal), (key) => ids.task(ids.plan(draft), key, 1))

  async function submit(): Promise<PlanView | Judgement> {
    const registry = await read()
    const drafted = drafts.readDraft(given, by)
    if ('problem' in drafted) return failed(`The draft does not have the shape of a plan: ${drafted.problem}`)
    const { goal_id, goal_description, received_at } = goal
    const config = configOf(goal)
    const { memory, facts = factsOf(goal, engine.sha256) } = config
    const bounds = drafts.boundsOf(config, agents.get(goal.agent_id)?.used ?? {})
    const about = { goal_id, goal: goal_description, draft, received_at, registry, bounds }
    const problem =
      'intent' in drafted
        ? drafts.beyondGoal(takenIn(drafted, engine).intent, bounds).join(' ')
        : by === 'planner'
          ? drafts.unknownEvidence(drafted.draft, evidenceOf(goal_id, facts, memory))
          : null
    if (problem) return failed(problem)
    const recovers = await recovered()
    return plans.submit({
      intent: 'intent' in drafted ? drafted.intent : drafts.intentOf(drafted.draft, about, engine.sha256),
      registry,
      sessionId: session_id,
      goalId: goal_id,
      coordinationId: coordination_id,
      facts,
      ...(memory === undefined ? {} : { memory }),
      ...(recovers === undefined ? {} : { recovers }),
    })
  }

  /** The last ended coordination of this goal, which the new one replaces. Undefined: none, or its files are erased. */
  async function recovered(): Promise<Recovers | undefined> {
    const earlier = Array.from({ length: draft - 1 }, (_, i) => ids.coordination(i + 1))
    const last = earlier.findLast((id) => isTerminal(coordinationMachine, subjects.get(id)?.state))
    if (last === undefined) return undefined
    return plans.recovery(last).catch((error) => {
      if (isFault(error, 'not_found')) return undefined
      throw error
    })
  }
}

/** The evidence that a draft for this goal may cite: the goal itself, and the ids in its facts and its memory. */
function evidenceOf(goal_id: string, facts: Json, memory: Json | undefined): ReadonlySet<string> {
  const idsIn = (list: unknown) => (Array.isArray(list) ? list.map((one) => String(Object(one).id)) : [])
  const { evidence } = Object(facts) as { readonly evidence?: unknown }
  const { memories } = Object(memory) as { readonly memories?: unknown }
  return new Set([drafts.evidenceRefOf(goal_id), ...idsIn(evidence), ...idsIn(memories)])
}

/** The fact pack of a goal for which no project was scanned: the goal itself. */
function factsOf({ goal_id, goal_description }: GoalView, sha256: Engine['sha256']): Json {
  const snippet = goal_description.slice(0, 400).toWellFormed()
  const place = { source_file: 'goal', category: 'owner', snippet, line: 1 }
  return {
    schema_version: '1.0.0',
    project_id: goal_id,
    repo_fingerprint: sha256(goal_description),
    ...{ languages: [], manifests: [], scripts: [], ci: [], tests: [], owners: [] },
    evidence: [{ id: 'ev1', ...place, description: 'The goal as it was set.' }],
  }
}

async function frozen(
  { engine, plans, conditions }: Judging,
  { coordination_id, input }: PlanView,
  config: GoalConfig,
  idOf: (key: string) => string,
): Promise<Judgement> {
  const unsound = (await plans.verify(coordination_id)).map(({ file, message }) => `${file}: ${message}`)
  if (unsound.length > 0) return failed(`The frozen plan does not verify: ${unsound.join('; ')}`)
  const files = await plans.files(coordination_id)
  const graph = executionGraph.parse(JSON.parse(files['execution_graph.json'] ?? 'null'))
  const intent = executionIntent.parse(JSON.parse(files['intent.json'] ?? 'null'))
  const tasks = tasksOf({ graph, registry: input.registry, intent }, idOf)
  if (!tasks.some(({ kind }) => kind === 'work')) {
    const dropped = graph.dropped_steps.map(({ step_id, reason }) => `${step_id}: ${reason}`)
    return failed(`No task is left in the plan. ${dropped.join('; ')}`.trim())
  }
  const rules = tasks.some(({ condition }) => condition !== null) ? await conditions() : null
  const named = new Map(tasks.map(({ task_id, key }) => [task_id, key]))
  const standIns = tasks.map(({ key, instead_of }) => ({ id: key, instead_of: named.get(instead_of ?? '') }))
  const problems = tasks.flatMap((task) => {
    const circle = drafts.standInCircle(standIns, task.key)
    return [...problemWith(engine, task), ...undecidable(task, config, rules), ...(circle === null ? [] : [circle])]
  })
  return problems.length === 0 ? { outcome: 'judged', tasks } : failed(problems.join(' '))
}

/** Agents and tools of a task that this process does not have. */
function problemWith({ agents }: Engine, { key, kind, owner, tools }: PlannedTask): readonly string[] {
  if (kind === 'review') return []
  const definition = agents.get(owner ?? '')
  if (definition === undefined)
    return [`${key} belongs to ${owner}, which is not configured. Configured agents: ${[...agents.keys()].join(', ')}.`]
  const missing = tools.filter(({ name }) => definition.registry.find(name) === undefined)
  return missing.map(({ name }) => `${key} uses ${name}, which ${owner} does not have.`)
}

/** Problems of a condition that could never be decided: a rule that does not parse, or words in `auto` without a critic. */
function undecidable({ key, condition }: PlannedTask, config: GoalConfig, rules: ConditionEngine | null): string[] {
  if (condition === null || rules === null) return []
  const read = readCondition(condition)
  if ('words' in read)
    return config.mode === 'auto' && config.critic === null
      ? [`The condition of ${key} is words, and the goal is in the mode auto without a critic to decide it.`]
      : []
  const problem = rules.check(read.rule)
  return problem === undefined ? [] : [`The condition of ${key} is not a rule that can be read: ${problem}`]
}

const failed = (failure: Json): Judgement => ({ outcome: 'failed', failure })

/** Ends the coordinations whose questions these runes withdrew. After a crash the next process does it. */
export async function endPlans({ engine, plans }: Pick<Judging, 'engine' | 'plans'>, runes: readonly Rune[]) {
  for (const { kind, coordination_id } of runes) {
    if (kind !== 'interaction.withdrawn' || coordination_id === undefined) continue
    await plans.rest(coordination_id).catch((thrown) => {
      engine.warn('a plan could not be ended yet', { coordination_id, error: readThrown(thrown).message })
    })
  }
}

interface Judged {
  readonly graph: ExecutionGraph
  readonly registry: RegistrySnapshot
  /** The intent that was frozen with the graph. */
  readonly intent: ExecutionIntent
}

/** Each action becomes work for an agent, each gate a review for a person. Other nodes become no tasks. */
function tasksOf({ graph, registry, intent }: Judged, idOf: (key: string) => string): readonly PlannedTask[] {
  const isTask = ({ node_type }: GraphNode) => node_type === 'action_proposal' || node_type === 'review_gate'
  const nodes = graph.nodes.filter(isTask)
  const byNode = new Map(nodes.map((node) => [node.node_id, node]))
  const before = predecessors(graph, (node_id) => byNode.has(node_id))
  const lanes = new Map(graph.swimlanes.flatMap(({ agent_id, node_refs }) => node_refs.map((ref) => [ref, agent_id])))
  const extras = (Object(intent.metadata) as { tasks?: Record<string, drafts.TaskExtras> }).tasks ?? {}
  const declared = new Map(intent.planned_commands.map((command) => [stepOf(command), command.depends_on ?? []]))
  const conditions = conditionsIn(graph)
  const commands = indexOf(registry)
  const tasks = nodes.map((node): PlannedTask => {
    const key = keyOf(node)
    const isReview = node.node_type === 'review_gate'
    const extra = isReview ? undefined : extras[key]
    const earlier = [...(before.get(node.node_id) ?? [])].flatMap((id) => byNode.get(id) ?? [])
    const versions = commands.versions('command', node.command_ref ?? '')
    const command = versions.find(({ version }) => version === node.command_version)
    return {
      task_id: idOf(key),
      key,
      kind: isReview ? 'review' : 'work',
      title: node.label,
      description: isReview ? (node.review_criteria ?? []).join(' ') : (node.description ?? ''),
      priority: isReview ? 'high' : (extra?.priority ?? 'medium'),
      owner: isReview ? null : (lanes.get(node.node_id) ?? null),
      depends_on: earlier.map((other) => idOf(keyOf(other))),
      needs: earlier.filter((other) => isNeeded(other, node, declared)).map((other) => idOf(keyOf(other))),
      condition: isReview ? null : (conditions.get(node.step_ref ?? '') ?? null),
      instead_of: extra?.instead_of == null ? null : idOf(extra.instead_of),
      command_id: command?.id ?? null,
      tools: (command?.tools ?? []).map(({ name, args_schema }) => ({ name, ...(args_schema && { args_schema }) })),
      retries: null,
    }
  })
  return tasks.map((task, i) => {
    const { instead_of = null } = extras[nodes[i]?.step_ref ?? ''] ?? {}
    return apart(task, instead_of === null ? null : idOf(instead_of), tasks)
  })
}

function keyOf(node: GraphNode): string {
  return node.node_type === 'review_gate' ? node.node_id : (node.step_ref ?? node.node_id)
}

/** Whether `other` is a declared dependency of the step, or its own gate. Other predecessors only come earlier. */
function isNeeded(other: GraphNode, node: GraphNode, declared: ReadonlyMap<string, readonly string[]>): boolean {
  const step = node.step_ref ?? ''
  if (other.node_type === 'review_gate') return other.step_ref !== undefined && other.step_ref === step
  return declared.get(step)?.includes(other.step_ref ?? '') === true
}

function conditionsIn({ nodes, edges }: ExecutionGraph): ReadonlyMap<string, string> {
  const steps = new Map(nodes.map(({ node_id, step_ref }) => [node_id, step_ref]))
  const decisions = new Set(nodes.flatMap((node) => (node.node_type === 'decision_point' ? [node.node_id] : [])))
  return new Map(
    edges.flatMap(({ from_node, to_node, condition }) =>
      condition !== undefined && decisions.has(from_node) ? [[steps.get(to_node) ?? '', condition] as const] : [],
    ),
  )
}

/** A stand-in and its gate wait for the dependencies of the replaced task, not for that task: its failure starts it. */
function apart(task: PlannedTask, primary_id: string | null, tasks: readonly PlannedTask[]): PlannedTask {
  if (primary_id === null) return task
  const primary = tasks.find(({ task_id }) => task_id === primary_id)
  if (primary === undefined) return { ...task, instead_of: null }
  const replaced = new Set<string>([task.task_id])
  for (let at: string | null = primary_id; at !== null && !replaced.has(at); ) {
    replaced.add(at)
    const id: string = at
    at = tasks.find(({ task_id }) => task_id === id)?.instead_of ?? null
  }
  const without = (own: readonly string[], others: readonly string[]) =>
    [...new Set([...own, ...others])].filter((id) => !replaced.has(id))
  const depends_on = without(task.depends_on, primary.depends_on)
  return { ...task, depends_on, needs: without(task.needs, primary.needs) }
}

/** For each node, the nearest predecessors that `stops` accepts. */
function predecessors({ nodes, edges }: ExecutionGraph, stops: (node_id: string) => boolean) {
  const into = Map.groupBy(edges, ({ to_node }) => to_node)
  const found = new Map<string, ReadonlySet<string>>()
  const look = (node_id: string): ReadonlySet<string> => {
    const known = found.get(node_id)
    if (known !== undefined) return known
    const nearest = new Set<string>()
    for (const { from_node } of into.get(node_id) ?? [])
      if (stops(from_node)) nearest.add(from_node)
      else for (const further of look(from_node)) nearest.add(further)
    found.set(node_id, nearest)
    return nearest
  }
  for (const { node_id } of nodes) look(node_id)
  return found
}
