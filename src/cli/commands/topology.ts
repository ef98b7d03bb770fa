import type { Machine } from '../../kernel/machine.ts'
import { toMermaid, topology } from '../../kernel/topology.ts'
import { toXState } from '../../kernel/xstate.ts'
import { machines } from '../../machines/all.ts'
import { badUsage, onlyOne } from '../arguments.ts'
import { command } from '../command.ts'
import { exits } from '../exits.ts'

const forms = {
  json: (machine: Machine) => JSON.stringify(topology(machine), null, 2),
  xstate: (machine: Machine) => JSON.stringify(toXState(machine), null, 2),
  mermaid: toMermaid,
  text: describe,
}

/** The command `topology`. */
export const topologyCommand = command({
  name: 'topology',
  usage: 'statewright topology [machine] [--json | --mermaid | --xstate]',
  summary: 'Print one machine, or all of them: states, moves, forbidden moves and why.',
  options: {
    json: { type: 'boolean', summary: 'the topology object; all machines: one object by name' },
    mermaid: { type: 'boolean', summary: 'a Mermaid state diagram' },
    xstate: { type: 'boolean', summary: 'an XState 5 configuration' },
  },

  async run(args, { out }) {
    const { positionals } = args
    const form = onlyOne(this, args, ['json', 'mermaid', 'xstate']) ?? 'text'
    if (positionals.length > 1) throw badUsage(this, `One machine at a time, not ${positionals.join(' ')}.`)

    const [name] = positionals
    if (name === undefined) {
      out(form === 'json' || form === 'xstate' ? together(form) : machines.map(forms[form]).join('\n\n'))
      return exits.ok
    }
    const machine = machines.find((m) => m.name === name)
    if (machine === undefined)
      throw badUsage(this, `There is no machine "${name}"; there are ${machines.map((m) => m.name).join(', ')}.`)
    out(forms[form](machine))
    return exits.ok
  },
})

function together(form: 'json' | 'xstate'): string {
  const show = form === 'json' ? topology : toXState
  return JSON.stringify(Object.fromEntries(machines.map((machine) => [machine.name, show(machine)])), null, 2)
}

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
  return [
    `${machine.name} v${machine.version}: ${machine.meaning}`,
    '',
    'states',
    ...states,
    '',
    'moves',
    ...moves,
    '',
    'never',
    ...never,
  ].join('\n')
}
