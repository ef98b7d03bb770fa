import { expect } from 'vitest'
import { type Drawn, diagrams, readDiagram } from './support/diagrams.ts'
import { openHouse } from './support/house.ts'
import { runToEnd } from './support/process.ts'
import { scenario } from './support/scenario.ts'

const house = openHouse()

let shownByCli: Readonly<Record<string, Machine>> | undefined

interface Machine {
  readonly initial_status: string
  readonly terminal_statuses: readonly string[]
  readonly nodes: readonly { status: string; meaning: string }[]
  readonly edges: readonly {
    from_status: string
    to_status: string
    trigger: string
    guards: readonly string[]
    extension?: string
  }[]
  readonly forbidden_transitions: readonly { from_status: string; to_status: string; reason: string }[]
}

/** Compares what the product publishes as a machine with the diagram of its specification, in both directions. */
async function equalsItsDiagram(name: keyof typeof diagrams, arrows: number): Promise<void> {
  const isProse = name === 'coordination'
  const drawn: Drawn = readDiagram(diagrams[name], isProse)
  expect(drawn.arrows).toBe(arrows)
  const machine = await house.get<Machine>(`/api/machines/${name}`)
  const unmarked = machine.edges.filter(({ extension }) => extension === undefined)
  const shown = unmarked.map(({ from_status, to_status, trigger, guards }) => {
    // A guard is compared where the diagram draws one; other guards come from the text around it.
    const plain = `${from_status} → ${to_status} on ${trigger}`
    const guarded = guards.map((guard) => `${plain}(${guard})`).find((edge) => drawn.edges.includes(edge))
    return guarded ?? plain
  })
  // THEN the edges without a mark are the edges of the diagram, no fewer and no others
  expect(shown.toSorted()).toEqual(drawn.edges.toSorted())
  expect([machine.initial_status]).toEqual(drawn.initial)
  expect(machine.terminal_statuses.toSorted()).toEqual(drawn.terminal.toSorted())
  // AND every edge with a mark says why it is there
  for (const { extension } of machine.edges) if (extension !== undefined) expect(extension).toMatch(/\w+ \w+ \w+/)
  // AND the command line shows the same machine
  shownByCli ??= JSON.parse((await runToEnd(['topology', '--json'])).out) as Readonly<Record<string, Machine>>
  expect(shownByCli[name]).toEqual(machine)
}

scenario('TU-01', 'the published turn machine has the 12 arrows of its diagram', () => equalsItsDiagram('turn', 12))
scenario('TO-01', 'the published tool machine has the 10 arrows of its diagram', () => equalsItsDiagram('tool', 10))
scenario('SE-01', 'the published session machine has the 11 arrows of its diagram', () =>
  equalsItsDiagram('session', 11),
)
scenario('AG-01', 'the published agent machine has the 9 labelled arrows of its diagram', () =>
  equalsItsDiagram('agent', 9),
)
scenario('GO-01', 'the published goal machine has the 13 arrows of its diagram', () => equalsItsDiagram('goal', 13))
scenario('CO-14', 'the published coordination machine has the 21 arrows of its diagram', () =>
  equalsItsDiagram('coordination', 21),
)
