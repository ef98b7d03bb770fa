import type { ExecutionIntent } from '../schemas/intent.ts'
import type { ExecutionGraph, GraphNode } from '../schemas/plan.ts'

/** Each check returns the ids that violate it. An empty list means that the check holds. */

/** Returns one cycle, in order, each node once. Empty: the graph has no cycle. */
export function cycleIn({ nodes, edges }: Pick<ExecutionGraph, 'nodes' | 'edges'>): readonly string[] {
  const next = Map.groupBy(edges, ({ from_node }) => from_node)
  const done = new Set<string>()
  for (const { node_id } of nodes) {
    const path: string[] = []
    const onPath = new Set<string>()
    const stack: { node: string; leaving: boolean }[] = [{ node: node_id, leaving: false }]
    for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
      if (top.leaving) {
        onPath.delete(top.node)
        path.pop()
        done.add(top.node)
        continue
      }
      if (onPath.has(top.node)) return path.slice(path.indexOf(top.node))
      if (done.has(top.node)) continue
      onPath.add(top.node)
      path.push(top.node)
      stack.push({ node: top.node, leaving: true })
      for (const { to_node: node } of next.get(top.node) ?? []) stack.push({ node, leaving: false })
    }
  }
  return []
}

/** Nodes that cannot be reached from a phase that nothing precedes. */
export function unreachableNodes({ nodes, edges }: Pick<ExecutionGraph, 'nodes' | 'edges'>): readonly string[] {
  const preceded = new Set(edges.map(({ to_node }) => to_node))
  const next = Map.groupBy(edges, ({ from_node }) => from_node)
  const reached = new Set<string>()
  const queue = nodes.filter(({ node_id, node_type }) => node_type === 'phase' && !preceded.has(node_id)).map(nameOf)
  for (let node = queue.pop(); node !== undefined; node = queue.pop()) {
    if (reached.has(node)) continue
    reached.add(node)
    for (const { to_node } of next.get(node) ?? []) queue.push(to_node)
  }
  return nodes.map(nameOf).filter((id) => !reached.has(id))
}

/** Edges that lead from or to a node that is not there. */
export function danglingEdges({ nodes, edges }: Pick<ExecutionGraph, 'nodes' | 'edges'>): readonly string[] {
  const known = new Set(nodes.map(({ node_id }) => node_id))
  const dangling = edges.filter(({ from_node, to_node }) => !known.has(from_node) || !known.has(to_node))
  return dangling.map(({ edge_id }) => edge_id)
}

/** Selected phases without a node. */
export function unmappedPhases({ nodes }: ExecutionGraph, intent: ExecutionIntent): readonly string[] {
  const drawn = nodes.filter(({ node_type }) => node_type === 'phase').map((n) => `${n.phase_ref} of ${n.workflow_ref}`)
  return intent.selected_workflows
    .flatMap(({ workflow_id, phases }) => phases.map((phase) => `${phase} of ${workflow_id}`))
    .filter((phase) => !drawn.includes(phase))
}

/** Phases in which nothing is done: no step was planned there, or every one was taken out. No figure counts them. */
export function idlePhases({ nodes }: Pick<ExecutionGraph, 'nodes'>): readonly string[] {
  const place = ({ workflow_ref, phase_ref }: GraphNode) => `${workflow_ref} ${phase_ref}`
  const busy = new Set(nodes.filter(({ node_type }) => node_type === 'action_proposal').map(place))
  return nodes.filter((node) => node.node_type === 'phase' && !busy.has(place(node))).map(nameOf)
}

/** Planned steps that are neither in the graph as an action nor dropped with a reason. */
export function lostSteps({ nodes, dropped_steps }: ExecutionGraph, steps: readonly string[]): readonly string[] {
  const placed = new Set(nodes.flatMap((n) => (n.node_type === 'action_proposal' ? [n.step_ref] : [])))
  return steps.filter((step) => !placed.has(step) && !dropped_steps.some(({ step_id }) => step_id === step))
}

/** Selected agents without a lane. */
export function agentsWithoutLane({ swimlanes }: ExecutionGraph, intent: ExecutionIntent): readonly string[] {
  const ids = intent.selected_agents.map(({ agent_id }) => agent_id)
  return ids.filter((id) => !swimlanes.some((lane) => lane.agent_id === id))
}

/** Actions without evidence. */
export function actionsWithoutEvidence({ nodes }: ExecutionGraph): readonly string[] {
  return nodes.filter((n) => n.node_type === 'action_proposal' && (n.evidence_refs ?? []).length === 0).map(nameOf)
}

/** Questions that are still in the graph. */
export function placeholders({ nodes }: ExecutionGraph): readonly string[] {
  return nodes.filter(({ node_type }) => node_type === 'question').map(nameOf)
}

const required: { readonly [T in GraphNode['node_type']]: readonly (keyof GraphNode)[] } = {
  phase: ['workflow_ref', 'phase_ref'],
  action_proposal: ['step_ref', 'command_ref', 'command_version', 'effects', 'risk_level', 'evidence_refs'],
  decision_point: ['step_ref', 'rule_refs'],
  question: ['question_ref'],
  review_gate: ['review_criteria'],
}

/** Nodes that lack a field that their type requires. */
export function incompleteNodes({ nodes }: ExecutionGraph): readonly string[] {
  return nodes.filter((node) => required[node.node_type].some((field) => isMissing(node[field]))).map(nameOf)
}

/** Nodes that are in no lane, or in more than one. */
export function nodesNotInOneLane({ nodes, swimlanes }: ExecutionGraph): readonly string[] {
  const lanes = new Map<string, number>()
  for (const { node_refs } of swimlanes) for (const id of node_refs) lanes.set(id, (lanes.get(id) ?? 0) + 1)
  return nodes.map(({ node_id }) => node_id).filter((id) => lanes.get(id) !== 1)
}

function isMissing(value: GraphNode[keyof GraphNode]): boolean {
  return value === undefined || (Array.isArray(value) && value.length === 0)
}

const nameOf = ({ node_id }: GraphNode): string => node_id
