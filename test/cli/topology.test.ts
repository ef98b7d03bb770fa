import { expect, test } from 'vitest'
import { type Machine, stateNames } from '../../src/kernel/machine.ts'
import type { Topology, toXState } from '../../src/kernel/topology.ts'
import { machines as declared } from '../../src/machines/all.ts'
import { parseMermaid } from '../support/mermaid.ts'
import { runCli } from '../support/run-cli.ts'

const machines: readonly Machine[] = declared
const names = machines.map((machine) => machine.name)

test('topology: topology contract --json has 7 nodes, 9 edges, 34 forbidden moves, and only waiting can be resumed', async () => {
  const { exit, out, err } = await runCli(['topology', 'contract', '--json'])
  const found = JSON.parse(out) as Topology
  expect({ exit, err }).toEqual({ exit: 0, err: '' })
  expect(found.nodes).toHaveLength(7)
  expect(found.edges).toHaveLength(9)
  expect(found.forbidden_transitions).toHaveLength(34)
  expect(found.resumable_statuses).toEqual(['waiting'])
})

test('topology: an edge that no specification has carries its reason, and a label with two triggers is two edges', async () => {
  const { edges } = JSON.parse((await runCli(['topology', 'session', '--json'])).out) as Topology
  const between = (from: string, to: string) => edges.filter((e) => e.from_status === from && e.to_status === to)
  expect(between('created', 'closing')).toMatchObject([
    { extension: 'A session nobody ever wrote to must be closable.' },
  ])
  expect(between('created', 'active').map((e) => e.trigger)).toEqual(['first_message', 'agent_ready'])
  expect(between('created', 'active').filter((e) => 'extension' in e)).toEqual([])
})

test.each(machines.map((machine) => [machine.name, machine] as const))(
  'topology: machine %s prints in all forms',
  async (name, machine) => {
    const json = await runCli(['topology', name, '--json'])
    const mermaid = await runCli(['topology', name, '--mermaid'])
    const xstate = await runCli(['topology', name, '--xstate'])
    const text = await runCli(['topology', name])
    expect([json, mermaid, xstate, text].map(({ exit, err }) => ({ exit, err }))).toEqual(
      Array(4).fill({ exit: 0, err: '' }),
    )
    const states = stateNames(machine)
    expect((JSON.parse(json.out) as Topology).nodes.map((node) => node.status)).toEqual(states)
    expect(parseMermaid(mermaid.out).arrows).toHaveLength(machine.transitions.length)
    expect(Object.keys((JSON.parse(xstate.out) as ReturnType<typeof toXState>).states)).toEqual(states)
    for (const state of states) expect(text.out).toContain(`  ${state}`)
    for (const { because } of machine.forbidden) expect(text.out).toContain(because)
  },
)

test('topology: without a name every machine prints, in every form', async () => {
  expect(Object.keys(JSON.parse((await runCli(['topology', '--json'])).out))).toEqual(names)
  expect(Object.keys(JSON.parse((await runCli(['topology', '--xstate'])).out))).toEqual(names)
  expect((await runCli(['topology', '--mermaid'])).out.split('\n\n').map(parseMermaid)).toHaveLength(names.length)
  const text = (await runCli(['topology'])).out
  for (const { name, version, meaning } of machines) expect(text).toContain(`${name} v${version}: ${meaning}`)
})

test('topology: an unknown machine exits 2 and lists the known ones', async () => {
  const { exit, out, err } = await runCli(['topology', 'parrot', '--json'])
  expect({ exit, out }).toEqual({ exit: 2, out: '' })
  expect((JSON.parse(err) as { message: string }).message).toContain(
    `Unknown machine "parrot". Machines: ${names.join(', ')}.`,
  )
})

test.each([
  ['two forms', ['topology', '--json', '--mermaid'], 'Choose one of --json, --mermaid.'],
  ['two machines', ['topology', 'run', 'turn'], 'One machine at a time, not run turn.'],
  ['a flag that is none', ['topology', '--yaml'], 'Unknown option --yaml. Known options: --json'],
  ['a value for a flag that takes none', ['topology', '--json=yes'], '--json'],
])('topology: %s exit 2 with the usage on standard error', async (_, args, problem) => {
  const { exit, out, err } = await runCli(args)
  expect({ exit, out }).toEqual({ exit: 2, out: '' })
  expect(err).toContain(problem)
  expect(err).toContain('usage: statewright topology [machine] [--json | --mermaid | --xstate]')
})
