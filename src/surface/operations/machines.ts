import { faults } from '../../faults/catalogue.ts'
import type { Machine, State } from '../../kernel/machine.ts'
import { type Topology, topology } from '../../kernel/topology.ts'
import { machines } from '../../machines/all.ts'
import { contractMachine } from '../../machines/contract.ts'
import { subjects } from '../../runelog/models.ts'
import { othersTurn } from '../../runelog/slices.ts'
import { summaries } from '../../runtime/models/summaries.ts'
import { machineEndpoints } from '../../wire/machine.ts'
import { defineOperation } from '../operation.ts'

/** Lists the machines. */
export const listMachines = defineOperation({
  ...machineEndpoints.listMachines,
  summary: 'Every machine, with its version and its purpose.',
  immutable: true,
  run: async () => machines.map(({ name, version, meaning }) => ({ name, version, meaning })),
})

/** Reads one machine. */
export const getMachine = defineOperation({
  ...machineEndpoints.getMachine,
  summary: 'The states, moves and forbidden moves of one machine.',
  immutable: true,
  async run(_backend, { params: { name } }): Promise<Topology> {
    const machine = machines.find((m) => m.name === name)
    if (machine === undefined) throw faults.not_found({ what: 'machine', id: name, known: machines.map((m) => m.name) })
    return topology(machine)
  },
})

/** Reads the topology of execution contracts. */
export const getTopology = defineOperation({
  ...machineEndpoints.getTopology,
  summary: 'The states, moves and forbidden moves of an execution contract.',
  immutable: true,
  run: async (): Promise<Topology> => topology(contractMachine),
})

/** Counting stops at this number. */
const countedUpTo = 10_000

/** Short-lived machines: the store lists only their resumable states. The others are counted in sessions at work. */
const passing: ReadonlySet<string> = new Set(['turn', 'tool', 'contract'])

const lookedInto = 500

/** Counts the subjects in each state. */
export const getOccupancy = defineOperation({
  ...machineEndpoints.getOccupancy,
  summary: 'The number of subjects in each non-terminal state of every machine.',
  async run({ runelog, views }) {
    const working = await runelog.rows(summaries, { tag: 'running', limit: lookedInto })
    const live: { readonly machine: string; readonly state: string }[] = []
    for (const { key } of working) {
      for (const { machine, state } of (await views.of(key)).state.subjects.values())
        if (passing.has(machine)) live.push({ machine, state })
      await othersTurn()
    }

    const counted = machines.map(async (machine: Machine) => {
      const states = livingStates(machine).map(async (state) => {
        const isListed = !passing.has(machine.name) || machine.states[state]?.resumable === true
        if (!isListed) {
          const count = live.filter((subject) => subject.machine === machine.name && subject.state === state).length
          return { state, count, is_capped: working.length === lookedInto, oldest_since: null }
        }
        const { count, first } = await runelog.count(subjects, `${machine.name}:${state}`, countedUpTo)
        await othersTurn()
        return { state, count, is_capped: count === countedUpTo, oldest_since: first }
      })
      return { machine: machine.name, states: await Promise.all(states) }
    })
    return { machines: await Promise.all(counted) }
  },
})

/** The states to count: not the terminal ones, and not the state in which an endless machine rests. */
function livingStates(machine: Machine): readonly string[] {
  return Object.entries<State>(machine.states).flatMap(([state, { terminal, stable }]) =>
    terminal || (machine.endless !== undefined && stable) ? [] : [state],
  )
}

/** Finds subjects by the beginning of their id. */
export const findSubjects = defineOperation({
  ...machineEndpoints.findSubjects,
  summary: 'Sessions, runs, executions, interactions and all else that has a lifecycle, by the beginning of their id.',
  async run({ runelog, views }, { query: { prefix, limit } }) {
    const rows = await runelog.rows(subjects, { prefix, limit, backward: true, byKey: true })
    const items = rows.map(async ({ key, sort, value: { machine, state, session_id } }) => {
      const isHidden = machine === 'contract' && (await views.of(session_id)).hidden.has(key)
      return isHidden ? [] : [{ subject_id: key, machine, state, session_id, at: sort ?? 0 }]
    })
    return { items: (await Promise.all(items)).flat() }
  },
})
