import { indexOf } from '../../coordinator/registry/references.ts'
import type { ExecutionGraph, GraphNode } from '../../coordinator/schemas/execution-graph.ts'
import type { Command, RegistrySnapshot } from '../../coordinator/schemas/registry.ts'
import type { Json } from '../../kernel/json.ts'
import type { PlannedTask } from '../../observation/goal-state.ts'
import type { TaskExtras } from './intent-of.ts'

interface Judged {
  readonly graph: ExecutionGraph
  readonly registry: RegistrySnapshot
  /** The metadata of the intent. */
  readonly metadata: Json | undefined
}

/**
 * The tasks of a judged graph: each action is work for an agent, each gate a
 * review for a person. Phases and decision points are looked through: what
 * stands before them stands before what follows.
 */
export function tasksOf({ graph, registry, metadata }: Judged, idOf: (key: string) => string): readonly PlannedTask[] {
  const isTask = ({ node_type }: GraphNode) => node_type === 'action_proposal' || node_type === 'review_gate'
  const nodes = graph.nodes.filter(isTask)
  const keys = new Map(nodes.map((node) => [node.node_id, keyOf(node)]))
  const before = predecessors(graph, (node_id) => keys.has(node_id))
  const lanes = new Map(graph.swimlanes.flatMap(({ agent_id, node_refs }) => node_refs.map((ref) => [ref, agent_id])))
  const extras = (Object(metadata) as { tasks?: Record<string, TaskExtras> }).tasks ?? {}
  const commands = indexOf(registry)
  const tasks = nodes.map((node): PlannedTask => {
    const key = keyOf(node)
    const isReview = node.node_type === 'review_gate'
    const extra = isReview ? undefined : extras[key]
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
      depends_on: [...(before.get(node.node_id) ?? [])].map((id) => idOf(keys.get(id) ?? id)),
      instead_of: extra?.instead_of == null ? null : idOf(extra.instead_of),
      command_id: command?.id ?? null,
      tools: (command?.tools ?? []).map(({ name, args_schema }) =>
        args_schema === undefined ? { name } : { name, args_schema },
      ),
      retries: null,
    }
  })
  return tasks.map((task) => apart(task, tasks))
}

function keyOf(node: GraphNode): string {
  return node.node_type === 'review_gate' ? node.node_id : (node.step_ref ?? node.node_id)
}

/** A stand-in waits for what its task waits for, not for its task: that one's failure is what lets it begin. */
function apart(task: PlannedTask, tasks: readonly PlannedTask[]): PlannedTask {
  const { instead_of } = task
  if (instead_of === null) return task
  const primary = tasks.find(({ task_id }) => task_id === instead_of)
  if (primary === undefined) return { ...task, instead_of: null }
  const depends_on = new Set([...task.depends_on, ...primary.depends_on])
  const replaced = new Set<string>()
  for (let at: string | null = instead_of; at !== null && !replaced.has(at); ) {
    replaced.add(at)
    const id: string = at
    at = tasks.find(({ task_id }) => task_id === id)?.instead_of ?? null
  }
  for (const id of replaced) depends_on.delete(id)
  depends_on.delete(task.task_id)
  return { ...task, depends_on: [...depends_on] }
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
