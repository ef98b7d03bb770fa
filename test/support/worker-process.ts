import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { whenFinished } from './concurrent.ts'
import type { ProgramOptions, Said } from './worker-program.ts'

const program = join(import.meta.dirname, 'worker-program.ts')

export interface WorkerProcess {
  readonly pid: number
  /** Everything it said so far. */
  readonly said: readonly Said[]
  /** Waits until it has said something like this, and gives it back. */
  until<S extends Said>(fits: (said: Said) => said is S): Promise<S>
  signal(name: 'SIGCONT' | 'SIGKILL' | 'SIGSTOP' | 'SIGTERM'): void
  /** Resolves with the exit code, or with the signal that ended it. */
  readonly over: Promise<number | string>
}

/** A worker in a process of its own. It is ready when the promise resolves, and gone when the test ends. */
export async function startWorkerProcess(options: ProgramOptions): Promise<WorkerProcess> {
  // Before anything is loaded: some take the clock once and keep it.
  const skewed = `data:text/javascript,const now = Date.now; Date.now = () => now() + ${options.skew_ms ?? 0}`
  const child = spawn(process.execPath, ['--import', skewed, program, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const said: Said[] = []
  const waiting = new Set<() => void>()
  createInterface({ input: child.stdout }).on('line', (line) => {
    said.push(JSON.parse(line) as Said)
    for (const look of waiting) look()
  })
  const over = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string)
  whenFinished(async () => {
    child.kill('SIGKILL')
    await over
  })

  function until<S extends Said>(fits: (said: Said) => said is S): Promise<S> {
    return new Promise((resolve, reject) => {
      const deadline = setTimeout(() => reject(new Error('The worker did not say so within 60 s.')), 60_000)
      const look = () => {
        const found = said.find(fits)
        if (found === undefined) return
        clearTimeout(deadline)
        waiting.delete(look)
        resolve(found)
      }
      waiting.add(look)
      look()
      void over.then((how) => {
        clearTimeout(deadline)
        reject(new Error(`The worker ended with ${how} before it said so.`))
      })
    })
  }

  await until((s): s is Said => s.said === 'ready')
  return { pid: child.pid ?? 0, said, until, signal: (name) => void child.kill(name), over }
}
