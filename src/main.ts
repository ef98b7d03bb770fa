import { parseArgs } from 'node:util'
import { dieBy } from './adapters/host/crashes.ts'
import { openTerminal, systemHost } from './app/host.ts'
import { packageVersion } from './app/package-version.ts'
import { commands } from './cli/commands/all.ts'
import { exits } from './cli/exits.ts'
import type { Io } from './cli/host.ts'
import type { Arguments } from './cli/options.ts'
import { next } from './cli/print.ts'
import { run } from './cli/run.ts'
import { printable } from './kernel/printable.ts'
import { stackOf } from './runtime/thrown.ts'

/** Runs the command line. Only the launcher imports this file. */
export function main(args: readonly string[]): Promise<number> {
  leaveWithReader()
  dieBy(({ thrown, culprit }) => {
    process.stderr.write(`${printable(culprit.describe(thrown))}\n`)
    if (!culprit.isUnknown()) process.exit(exits.failed)
    const { tool, run_id } = culprit.about
    process.stderr.write(`Whether ${printable(tool)} happened is unknown; it is not repeated.\n`)
    next(io(), placesIn(args), `watch ${run_id} --work`, 'inbox')
    process.exit(exits.unknown)
  })
  return run({ commands, version: packageVersion() }, args, io()).catch((error) => {
    // A bug. Its message may hold text of others, so it is made printable.
    process.stderr.write(`${printable(stackOf(error))}\n`)
    return 1
  })
}

/** The places that this command was given, for the commands that it suggests. */
function placesIn(args: readonly string[]): Arguments {
  const place = { type: 'string' } as const
  const options = { server: place, store: place, config: place }
  const { values } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true })
  return { positionals: [], values: values as Arguments['values'] }
}

function io(): Omit<Io, 'command'> {
  return {
    out: (text) => void process.stdout.write(`${text}\n`),
    err: (text) => void process.stderr.write(`${text}\n`),
    write: (text) => void process.stdout.write(text),
    terminal: openTerminal(),
    // Started by npm, the command is not on the user's path.
    program: process.env.npm_command === undefined ? 'statewright' : 'npx statewright',
    host: systemHost,
  }
}

/** Ends this process in its usual way when the reader of its output is gone, as `head` is when it has enough. */
function leaveWithReader(): void {
  let isLeaving = false
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') {
      process.stderr.write(`The output cannot be written: ${error.message}.\n`)
      process.exit(exits.failed)
    }
    if (!isLeaving) process.kill(process.pid, 'SIGTERM')
    isLeaving = true
  })
}
