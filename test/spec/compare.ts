import type { Machine } from '../../src/kernel/machine.ts'
import { type Diagram, readLabel } from '../support/mermaid.ts'

interface Edge {
  readonly name: string
  readonly guards: readonly string[]
}

/** `prose`: the labels are sentences, so a trigger is their letters, whatever stands between them. */
export type Labels = 'triggers' | 'prose'

/** The differences between a specification's diagram and the edges of a machine that are not marked as extensions. */
export function compareWithSpec(machine: Machine, diagram: Diagram, labels: Labels): readonly string[] {
  const spelled = labels === 'prose' ? letters : (trigger: string) => trigger
  const edgeName = (from: string, to: string, trigger: string) => `${from} → ${to} on ${spelled(trigger)}`
  const spec: readonly Edge[] = diagram.arrows.flatMap((arrow) => {
    const parts = labels === 'prose' ? [{ trigger: arrow.label, guards: [] }] : readLabel(arrow)
    return parts.map(({ trigger, guards }) => ({ name: edgeName(arrow.from, arrow.to, trigger), guards }))
  })
  const ours: readonly Edge[] = machine.transitions
    .filter((t) => t.extension === undefined && machine.extension === undefined)
    .map((t) => ({ name: edgeName(t.from, t.to, t.on), guards: t.when ?? [] }))
  const terminal = Object.keys(machine.states).filter((state) => machine.states[state]?.terminal)
  return [
    ...missing(spec, ours).map((edge) => `the specification has ${edge}, the machine does not`),
    ...missing(ours, spec).map((edge) => `the machine has ${edge}, the specification does not`),
    ...spec.flatMap(({ name, guards }) => {
      const when = ours.find((edge) => edge.name === name)?.guards
      return guards
        .filter((guard) => when?.includes(guard) === false)
        .map((guard) => `${name} lacks the guard ${guard}`)
    }),
    ...(diagram.initial.join() === machine.initial ? [] : [`it begins in ${diagram.initial}, not ${machine.initial}`]),
    ...(diagram.terminal.toSorted().join() === terminal.toSorted().join()
      ? []
      : [`it ends in ${diagram.terminal}, not ${terminal}`]),
  ]
}

function missing(edges: readonly Edge[], among: readonly Edge[]): readonly string[] {
  const names = among.map((edge) => edge.name)
  return edges.map((edge) => edge.name).filter((name) => !names.includes(name))
}

function letters(text: string): string {
  return text.replaceAll(/[^A-Za-z]/g, '').toLowerCase()
}
