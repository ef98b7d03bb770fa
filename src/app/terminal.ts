import { createInterface } from 'node:readline/promises'
import type { Terminal } from '../cli/command.ts'

/** The terminal this process sits at. Questions go to standard error, so that the output can go into a pipe. */
export function openTerminal(): Terminal {
  const { stdin, stdout, stderr, env } = process
  const isInteractive = stdin.isTTY === true && stderr.isTTY === true && env.CI === undefined
  return {
    isInteractive,
    isScreen: stdout.isTTY === true,
    hasColor: stdout.isTTY === true && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb',
    width: stdout.columns ?? 100,
    async ask(question, signal) {
      const lines = createInterface({ input: stdin, output: stderr, terminal: isInteractive })
      const over = Promise.withResolvers<undefined>()
      lines.once('close', () => over.resolve(undefined))
      // In its own mode the terminal would swallow the signal that Ctrl-C is meant to be.
      lines.once('SIGINT', () => process.kill(process.pid, 'SIGINT'))
      try {
        const asked = signal === undefined ? lines.question(question) : lines.question(question, { signal })
        const said = await Promise.race([asked.catch(() => undefined), over.promise])
        // Ctrl-D leaves the cursor behind the question; what is said next begins on a line of its own.
        if (said === undefined && isInteractive && signal?.aborted !== true) stderr.write('\n')
        return said
      } finally {
        lines.close()
      }
    },
  }
}
