import { readFileSync } from 'node:fs'
import { commands } from './cli/commands/all.ts'
import { run } from './cli/run.ts'
import { systemHost } from './system-host.ts'
import { openTerminal } from './terminal.ts'

/** Wires the rooms together. Nobody imports this file but the launcher. */
export function main(args: readonly string[]): Promise<number> {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  return run({ commands, version }, args, {
    out: (text) => process.stdout.write(`${text}\n`),
    err: (text) => process.stderr.write(`${text}\n`),
    write: (text) => process.stdout.write(text),
    terminal: openTerminal(),
    host: systemHost,
  })
}
