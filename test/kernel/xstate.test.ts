import { describe, expect, test } from 'vitest'
import { createMachine, transition as moveInXState } from 'xstate'
import { guardNames, type Machine } from '../../src/kernel/machine.ts'
import { toXState } from '../../src/kernel/topology.ts'
import { suppose } from '../../src/kernel/transition.ts'
import { machines } from '../../src/machines/all.ts'
import { withEdge, withoutEdge, withoutGuard } from '../conformance/mutate.ts'
import { tableCases, type Valuation } from '../conformance/table.ts'

/** The exported configuration in the real package. Guards are supplied here, from whatever `current` holds. */
function loadInXState(machine: Machine) {
  let current: Valuation = {}
  const conjunctions = machine.transitions.flatMap(({ when }) => (when === undefined ? [] : [when]))
  const guards = Object.fromEntries(
    conjunctions.map((when) => [when.join('_and_'), () => when.every((guard) => current[guard] === true)]),
  )
  const config = JSON.parse(JSON.stringify(toXState(machine))) as Parameters<typeof createMachine>[0]
  const loaded = createMachine(config).provide({ guards })
  return {
    loaded,
    move(from: string, type: string, valuation: Valuation): string | undefined {
      current = valuation
      const before = loaded.resolveState({ value: from })
      if (!before.can({ type })) return undefined
      return String(moveInXState(loaded, before, { type })[0].value)
    },
  }
}

function differences(machine: Machine, exported: Machine): readonly string[] {
  const { move } = loadInXState(exported)
  return tableCases(machine)
    .flatMap(({ from, on, guards }) => {
      const decision = suppose(machine, from, on, (guard) => guards[guard] === true)
      const ours = decision.allowed ? decision.to : undefined
      const theirs = move(from, on, guards)
      return ours === theirs ? [] : [`${from} on ${on}: ours ${ours}, theirs ${theirs}`]
    })
    .toArray()
}

describe.each(machines.map((m) => [m.name, m as Machine] as const))('XState: machine %s', (_, machine) => {
  test('has the same initial state and states in XState', () => {
    const { loaded } = loadInXState(machine)
    expect(loaded.getInitialSnapshot(undefined as never).value).toBe(machine.initial)
    expect(Object.keys(loaded.states)).toEqual(Object.keys(machine.states))
    const final = Object.values(loaded.states).filter((state) => state.type === 'final')
    expect(final.map((state) => state.key)).toEqual(
      Object.keys(machine.states).filter((state) => machine.states[state]?.terminal),
    )
  })

  test('moves in XState as in ours, from every state, on every trigger, for every guard valuation', () => {
    expect(differences(machine, machine)).toEqual([])
  })

  test('is told from an export that lost an edge or a guard, or leads elsewhere', () => {
    const other = Object.keys(machine.states).find((state) => state !== machine.transitions[0]?.to) as string
    expect(differences(machine, withoutEdge(machine, 0))).not.toEqual([])
    expect(differences(machine, withEdge(machine, 0, { to: other }))).not.toEqual([])
    const guard = guardNames(machine)[0]
    const at = machine.transitions.findIndex((t) => guard !== undefined && t.when?.includes(guard))
    if (guard !== undefined) expect(differences(machine, withoutGuard(machine, at, guard))).not.toEqual([])
  })
})
