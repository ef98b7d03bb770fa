import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { dieBy } from './adapters/host/crashes.ts'
import { systemHost } from './app/system-host.ts'
import { openTerminal } from './app/terminal.ts'
import type { Arguments, Io } from './cli/command.ts'
import { commands } from './cli/commands/all.ts'
import { exits } from './cli/exits.ts'
import { next } from './cli/hint.ts'
import { run } from './cli/run.ts'
import { printable } from './kernel/printable.ts'
import { stackOf } from './runtime/thrown.ts'

/** Wires the rooms together. Nobody imports this file but the launcher. */
export function main(args: readonly string[]): Promise<number> {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  leaveWithReader()
  dieBy(({ thrown, culprit }) => {
    process.stderr.write(`${printable(culprit.describe(thrown))}\n`)
    if (!culprit.isUnknown()) process.exit(exits.failed)
    const { tool, run_id } = culprit.about
    process.stderr.write(`Whether ${printable(tool)} happened is unknown; it is not repeated.\n`)
    next(io(), placesIn(args), `watch ${run_id} --work`, 'inbox')
    process.exit(exits.unknown)
  })
  return run({ commands, version }, args, io()).catch((error) => {
    // A bug. Its message may hold what others wrote.
    process.stderr.write(`${printable(stackOf(error))}\n`)
    return 1
  })
}

/** Where the command was pointed to, for the commands that it names. */
function placesIn(args: readonly string[]): Arguments {
  const place = { type: 'string' } as const
  const options = { server: place, store: place, config: place }
  const { values } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true })
  return { positionals: [], values: values as Arguments['values'] }
}

function io(): Omit<Io, 'command'> {
  return {
    out: (text) => process.stdout.write(`${text}\n`),
    err: (text) => process.stderr.write(`${text}\n`),
    write: (text) => process.stdout.write(text),
    terminal: openTerminal(),
    // Whoever came through npm has no command of this name on his path.
    program: process.env.npm_command === undefined ? 'statewright' : 'npx statewright',
    host: systemHost,
  }
}

/** Whoever read the output has left, as `head` does when it has enough: this process leaves too, in its usual way. */
function leaveWithReader(): void {
  let isLeaving = false
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    if (!isLeaving) process.kill(process.pid, 'SIGTERM')
    isLeaving = true
  })
}
