/** A thing to place: in the lane of its owner, after everything it follows. */
export interface Node {
  readonly id: string
  readonly lane: string
}

/** An edge between two steps. */
export interface Edge {
  readonly from: string
  readonly to: string
}

interface Placed {
  readonly id: string
  readonly x: number
  readonly y: number
}

interface Grid {
  readonly width: number
  readonly height: number
  readonly nodes: readonly Placed[]
  readonly lanes: readonly { readonly lane: string; readonly y: number; readonly height: number }[]
}

/** The width of a step's box, in pixels. */
export const boxWidth = 160
/** The height of a step's box, in pixels. */
export const boxHeight = 68
const columnGap = 30
const rowGap = 12
const laneName = 116

/**
 * Where the nodes of a graph stand: the column is the longest way from a beginning, the row is the lane. Same graph,
 * same picture. An edge that leads back, which no judged graph has, is not followed.
 */
export function laneGrid(nodes: readonly Node[], edges: readonly Edge[]): Grid {
  const column = columnsOf(nodes, edges)
  const lanes = [...new Set(nodes.map((node) => node.lane))]
  const placed: Placed[] = []
  const bands: { lane: string; y: number; height: number }[] = []
  let y = 0
  for (const lane of lanes) {
    const filled = new Map<number, number>()
    for (const node of nodes) {
      if (node.lane !== lane) continue
      const at = column.get(node.id) ?? 0
      const row = filled.get(at) ?? 0
      filled.set(at, row + 1)
      placed.push({
        id: node.id,
        x: laneName + at * (boxWidth + columnGap),
        y: y + rowGap + row * (boxHeight + rowGap),
      })
    }
    const rows = Math.max(1, ...filled.values())
    const height = rows * (boxHeight + rowGap) + rowGap
    bands.push({ lane, y, height })
    y += height
  }
  const columns = Math.max(0, ...column.values()) + 1
  return { width: laneName + columns * (boxWidth + columnGap), height: y, nodes: placed, lanes: bands }
}

function columnsOf(nodes: readonly Node[], edges: readonly Edge[]): ReadonlyMap<string, number> {
  const column = new Map(nodes.map((node) => [node.id, 0]))
  const waiting = new Map(nodes.map((node) => [node.id, 0]))
  const after = new Map<string, string[]>()
  for (const { from, to } of edges) {
    if (!column.has(from) || !column.has(to)) continue
    after.set(from, [...(after.get(from) ?? []), to])
    waiting.set(to, (waiting.get(to) ?? 0) + 1)
  }
  const ready = nodes.flatMap(({ id }) => (waiting.get(id) === 0 ? [id] : []))
  for (let id = ready.shift(); id !== undefined; id = ready.shift())
    for (const next of after.get(id) ?? []) {
      column.set(next, Math.max(column.get(next) ?? 0, (column.get(id) ?? 0) + 1))
      const left = (waiting.get(next) ?? 1) - 1
      waiting.set(next, left)
      if (left === 0) ready.push(next)
    }
  return column
}
