import { expect, test } from 'vitest'
import type { Machine } from '../../src/kernel/machine.ts'
import { toMermaid } from '../../src/kernel/topology.ts'
import { machines } from '../../src/machines/all.ts'
import { parseMermaid, readLabel } from '../support/mermaid.ts'

test.each(machines.map((m) => [m.name, m as Machine] as const))(
  'mermaid: the diagram of %s reads back to the same edges',
  (_, machine) => {
    const { initial, terminal, arrows } = parseMermaid(toMermaid(machine))
    const edges = arrows.flatMap((arrow) =>
      readLabel(arrow).map(({ trigger, guards }) => ({ from: arrow.from, on: trigger, to: arrow.to, when: guards })),
    )
    expect(edges).toEqual(machine.transitions.map(({ from, on, to, when = [] }) => ({ from, on, to, when })))
    expect(initial).toEqual([machine.initial])
    expect(terminal).toEqual(Object.keys(machine.states).filter((state) => machine.states[state]?.terminal))
  },
)
