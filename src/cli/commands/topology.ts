import type { Machine } from '../../kernel/machine.ts'
import { toMermaid, topology, toXState } from '../../kernel/topology.ts'
import { machines } from '../../machines/all.ts'
import { command } from '../command.ts'

const written = { json: topology, xstate: toXState }
const drawn = { mermaid: toMermaid, text: describe }

/** The command `topology`. */
export const topologyCommand = command({
  name: 'topology',
  usage: 'statewright topology [machine] [--json | --mermaid | --xstate]',
  summary: 'Print one machine, or all of them: states, moves, forbidden moves and why.',
  takes: [0, Number.MAX_SAFE_INTEGER],
  options: {
    json: { type: 'boolean', summary: 'the topology object; all machines: one object by name' },
    mermaid: { type: 'boolean', summary: 'a Mermaid state diagram' },
    xstate: { type: 'boolean', summary: 'an XState 5 configuration' },
  },
  async run({ words, onlyOne, refuse, io: { out } }) {
    const form = onlyOne(['json', 'mermaid', 'xstate']) ?? 'text'
    if (words.length > 1) throw refuse(`One machine at a time, not ${words.join(' ')}.`)
    const [name] = words
    const shown = machines.filter((machine) => name === undefined || machine.name === name)
    if (shown.length === 0)
      throw refuse(`There is no machine "${name}"; there are ${machines.map((m) => m.name).join(', ')}.`)
    if (form === 'text' || form === 'mermaid') return out(shown.map(drawn[form]).join('\n\n'))
    const entries = shown.map((machine) => [machine.name, written[form](machine)] as const)
    out(JSON.stringify(name === undefined ? Object.fromEntries(entries) : entries[0]?.[1], null, 2))
  },
})

function describe(machine: Machine): string {
  const states = Object.entries(machine.states).map(([name, state]) => {
    const flags = [name === machine.initial && 'initial', state.terminal && 'terminal', state.resumable && 'resumable']
    const marks = flags.filter(Boolean).join(', ')
    return `  ${name}${marks ? ` (${marks})` : ''}: ${state.meaning}`
  })
  const moves = machine.transitions.map(
    ({ from, on, to, when = [], extension }) =>
      `  ${from} → ${to} on ${on}${when.length > 0 ? ` if ${when.join(' and ')}` : ''}${extension ? ' (extension)' : ''}`,
  )
  const never = machine.forbidden.map(({ from, to, because }) => `  ${from} → ${to}: ${because}`)
  const title = `${machine.name} v${machine.version}: ${machine.meaning}`
  return [title, '', 'states', ...states, '', 'moves', ...moves, '', 'never', ...never].join('\n')
}
