import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { extname, join } from 'node:path'
import { createInterface } from 'node:readline'

/** A child process that sends messages of type S. */
export interface Child<S> {
  readonly pid: number
  /** What it says, until it ends. */
  readonly said: AsyncGenerator<S>
  tell(message: object): void
  /** Ends its input, and resolves when it has gone. */
  end(): Promise<void>
  /** SIGKILL: it gets no chance to do anything about it. Resolves with what it died of. */
  kill(): Promise<string | null>
}

/** Starts one of the demo's programs, from the sources or from what was built of them, whichever this is. */
export function startChild<S>(name: string, argument: string): Child<S> {
  const program = join(import.meta.dirname, `${name}${extname(import.meta.filename)}`)
  const child = spawn(process.execPath, [program, argument], { stdio: ['pipe', 'pipe', 'inherit'] })
  const over = once(child, 'exit')
  // A killed process cannot read messages.
  child.stdin.on('error', () => {})
  async function* said(): AsyncGenerator<S> {
    for await (const line of createInterface({ input: child.stdout })) yield JSON.parse(line) as S
  }
  return {
    pid: child.pid ?? 0,
    said: said(),
    tell: (message) => void child.stdin.write(`${JSON.stringify(message)}\n`),
    async end() {
      child.stdin.end()
      await over
    },
    async kill() {
      child.kill('SIGKILL')
      const [, signal] = (await over) as [number | null, string | null]
      return signal
    },
  }
}
