import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type FaultyProxy, startFaultyProxy } from './proxy.ts'

const program = join(import.meta.dirname, 'worker.ts')

/** From Debian's package libfaketime. */
const libraries = [
  '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1',
  '/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1',
]

function skewedBy(seconds: number): NodeJS.ProcessEnv {
  if (seconds === 0) return process.env
  const library = libraries.find((path) => existsSync(path))
  if (library === undefined)
    throw new Error('The fault loop skews clocks with libfaketime. Install it: apt-get install libfaketime')
  return {
    ...process.env,
    LD_PRELOAD: library,
    FAKETIME: `${seconds > 0 ? '+' : ''}${seconds}s`,
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  }
}

export interface Worker {
  readonly name: string
  readonly proxy: FaultyProxy
  /** Everything that its processes wrote to stdout and stderr. */
  output(): string
  isUp(): boolean
  /** A fault is being played on it. */
  isBusy: boolean
  start(skew_s?: number): Promise<void>
  kill(): Promise<void>
  signal(name: 'SIGSTOP' | 'SIGCONT'): void
  /** Ends it as an operator would; false if it did not end in time. */
  stop(): Promise<boolean>
}

/** One place for a worker, with a proxy of its own. The process in it is killed and started again. */
export async function createWorker(name: string, database: string, bankPort: number): Promise<Worker> {
  const proxy = await startFaultyProxy(database)
  let child: ChildProcess | undefined
  let ended: Promise<unknown> = Promise.resolve()
  let said = ''

  return {
    name,
    proxy,
    isBusy: false,
    output: () => said,
    isUp: () => child !== undefined,
    async start(skew_s = 0) {
      const born = spawn(process.execPath, [program, proxy.url, String(bankPort)], {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: skewedBy(skew_s),
      })
      const ready = Promise.withResolvers<void>()
      let out = ''
      for (const stream of [born.stdout, born.stderr])
        stream.setEncoding('utf8').on('data', (piece: string) => {
          out += piece
          said += piece
          if (out.includes('ready\n')) ready.resolve()
        })
      child = born
      ended = once(born, 'exit').then(() => {
        if (child === born) child = undefined
        ready.resolve()
      })
      const late = setTimeout(() => ready.resolve(), 30_000)
      await ready.promise
      clearTimeout(late)
    },
    async kill() {
      child?.kill('SIGKILL')
      await ended
    },
    signal(which) {
      child?.kill(which)
    },
    async stop() {
      const going = child
      going?.kill('SIGCONT')
      going?.kill('SIGTERM')
      const late = new Promise<'late'>((resolve) => setTimeout(resolve, 20_000, 'late').unref())
      const how = await Promise.race([ended, late])
      if (how === 'late') {
        going?.kill('SIGKILL')
        await ended
      }
      await proxy.close()
      return how !== 'late'
    },
  }
}
