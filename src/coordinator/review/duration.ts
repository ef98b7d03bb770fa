import { idlePhases } from '../graph/checks.ts'
import type { ExecutionGraph } from '../schemas/execution-graph.ts'

/** The longest way through the graph: what goes side by side is counted once. */
export function longestPath({ nodes, edges }: ExecutionGraph, durations: ReadonlyMap<string, number>): number {
  const before = Map.groupBy(edges, ({ to_node }) => to_node)
  const done = new Map<string, number>()
  const finish = (node: string): number => {
    const known = done.get(node)
    if (known !== undefined) return known
    const start = Math.max(0, ...(before.get(node) ?? []).map(({ from_node }) => finish(from_node)))
    const end = start + (durations.get(node) ?? 0)
    done.set(node, end)
    return end
  }
  return Math.max(0, ...nodes.map(({ node_id }) => finish(node_id)))
}

/** 0 to 100. Nodes count most; branches and agents that have to meet add to it. */
export function complexityOf(graph: ExecutionGraph): number {
  const { nodes, edges, swimlanes } = graph
  const idle = idlePhases(graph)
  const branches = edges.filter(({ edge_type }) => edge_type !== 'sequential').length
  const busy = swimlanes.filter(({ node_refs }) => node_refs.some((node) => !idle.includes(node))).length
  const score = Number(((nodes.length - idle.length) / 4 + branches / 2 + (busy - 1) * 5).toFixed(0))
  return Math.max(0, Math.min(score, 100))
}
