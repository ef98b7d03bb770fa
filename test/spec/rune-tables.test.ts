import { expect, test } from 'vitest'
import type { Machine } from '../../src/kernel/machine.ts'
import { machines } from '../../src/machines/all.ts'
import table from './data/rune-tables.json' with { type: 'json' }

interface Row {
  readonly machine: string
  readonly row: string
  readonly kind: string | null
}

/** Kinds of the tables that record something other than a move. */
const notMoves = ['turn.assistant_delta', 'plan.created', 'plan.updated', 'plan.critique']

/** Rows of the goal's table that our task machine writes, and the trigger that does it. */
const taskRows: Readonly<Record<string, string>> = {
  'plan.task_assigned': 'assign',
  'plan.task_started': 'begin',
  'plan.task_completed': 'complete',
}

test.each(table as readonly Row[])('$machine, $row: $kind', ({ machine: name, row, kind }) => {
  if (kind !== null && notMoves.includes(kind)) {
    expect(machines.flatMap((machine: Machine) => machine.transitions.filter((t) => t.rune === kind))).toEqual([])
    return
  }
  const written = kindsOf(name, row, kind)
  expect(written.length).toBeGreaterThan(0)
  expect(new Set(written)).toEqual(new Set([kind]))
})

test('rune kinds: every kind that a move writes is in a table of the specification, or is listed as an extension', () => {
  const named = new Set(table.map((row) => row.kind))
  const tabled = machines.filter((machine) => table.some((row) => row.machine === machine.name))
  const kinds = tabled.flatMap((machine: Machine) => [machine.opens, ...machine.transitions.map((t) => t.rune)])
  expect(new Set(kinds.filter((kind) => !named.has(kind)))).toEqual(
    new Set(['tool.moved', 'session.archived', 'goal.moved']),
  )
})

test('rune kinds: a carried kind is the one of the table, and the end of a turn has three', () => {
  const ends = machineOf('agent').transitions.filter((t) => t.from === 'running_turn' && t.to === 'idle')
  expect(ends.map((t) => [t.on, t.rune])).toEqual([
    ['turn_completed', 'turn.completed'],
    ['turn_interrupted', 'turn.interrupted'],
    ['turn_error', 'turn.error'],
  ])
})

/** The rune of our machine for a row that writes something. */
function kindsOf(name: string, row: string, kind: string | null): readonly (string | null)[] {
  const step = taskRows[kind ?? '']
  if (step !== undefined)
    return machineOf('task')
      .transitions.filter((t) => t.on === step)
      .map((t) => t.rune)
  const machine = machineOf(name)
  const { transitions } = machine
  const [, from, to] = /^(\S+) -> (\S+)$/.exec(row) ?? []
  if (from === '[*]' || row === machine.initial) return [machine.opens]
  if (from === '*' && to !== undefined) return runesInto(machine, to)
  if (row === 'approved') return transitions.filter((t) => t.on.endsWith('approved')).map((t) => t.rune)
  if (row === 'executing (progress)') return transitions.filter((t) => t.from === t.to).map((t) => t.rune)
  if (from === undefined) return runesInto(machine, row)
  // The table writes turn.completed for every end of a turn and refers to the turn's own table for the others.
  const between = transitions.filter((t) => t.from === from && t.to === to)
  return between.filter((t) => row !== 'running_turn -> idle' || t.on === 'turn_completed').map((t) => t.rune)
}

function runesInto(machine: Machine, state: string): readonly (string | null)[] {
  return machine.transitions.filter((t) => t.to === state && t.from !== t.to).map((t) => t.rune)
}

function machineOf(name: string): Machine {
  return machines.find((machine) => machine.name === name) as Machine
}
