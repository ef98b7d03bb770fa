import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { asking } from '../support/server.ts'

const launcher = join(import.meta.dirname, '../../bin/statewright.js')
const config = join(import.meta.dirname, 'served.config.ts')
const token = 'token-of-the-kill-loop'

export interface Place {
  /** Where the store and everything next to it is. */
  readonly folder: string
  readonly store: string
  readonly bankPort: number
  /** How many processes are loaded ahead. */
  readonly spares: number
}

export interface Life {
  /** Resolves when it answers requests, or has ended. */
  readonly ready: Promise<void>
  ask: ReturnType<typeof asking>
  isOver(): boolean
  kill(): Promise<void>
  /** Ends it as an operator would, and says how it ended. */
  stop(): Promise<number | string>
}

/** Processes of `statewright serve` on one store, one after the other. */
export function createLives({ folder, store, bankPort, spares }: Place) {
  const waiting: ChildProcess[] = []
  let said = ''

  function load(): ChildProcess {
    const child = spawn(process.execPath, [launcher, 'serve', '--config', config, '--port', '0', '--quiet'], {
      cwd: folder,
      env: {
        ...process.env,
        NODE_COMPILE_CACHE: join(folder, 'compiled'),
        FAULTS_STORE: store,
        FAULTS_BANK: String(bankPort),
        FAULTS_TOKEN: token,
      },
    })
    // It may be killed before it reads.
    child.stdin?.on('error', () => {})
    return child
  }

  return {
    /** Lets the next process open the store. */
    begin(): Life {
      const child = waiting.shift() ?? load()
      while (waiting.length < spares) waiting.push(load())
      const ready = Promise.withResolvers<void>()
      const url = Promise.withResolvers<string>()
      url.promise.catch(() => {})
      let out = ''
      let isOver = false
      child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
        out += piece
        said += piece
        const [, found] = /on (http:\S+)\n/.exec(out) ?? []
        if (found === undefined) return
        url.resolve(found)
        ready.resolve()
      })
      child.stderr?.setEncoding('utf8').on('data', (piece: string) => {
        said += piece
      })
      const over = once(child, 'close').then(([code, signal]) => {
        isOver = true
        ready.resolve()
        url.reject(new Error('It ended before it was ready.'))
        return (code ?? signal) as number | string
      })
      child.stdin?.write('go\n')
      let ask: ReturnType<typeof asking> | undefined
      return {
        ready: ready.promise,
        isOver: () => isOver,
        async ask(path, request) {
          ask ??= asking(await url.promise)
          return ask(path, { token, ...request })
        },
        async kill() {
          child.kill('SIGKILL')
          await over
        },
        stop() {
          child.kill('SIGTERM')
          const late = setTimeout(() => child.kill('SIGKILL'), 20_000)
          return over.finally(() => clearTimeout(late))
        },
      }
    },
    /** Everything that they wrote. */
    output: () => said,
    async close() {
      await Promise.all(
        waiting.splice(0).map((child) => {
          child.kill('SIGKILL')
          return once(child, 'close')
        }),
      )
    },
  }
}
