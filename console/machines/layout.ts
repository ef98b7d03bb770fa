import type { Machine } from '../../src/kernel/machine.ts'

export interface Box {
  readonly state: string
  readonly x: number
  readonly y: number
  readonly width: number
}

export interface Wire {
  readonly from: string
  readonly to: string
  /** Places in the table of transitions, from 0: all edges between these two states. */
  readonly edges: readonly number[]
  readonly path: string
  /** Where its number stands. */
  readonly label: { readonly x: number; readonly y: number }
}

export interface Layout {
  readonly width: number
  readonly height: number
  readonly boxes: readonly Box[]
  readonly wires: readonly Wire[]
}

export const boxHeight = 30
const rowHeight = 74
const gap = 26
const bow = 26

const layouts = new WeakMap<Machine, Layout>()

/** Where the states of a machine are drawn: by their distance from the first one, ends at the bottom. Same machine, same picture. */
export function layoutOf(machine: Machine): Layout {
  const known = layouts.get(machine)
  if (known !== undefined) return known
  const made = makeLayout(machine)
  layouts.set(machine, made)
  return made
}

function makeLayout(machine: Machine): Layout {
  const rows = rowsOf(machine)
  const widths = rows.map((row) => row.reduce((sum, state) => sum + boxWidth(state) + gap, -gap))
  const widest = Math.max(...widths)
  const pairs = pairsOf(machine)
  const place = new Map<string, { row: number; box: Box }>()
  const leftBows = pairs.filter(({ from, to }) => rowOf(rows, to) < rowOf(rows, from)).length
  const skips = pairs.filter(({ from, to }) => rowOf(rows, to) > rowOf(rows, from) + 1).length
  const left = 24 + bow * Math.min(leftBows, 4)
  const right = 24 + bow * Math.min(skips, 8)
  for (const [row, states] of rows.entries()) {
    let x = left + (widest - (widths[row] as number)) / 2
    for (const state of states) {
      const width = boxWidth(state)
      place.set(state, { row, box: { state, x, y: 16 + row * rowHeight, width } })
      x += width + gap
    }
  }
  const wires = pairs.map((pair, i) => wireOf(pair, place, i, { left: left - 8, right: left + widest + 8 }))
  return {
    width: left + widest + right,
    height: 16 + rows.length * rowHeight - (rowHeight - boxHeight) + 16,
    boxes: [...place.values()].map(({ box }) => box),
    wires,
  }
}

const boxWidth = (state: string) => Math.max(64, state.length * 7.6 + 22)

const rowOf = (rows: readonly (readonly string[])[], state: string) => rows.findIndex((row) => row.includes(state))

function rowsOf(machine: Machine): readonly (readonly string[])[] {
  const distance = new Map<string, number>([[machine.initial, 0]])
  const queue = [machine.initial]
  for (let state = queue.shift(); state !== undefined; state = queue.shift())
    for (const { from, to } of machine.transitions)
      if (from === state && !distance.has(to)) {
        distance.set(to, (distance.get(state) as number) + 1)
        queue.push(to)
      }
  const states = Object.keys(machine.states)
  const isEnd = (state: string) => machine.states[state]?.terminal === true
  const inner = states.filter((state) => !isEnd(state))
  const depth = Math.max(...inner.map((state) => distance.get(state) ?? 0))
  const rows = Array.from({ length: depth + 1 }, (_, row) =>
    inner.filter((state) => (distance.get(state) ?? 0) === row),
  )
  const ends = states.filter(isEnd)
  return [...rows.filter((row) => row.length > 0), ...(ends.length > 0 ? [ends] : [])]
}

interface Pair {
  readonly from: string
  readonly to: string
  readonly edges: number[]
}

function pairsOf(machine: Machine): readonly Pair[] {
  const pairs = new Map<string, Pair>()
  for (const [index, { from, to }] of machine.transitions.entries()) {
    const key = `${from} ${to}`
    const pair = pairs.get(key)
    if (pair === undefined) pairs.set(key, { from, to, edges: [index] })
    else pair.edges.push(index)
  }
  return [...pairs.values()]
}

function wireOf(
  { from, to, edges }: Pair,
  place: ReadonlyMap<string, { row: number; box: Box }>,
  index: number,
  side: { left: number; right: number },
): Wire {
  const a = place.get(from) as { row: number; box: Box }
  const b = place.get(to) as { row: number; box: Box }
  const middle = (box: Box) => box.x + box.width / 2
  if (from === to) {
    const x = a.box.x + a.box.width
    const y = a.box.y + boxHeight / 2
    const path = `M${x - 6},${y - 8} c26,-16 26,32 0,18`
    return { from, to, edges, path, label: { x: x + 20, y } }
  }
  if (b.row === a.row + 1) {
    const [x1, x2] = [middle(a.box) + spread(index), middle(b.box) - spread(index)]
    const [y1, y2] = [a.box.y + boxHeight, b.box.y]
    const half = (y2 - y1) / 2
    const path = `M${x1},${y1} C${x1},${y1 + half} ${x2},${y2 - half} ${x2},${y2}`
    const t = 0.38 + (index % 3) * 0.12
    return { from, to, edges, path, label: { x: x1 + (x2 - x1) * ease(t), y: y1 + (y2 - y1) * t } }
  }
  if (b.row === a.row) {
    const isRight = b.box.x > a.box.x
    const x1 = isRight ? a.box.x + a.box.width : a.box.x
    const x2 = isRight ? b.box.x : b.box.x + b.box.width
    const y = a.box.y + boxHeight / 2 + (isRight ? -7 : 7)
    return { from, to, edges, path: `M${x1},${y} L${x2},${y}`, label: { x: (x1 + x2) / 2, y } }
  }
  const goesDown = b.row > a.row
  const x1 = goesDown ? a.box.x + a.box.width : a.box.x
  const x2 = goesDown ? b.box.x + b.box.width - 10 - spread(index) : b.box.x
  const y1 = a.box.y + boxHeight / 2
  const y2 = goesDown ? b.box.y : b.box.y + boxHeight / 2
  const out = goesDown ? side.right + bow * (0.3 + (index % 8)) : side.left - bow * (0.4 + (index % 4))
  const path = goesDown
    ? `M${x1},${y1} C${out},${y1} ${out},${y2 - 60} ${x2},${y2}`
    : `M${x1},${y1} C${out},${y1} ${out},${y2} ${x2},${y2}`
  const label = goesDown
    ? { x: bezier(x1, out, out, x2, 0.35), y: bezier(y1, y1, y2 - 60, y2, 0.35) }
    : { x: bezier(x1, out, out, x2, 0.5), y: bezier(y1, y1, y2, y2, 0.5) }
  return { from, to, edges, path, label }
}

/** Wires between the same rows begin a little apart. */
const spread = (index: number) => ((index % 5) - 2) * 7

const ease = (t: number) => t * t * (3 - 2 * t)

function bezier(a: number, b: number, c: number, d: number, t: number): number {
  const s = 1 - t
  return s * s * s * a + 3 * s * s * t * b + 3 * s * t * t * c + t * t * t * d
}
