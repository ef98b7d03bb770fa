import { once } from 'node:events'
import { systemHost } from '../../src/app/host.ts'
import { openExisting } from '../../src/app/open-store.ts'
import type { Command } from '../../src/cli/command.ts'
import { commands as all } from '../../src/cli/commands/all.ts'
import type { Host, Terminal } from '../../src/cli/host.ts'
import { run } from '../../src/cli/run.ts'

export interface Outcome {
  readonly exit: number
  readonly out: string
  readonly err: string
}

export interface Setting {
  readonly commands?: readonly Command[]
  /** The answers of a person at the terminal, question by question; without them no person is there. */
  readonly typed?: (question: string) => string | undefined
  /** Nothing is typed before this resolves, unless the question is taken back. */
  readonly until?: () => Promise<void>
  /** Output goes to a terminal; else into a pipe. */
  readonly isScreen?: boolean
  /** Is told whenever something was printed. */
  readonly onPrinted?: () => void
  readonly host?: Partial<Host>
}

/** The command line in this process: its output and its exit code. */
export async function runCli(args: readonly string[], setting: Setting = {}): Promise<Outcome> {
  const printed: { out: string[]; err: string[] } = { out: [], err: [] }
  const { commands = all, typed, until, onPrinted, host, isScreen = false } = setting
  const terminal: Terminal = {
    isInteractive: typed !== undefined,
    isScreen,
    hasColor: false,
    async ask(question, signal) {
      const said = typed?.(question)
      if (until !== undefined && signal !== undefined) await Promise.race([until(), once(signal, 'abort')])
      return said
    },
  }
  const exit = await run({ commands, version: '1.2.3' }, args, {
    out(text) {
      printed.out.push(`${text}\n`)
      onPrinted?.()
    },
    err: (text) => void printed.err.push(`${text}\n`),
    write: (text) => void printed.out.push(text),
    terminal,
    program: 'statewright',
    host: {
      ...systemHost,
      openStore: (url, use) => openExisting(url ?? 'sqlite:./no-such-store', use),
      untilSignal: () => Promise.resolve('SIGTERM'),
      ...host,
    },
  })
  const text = (parts: readonly string[]) => parts.join('').replace(/\n$/, '')
  return { exit, out: text(printed.out), err: text(printed.err) }
}
