import { z } from 'zod'
import { faults } from '../../faults/catalogue.ts'
import { type Topology, topology } from '../../kernel/topology.ts'
import { machines } from '../../machines/all.ts'
import { defineOperation } from '../operation.ts'
import { nothing, topologyShape } from '../shapes.ts'

export const listMachines = defineOperation({
  name: 'list_machines',
  method: 'GET',
  path: '/api/machines',
  scope: 'read',
  summary: 'Every machine there is, with its version and what it is for.',
  params: nothing,
  query: nothing,
  body: null,
  returns: z.array(z.object({ name: z.string(), version: z.int(), meaning: z.string() })),
  immutable: true,
  run: async () => machines.map(({ name, version, meaning }) => ({ name, version, meaning })),
})

export const getMachine = defineOperation({
  name: 'get_machine',
  method: 'GET',
  path: '/api/machines/{name}',
  scope: 'read',
  summary: 'The states, moves and forbidden moves of one machine.',
  params: z.object({ name: z.string() }),
  query: nothing,
  body: null,
  returns: topologyShape,
  immutable: true,
  async run(_desk, { params: { name } }): Promise<Topology> {
    const machine = machines.find((m) => m.name === name)
    if (machine === undefined) throw faults.not_found({ what: 'machine', id: name, known: machines.map((m) => m.name) })
    return topology(machine)
  },
})
