import type { Machine } from './machine.ts'

/** A state diagram in Mermaid's words. Guards stand in brackets behind the trigger. */
export function toMermaid(machine: Machine): string {
  const terminal = Object.entries(machine.states).filter(([, state]) => state.terminal)
  return [
    'stateDiagram-v2',
    `  [*] --> ${machine.initial}`,
    ...machine.transitions.map(
      ({ from, to, on, when = [] }) => `  ${from} --> ${to} : ${on}${when.length > 0 ? ` [${when.join(', ')}]` : ''}`,
    ),
    ...terminal.map(([name]) => `  ${name} --> [*]`),
  ].join('\n')
}
