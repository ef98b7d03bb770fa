import { indexOf } from '../../coordinator/registry/references.ts'
import type { ExecutionGraph, GraphNode } from '../../coordinator/schemas/execution-graph.ts'
import { type ExecutionIntent, stepOf } from '../../coordinator/schemas/intent.ts'
import type { Command, RegistrySnapshot } from '../../coordinator/schemas/registry.ts'
import type { PlannedTask } from '../../observation/goal-state.ts'
import type { TaskExtras } from './intent-of.ts'

interface Judged {
  readonly graph: ExecutionGraph
  readonly registry: RegistrySnapshot
  /** As it was frozen beside the graph. */
  readonly intent: ExecutionIntent
}

/**
 * The tasks of a judged graph: each action is work for an agent, each gate a
 * review for a person. Phases and decision points are looked through: what
 * stands before them stands before what follows. The condition on the way out
 * of a decision point is that of the task it leads to, also by way of its gate.
 */
export function tasksOf({ graph, registry, intent }: Judged, idOf: (key: string) => string): readonly PlannedTask[] {
  const isTask = ({ node_type }: GraphNode) => node_type === 'action_proposal' || node_type === 'review_gate'
  const nodes = graph.nodes.filter(isTask)
  const byNode = new Map(nodes.map((node) => [node.node_id, node]))
  const before = predecessors(graph, (node_id) => byNode.has(node_id))
  const lanes = new Map(graph.swimlanes.flatMap(({ agent_id, node_refs }) => node_refs.map((ref) => [ref, agent_id])))
  const extras = (Object(intent.metadata) as { tasks?: Record<string, TaskExtras> }).tasks ?? {}
  const declared = new Map(intent.planned_commands.map((command) => [stepOf(command), command.depends_on ?? []]))
  const conditions = conditionsIn(graph)
  const commands = indexOf(registry)
  const tasks = nodes.map((node): PlannedTask => {
    const key = keyOf(node)
    const isReview = node.node_type === 'review_gate'
    const extra = isReview ? undefined : extras[key]
    const earlier = [...(before.get(node.node_id) ?? [])].flatMap((id) => byNode.get(id) ?? [])
    const command = commands
      .versions('command', node.command_ref ?? '')
      .find(({ version }) => version === node.command_version) as Command | undefined
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
      tools: (command?.tools ?? []).map(({ name, args_schema }) =>
        args_schema === undefined ? { name } : { name, args_schema },
      ),
      retries: null,
    }
  })
  const primaries = new Map(
    nodes.flatMap((node): [string, string][] => {
      const { instead_of = null } = extras[node.step_ref ?? ''] ?? {}
      return instead_of === null ? [] : [[idOf(keyOf(node)), idOf(instead_of)]]
    }),
  )
  return tasks.map((task) => apart(task, primaries.get(task.task_id) ?? null, tasks))
}

function keyOf(node: GraphNode): string {
  return node.node_type === 'review_gate' ? node.node_id : (node.step_ref ?? node.node_id)
}

/** What the plan names as a dependency of a step, and the gate of the step itself. Everything else is only earlier. */
function isNeeded(other: GraphNode, node: GraphNode, declared: ReadonlyMap<string, readonly string[]>): boolean {
  const step = node.step_ref ?? ''
  if (other.node_type === 'review_gate') return other.step_ref !== undefined && other.step_ref === step
  return declared.get(step)?.includes(other.step_ref ?? '') === true
}

/** By the steps of the intent. */
function conditionsIn({ nodes, edges }: ExecutionGraph): ReadonlyMap<string, string> {
  const steps = new Map(nodes.map(({ node_id, step_ref }) => [node_id, step_ref]))
  const decisions = new Set(nodes.flatMap((node) => (node.node_type === 'decision_point' ? [node.node_id] : [])))
  return new Map(
    edges.flatMap(({ from_node, to_node, condition }) =>
      condition !== undefined && decisions.has(from_node) ? [[steps.get(to_node) ?? '', condition] as const] : [],
    ),
  )
}

/**
 * A stand-in waits for what its task waits for, not for its task: that one's failure is what lets it begin. The gate of
 * a stand-in waits for the same.
 */
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
  return {
    ...task,
    depends_on: without(task.depends_on, primary.depends_on),
    needs: without(task.needs, primary.needs),
  }
}

/** For each node the nearest ones before it that `stops` accepts. */
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
