import type { Command } from './command.ts'
import { type Exit, exitMeanings, exits } from './exits.ts'

export function overview(commands: readonly Command[]): string {
  const width = Math.max(...commands.map((c) => c.name.length), '--version'.length)
  const line = (name: string, says: string) => `  ${name.padEnd(width)}  ${says}`
  return [
    'usage: statewright <command> [options]',
    '',
    ...commands.map((c) => line(c.name, c.summary)),
    '',
    line('--help', 'Show this, or with a command what it takes.'),
    line('--version', 'Show the version.'),
    '',
    'Exit codes:',
    ...Object.entries(exitMeanings).map(
      ([name, meaning]) => `  ${String(exits[name as Exit]).padStart(3)}  ${meaning}`,
    ),
  ].join('\n')
}

export function helpFor(command: Command): string {
  const flags = Object.entries(command.options).map(([name, { short, summary }]) => ({
    flag: `${short === undefined ? '' : `-${short}, `}--${name}`,
    summary,
  }))
  const width = Math.max(0, ...flags.map((f) => f.flag.length))
  return [
    `usage: ${command.usage}`,
    '',
    command.summary,
    ...(flags.length > 0 ? ['', ...flags.map((f) => `  ${f.flag.padEnd(width)}  ${f.summary}`)] : []),
  ].join('\n')
}
