import { machineDigest } from '../../src/kernel/digest.ts'
import type { Machine, Transition } from '../../src/kernel/machine.ts'
import { toMermaid } from '../../src/kernel/topology.ts'
import { machines } from '../../src/machines/all.ts'
import { sha256 } from '../machine-digests.ts'
import { code, fenced, type Page, page, table } from './page.ts'

export const machinesPage: Page = {
  path: 'docs/reference/machines.md',
  render: () =>
    page(
      'Machines',
      'Every lifecycle is one of these declarations; nothing moves except along their edges. A move is recorded by the rune named next to it. Where the rune belongs to another machine, the move is *carried* by that machine’s own; where there is none, the fold applies the move by itself.',
      table(
        ['machine', 'what it is', 'states', 'moves', 'version'],
        machines.map((machine) => [
          `[${machine.name}](#${machine.name})`,
          machine.meaning,
          String(Object.keys(machine.states).length),
          String(machine.transitions.length),
          String(machine.version),
        ]),
      ),
      ...machines.flatMap(section),
    ),
}

function section(machine: Machine): readonly string[] {
  const { name, version, meaning, opens, states, transitions, forbidden, endless, extension } = machine
  return [
    `## ${name}`,
    meaning,
    [
      `- version ${version}, digest ${code(machineDigest(machine, sha256))}`,
      `- begins in ${code(machine.initial)}, ${opens === null ? 'with its first move' : `with the rune ${code(opens)}`}`,
      ...(endless === undefined ? [] : [`- has no end: ${endless}`]),
      ...(extension === undefined ? [] : [`- is our own: ${extension}`]),
    ].join('\n'),
    fenced('mermaid', toMermaid(machine)),
    '### States',
    table(
      ['state', 'meaning', 'tone', 'flags'],
      Object.entries(states).map(([state, { meaning: means, tone, terminal, stable, resumable }]) => [
        code(state),
        means,
        tone,
        [terminal && 'terminal', stable && 'stable', resumable && 'resumable'].filter(Boolean).join(', '),
      ]),
    ),
    '### Moves',
    table(['from', 'trigger', 'to', 'if', 'rune', 'extension'], transitions.map(move)),
    '### Never',
    table(
      ['from', 'to', 'because'],
      forbidden.map(({ from, to, because }) => [code(from), code(to), because]),
    ),
  ]
}

function move({ from, on, to, when = [], rune, carried, extension }: Transition): readonly string[] {
  const recorded = rune === null ? 'none' : `${code(rune)}${carried ? ' (carried)' : ''}`
  return [code(from), code(on), code(to), when.map(code).join(' and '), recorded, extension ?? '']
}
