import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Machine } from '../../src/kernel/machine.ts'
import { machines } from '../../src/machines/all.ts'
import { withEdge, withoutEdge, withoutGuard } from '../conformance/mutate.ts'
import { parseMermaid } from '../support/mermaid.ts'
import { scenario } from '../support/scenario.ts'
import { compareWithSpec, type Labels } from './compare.ts'

/** Arrows as the specifications draw them; one whose label names two triggers is two edges of ours. */
const drawn = {
  contract: { arrows: 9, extensions: 0, labels: 'triggers' },
  tool: { arrows: 10, extensions: 3, labels: 'triggers' },
  turn: { arrows: 12, extensions: 0, labels: 'triggers' },
  agent: { arrows: 9, extensions: 1, labels: 'triggers' },
  session: { arrows: 11, extensions: 1, labels: 'triggers' },
  run: { arrows: 13, extensions: 4, labels: 'triggers' },
  coordination: { arrows: 21, extensions: 3, labels: 'prose' },
  goal: { arrows: 13, extensions: 9, labels: 'triggers' },
} as const satisfies Record<string, { arrows: number; extensions: number; labels: Labels }>

type Drawn = keyof typeof drawn

function diagramOf(name: Drawn) {
  return parseMermaid(readFileSync(new URL(`data/${name}.mmd`, import.meta.url), 'utf8'))
}

function machineOf(name: Drawn): Machine {
  return machines.find((machine) => machine.name === name) as Machine
}

function equalsItsDiagram(name: Drawn) {
  // GIVEN the diagram of the specification, and our machine
  const diagram = diagramOf(name)
  const machine = machineOf(name)
  const { arrows, extensions, labels } = drawn[name]

  // THEN the diagram has as many arrows as it is known to have
  expect(diagram.arrows).toHaveLength(arrows)
  // AND our edges are its edges, but for those that say why they are not
  expect(compareWithSpec(machine, diagram, labels)).toEqual([])
  expect(machine.transitions.filter((t) => t.extension !== undefined)).toHaveLength(extensions)
}

scenario('TU-01', 'The turn machine has the 12 edges of the diagram, exactly', () => equalsItsDiagram('turn'))
scenario('TO-01', 'The tool machine has the 10 edges of the diagram, exactly', () => equalsItsDiagram('tool'))
scenario('SE-01', 'The session machine has the 11 edges of the diagram, exactly', () => equalsItsDiagram('session'))
scenario('AG-01', 'The agent machine has the 9 labelled edges of the diagram, exactly', () => equalsItsDiagram('agent'))
scenario('GO-01', 'The goal machine has the 13 edges of the diagram, exactly', () => equalsItsDiagram('goal'))
scenario('CO-14', 'The coordination machine has the 21 edges of the diagram, exactly', () =>
  equalsItsDiagram('coordination'),
)

test.each(['contract', 'run'] as const)('machines: %s has exactly the edges of its specification', equalsItsDiagram)

test('machines: those that no specification draws say so', () => {
  const ours = machines.filter((machine) => !(machine.name in drawn))
  expect(ours.map((machine: Machine) => [machine.name, machine.extension !== undefined])).toEqual([
    ['interaction', true],
    ['task', true],
  ])
})

describe.each(Object.keys(drawn) as Drawn[])(
  'diagrams: a %s machine that departs from its diagram is found',
  (name) => {
    const machine = machineOf(name)
    const problemsOf = (mutant: Machine) => compareWithSpec(mutant, diagramOf(name), drawn[name].labels)
    const indexes = machine.transitions.keys().toArray()

    test('when an edge is removed or leads elsewhere', () => {
      for (const i of indexes.filter((at) => machine.transitions[at]?.extension === undefined)) {
        expect(problemsOf(withoutEdge(machine, i))).toHaveLength(1)
        for (const to of Object.keys(machine.states).filter((state) => state !== machine.transitions[i]?.to))
          expect(problemsOf(withEdge(machine, i, { to })).length).toBeGreaterThan(0)
      }
    })

    test('when an extension does not say that it is one', () => {
      for (const [i, { extension, ...edge }] of machine.transitions.entries()) {
        const unmarked = { ...machine, transitions: machine.transitions.with(i, edge) }
        expect(problemsOf(unmarked)).toHaveLength(extension === undefined ? 0 : 1)
      }
    })

    test('when a guard that is drawn is not asked', () => {
      const guards = diagramOf(name).arrows.flatMap((arrow) => /\((\w+)\)/.exec(arrow.label)?.[1] ?? [])
      const found = indexes.flatMap((i) =>
        guards.filter(
          (guard) =>
            machine.transitions[i]?.when?.includes(guard) && problemsOf(withoutGuard(machine, i, guard)).length === 1,
        ),
      )
      expect(found.toSorted()).toEqual(guards.toSorted())
    })

    test('when it begins or ends elsewhere', () => {
      const [state = ''] = Object.keys(machine.states).filter(
        (s) => s !== machine.initial && !machine.states[s]?.terminal,
      )
      expect(problemsOf({ ...machine, initial: state })).toHaveLength(1)
      const ended = { ...machine.states, [state]: { tone: 'idle' as const, meaning: 'Over.', terminal: true as const } }
      expect(problemsOf({ ...machine, states: ended })).toHaveLength(1)
    })
  },
)
