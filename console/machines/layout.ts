import type { Machine } from '../../src/kernel/machine.ts'
import { type Curve, clearSpot, type Point, pathOf } from './curve.ts'
import { rowsOf } from './rows.ts'

interface Box {
  readonly state: string
  readonly x: number
  readonly y: number
  readonly width: number
}

/** An edge with its place in the diagram. */
export interface Wire {
  readonly from: string
  readonly to: string
  /** Places in the table of transitions, from 0: all edges between these two states. */
  readonly edges: readonly number[]
  readonly path: string
  /** Where its number stands. */
  readonly label: Point
}

interface Layout {
  readonly width: number
  readonly height: number
  readonly boxes: readonly Box[]
  readonly wires: readonly Wire[]
}

/** The height of a state's box, in pixels. */
export const boxHeight = 30
const rowHeight = 82
const gap = 34
/** How far apart lines run that go around other states. */
const apart = 22

const layouts = new WeakMap<Machine, Layout>()

/**
 * Where a machine is drawn: each state below those that lead to it, ends at the bottom; lines that skip rows pass on
 * the right, lines that lead back on the left. Same machine, same picture.
 */
export function layoutOf(machine: Machine): Layout {
  const known = layouts.get(machine)
  if (known !== undefined) return known
  const made = makeLayout(machine)
  layouts.set(machine, made)
  return made
}

interface Pair {
  readonly from: string
  readonly to: string
  readonly edges: number[]
}

function makeLayout(machine: Machine): Layout {
  const rows = rowsOf(machine)
  const pairs = pairsOf(machine)
  const row = new Map(rows.flatMap((states, i) => states.map((state) => [state, i] as const)))
  const rowAt = (state: string) => row.get(state) ?? 0
  const span = ({ from, to }: Pair) => rowAt(to) - rowAt(from)
  const bySpan = (a: Pair, b: Pair) => Math.abs(span(a)) - Math.abs(span(b))
  const around = pairs.filter((pair) => span(pair) > 1).toSorted(bySpan)
  const back = pairs.filter((pair) => span(pair) < 0).toSorted(bySpan)

  const widths = rows.map((states) => states.reduce((sum, state) => sum + boxWidth(state) + gap, -gap))
  const widest = Math.max(...widths)
  const left = 20 + back.length * apart
  const boxes = new Map<string, Box>()
  for (const [i, states] of rows.entries()) {
    let x = left + (widest - (widths[i] as number)) / 2
    for (const state of states) {
      boxes.set(state, { state, x, y: 14 + i * rowHeight, width: boxWidth(state) })
      x += boxWidth(state) + gap
    }
  }
  const box = (state: string) => boxes.get(state) as Box
  const curves = pairs.map((pair): [Pair, Curve] => {
    const [a, b] = [box(pair.from), box(pair.to)]
    if (pair.from === pair.to) return [pair, loop(a)]
    if (around.includes(pair)) return [pair, aroundRight(a, b, left + widest + (around.indexOf(pair) + 1) * apart)]
    if (back.includes(pair)) return [pair, backLeft(a, b, left - (back.indexOf(pair) + 1) * apart)]
    if (span(pair) === 0) return [pair, beside(a, b)]
    return [pair, down(a, b, place(pair, pairs))]
  })
  const taken: Point[] = []
  const wires = curves.map(([{ from, to, edges }, curve]): Wire => {
    const label = clearSpot(curve, taken, [...boxes.values()], edges.length)
    taken.push(label)
    return { from, to, edges, path: pathOf(curve), label }
  })
  return {
    width: left + widest + (around.length + 1) * apart + 20,
    height: 14 + (rows.length - 1) * rowHeight + boxHeight + 14,
    boxes: [...boxes.values()],
    wires,
  }
}

const boxWidth = (state: string) => Math.max(64, state.length * 7.8 + 22)

function pairsOf(machine: Machine): readonly Pair[] {
  const pairs = new Map<string, Pair>()
  for (const [index, { from, to }] of machine.transitions.entries()) {
    const pair = pairs.get(`${from} ${to}`)
    if (pair === undefined) pairs.set(`${from} ${to}`, { from, to, edges: [index] })
    else pair.edges.push(index)
  }
  return [...pairs.values()]
}

/** Lines from one state begin side by side. */
function place(pair: Pair, pairs: readonly Pair[]): number {
  const siblings = pairs.filter(({ from, to }) => from === pair.from && to !== from)
  return (siblings.indexOf(pair) - (siblings.length - 1) / 2) * 9
}

const middle = ({ x, width }: Box) => x + width / 2

function down(a: Box, b: Box, aside: number): Curve {
  const [y1, y2] = [a.y + boxHeight, b.y]
  const x1 = middle(a) + aside
  const bend = (y2 - y1) / 2
  return [
    { x: x1, y: y1 },
    { x: x1, y: y1 + bend },
    { x: middle(b), y: y2 - bend },
    { x: middle(b), y: y2 },
  ]
}

function beside(a: Box, b: Box): Curve {
  const isRight = b.x > a.x
  const x1 = isRight ? a.x + a.width : a.x
  const x2 = isRight ? b.x : b.x + b.width
  const y = a.y + boxHeight / 2 + (isRight ? -6 : 6)
  return [
    { x: x1, y },
    { x: x1 + (x2 - x1) / 3, y },
    { x: x1 + ((x2 - x1) * 2) / 3, y },
    { x: x2, y },
  ]
}

/** The curve touches `out` only with its middle, so its handles reach further. */
function aroundRight(a: Box, b: Box, out: number): Curve {
  const start = { x: a.x + a.width, y: a.y + boxHeight / 2 + 4 }
  const end = { x: Math.min(b.x + b.width - 8, middle(b) + 20), y: b.y }
  return [start, { x: out + (out - start.x) / 3, y: start.y + 6 }, { x: out + (out - end.x) / 3, y: end.y - 50 }, end]
}

function backLeft(a: Box, b: Box, out: number): Curve {
  const start = { x: a.x, y: a.y + boxHeight / 2 }
  const end = { x: b.x, y: b.y + boxHeight / 2 + 4 }
  return [start, { x: out - (start.x - out) / 3, y: start.y }, { x: out - (end.x - out) / 3, y: end.y }, end]
}

function loop({ x, y, width }: Box): Curve {
  const edge = x + width
  return [
    { x: edge, y: y + 8 },
    { x: edge + 34, y: y - 8 },
    { x: edge + 34, y: y + boxHeight + 8 },
    { x: edge, y: y + boxHeight - 8 },
  ]
}
