import type { Couplings } from '../../src/kernel/coupling.ts'
import type { Machine } from '../../src/kernel/machine.ts'
import { machines } from '../../src/machines/all.ts'
import { couplings } from '../../src/machines/couplings.ts'
import { edgeText, type System } from './append.ts'
import { type CallKind, callKinds, type Setting } from './world.ts'

/** The declarations as they stand. */
export const asDeclared: System = {
  machines: new Map<string, Machine>(machines.map((machine) => [machine.name, machine])),
  couplings,
  ignored: new Set(),
}

export function withoutEdge(text: string): System {
  const cut = (machine: Machine): Machine => ({
    ...machine,
    transitions: machine.transitions.filter((t) => edgeText(machine.name, t) !== text),
  })
  return { ...asDeclared, machines: new Map(machines.map((machine) => [machine.name, cut(machine)])) }
}

export function withoutCoupling(text: string): System {
  const [layer, name] = text.split(' ')
  const cut = <R>(rows: Readonly<Record<string, R>>) =>
    Object.fromEntries(Object.entries(rows).filter(([n]) => n !== name))
  const { frames, threads }: Couplings = couplings
  return {
    ...asDeclared,
    couplings: layer === 'frame' ? { frames: cut(frames), threads } : { frames, threads: cut(threads) },
  }
}

/** Every way to choose up to `most` calls, regardless of order. */
function multisets(most: number): CallKind[][] {
  const grow = (chosen: CallKind[], from: number): CallKind[][] =>
    chosen.length === most
      ? [chosen]
      : [chosen, ...callKinds.slice(from).flatMap((kind, i) => grow([...chosen, kind], from + i))]
  return grow([], 0).filter((calls) => calls.length > 0)
}

export function settings(bounds: { calls: number; rounds: number; faults: number }): Setting[] {
  const policies = [
    { mode: 'interactive', strict: true },
    { mode: 'interactive', strict: false },
    { mode: 'auto', strict: false },
  ] as const
  return multisets(bounds.calls).flatMap((calls) =>
    policies.map((policy) => ({ ...policy, calls, rounds: bounds.rounds, faults: bounds.faults })),
  )
}
