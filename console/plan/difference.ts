import type { ExecutionGraph } from '../../src/coordinator/schemas/plan.ts'

/** The changes from the draft to the final graph, in a sentence. */
export function differenceOf(draft: ExecutionGraph, final: ExecutionGraph): string {
  const before = new Map(draft.nodes.map((node) => [node.node_id, JSON.stringify(node)]))
  const after = new Map(final.nodes.map((node) => [node.node_id, JSON.stringify(node)]))
  const added = [...after.keys()].filter((id) => !before.has(id)).length
  const gone = [...before.keys()].filter((id) => !after.has(id)).length
  const other = [...after].filter(([id, text]) => before.has(id) && before.get(id) !== text).length
  if (added + gone + other === 0) return 'The final graph has the nodes of the draft.'
  const parts = [
    ...(added > 0 ? [`${added} added`] : []),
    ...(gone > 0 ? [`${gone} removed`] : []),
    ...(other > 0 ? [`${other} changed`] : []),
  ]
  return `From draft to final, nodes: ${parts.join(', ')}.`
}
