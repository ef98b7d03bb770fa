import fc from 'fast-check'
import { expect, test } from 'vitest'
import { firstValue, formIn, sentValue } from '../../console/inbox/fields.ts'
import { layoutOf } from '../../console/machines/layout.ts'
import { verdictOn } from '../../console/machines/legal.ts'
import { match } from '../../console/match.ts'
import { type Edge, laneGrid, type Node } from '../../console/plan/lane-grid.ts'
import { scaleOf } from '../../console/session/scale.ts'
import { type Machine, triggerNames } from '../../src/kernel/machine.ts'
import { suppose } from '../../src/kernel/transition.ts'
import { machines } from '../../src/machines/all.ts'
import { exactSpan } from '../../src/observation/durations.ts'

test.each(machines.map((machine) => [machine.name, machine as Machine] as const))(
  'pictures: %s has exactly its states and moves; no two states and no two numbers touch',
  (_, machine) => {
    const { boxes, wires, width, height } = layoutOf(machine)
    expect(boxes.map((box) => box.state).sort()).toEqual(Object.keys(machine.states).sort())
    expect(wires.flatMap((wire) => wire.edges).sort((a, b) => a - b)).toEqual(machine.transitions.map((_, i) => i))
    for (const { from, to, edges } of wires)
      for (const edge of edges) expect(machine.transitions[edge]).toMatchObject({ from, to })
    for (const a of boxes) {
      expect(a.x).toBeGreaterThanOrEqual(0)
      expect(a.x + a.width).toBeLessThanOrEqual(width)
      expect(a.y + 30).toBeLessThanOrEqual(height)
      for (const b of boxes)
        if (a !== b)
          expect(a.y !== b.y || a.x + a.width < b.x || b.x + b.width < a.x, `${a.state} ${b.state}`).toBe(true)
    }
    for (const [i, a] of wires.entries())
      for (const b of wires.slice(i + 1))
        expect(
          Math.abs(a.label.x - b.label.x) > 9 || Math.abs(a.label.y - b.label.y) > 9,
          `${a.edges} ${b.edges}`,
        ).toBe(true)
  },
)

test('pictures: a button is live if and only if some guard could let its trigger through; else it says why', () => {
  for (const machine of machines as readonly Machine[]) {
    for (const state of Object.keys(machine.states))
      for (const trigger of triggerNames(machine)) {
        const verdict = verdictOn(machine, state, trigger)
        expect(verdict.isLegal).toBe(suppose(machine, state, trigger, () => true).allowed)
        if (!verdict.isLegal) expect(verdict.reason).toMatch(/\w.*\./)
      }
  }
})

const anyGraph = fc.integer({ min: 1, max: 200 }).chain((size) =>
  fc.record({
    nodes: fc.array(fc.constantFrom('planner', 'dev', 'dba'), { minLength: size, maxLength: size }),
    edges: fc.array(fc.tuple(fc.nat(size - 1), fc.nat(size - 1)), { maxLength: size * 2 }),
  }),
)

test('pictures: a graph in lanes is drawn the same each time, edges lead to the right, no two boxes share a place', () => {
  fc.assert(
    fc.property(anyGraph, ({ nodes, edges }) => {
      const given: readonly Node[] = nodes.map((lane, i) => ({ id: `n${i}`, lane }))
      const forward: readonly Edge[] = edges.flatMap(([a, b]) => (a < b ? [{ from: `n${a}`, to: `n${b}` }] : []))
      const grid = laneGrid(given, forward)
      expect(laneGrid(given, forward)).toEqual(grid)
      const x = new Map(grid.nodes.map((node) => [node.id, node.x]))
      for (const { from, to } of forward) expect(x.get(to)).toBeGreaterThan(x.get(from) as number)
      expect(new Set(grid.nodes.map((node) => `${node.x} ${node.y}`)).size).toBe(nodes.length)
      for (const node of grid.nodes) {
        const lane = grid.lanes.find((one) => one.lane === nodes[Number(node.id.slice(1))])
        expect(node.y).toBeGreaterThan(lane?.y ?? 0)
        expect(node.y).toBeLessThan((lane?.y ?? 0) + (lane?.height ?? 0))
      }
    }),
    { seed: 30, numRuns: 40 },
  )
})

test('pictures: time goes from left to right, folded or not', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(10_000_000), { minLength: 2, maxLength: 40 }), fc.boolean(), (given, isFolded) => {
      const times = given.toSorted((a, b) => a - b)
      const scale = scaleOf(times, (times.at(-1) as number) + 1, isFolded)
      const places = times.map(scale.of)
      for (const [i, place] of places.entries()) {
        expect(place).toBeGreaterThanOrEqual(i === 0 ? 0 : (places[i - 1] as number) - 1e-9)
        expect(place).toBeLessThanOrEqual(1)
      }
      if (!isFolded) expect(scale.gaps).toEqual([])
    }),
    { seed: 31 },
  )
  expect(scaleOf([0, 1_000, 3_600_000], 3_601_000, true).gaps).toHaveLength(1)
})

test('pictures: an address is read as it was written', () => {
  expect(match('/s/:id/replay', '/s/ses_1/replay')).toEqual({ id: 'ses_1' })
  expect(match('/s/:id', '/s/ses%2F1/')).toEqual({ id: 'ses/1' })
  expect(match('/s/:id', '/s/ses_1/replay')).toBeUndefined()
})

test('pictures: durations as people say them', () => {
  const said = [0, 999, 1_500, 59_999, 252_000, 3_600_000, 90_000_000].map(exactSpan)
  expect(said).toEqual(['0 ms', '999 ms', '1 s 500 ms', '59 s', '4 min 12 s', '1 h', '1 d 1 h'])
})

test('form: an empty field is not sent, and each type is sent as itself', () => {
  const [text, number, many] =
    formIn({
      title: 'Who?',
      fields: [
        { name: 'a' },
        { name: 'b', type: 'number' },
        { name: 'c', type: 'multiselect', options: ['x', { value: 'y' }] },
      ],
    })?.fields ?? []
  if (text === undefined || number === undefined || many === undefined) throw new Error('There are three.')
  expect(text).toEqual({ name: 'a', type: 'text', label: 'a', required: false })
  expect(many.options).toEqual([
    { value: 'x', label: 'x' },
    { value: 'y', label: 'y' },
  ])
  expect([text, number, many].map(firstValue)).toEqual(['', '', []])
  expect(sentValue(text, '')).toBeUndefined()
  expect(sentValue(number, '40')).toBe(40)
  expect(sentValue(many, ['x'])).toEqual(['x'])
})
