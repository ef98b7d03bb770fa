import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const launcher = fileURLToPath(new URL('../../../bin/statewright.js', import.meta.url))
const onSources = new URL('./on-sources.mjs', import.meta.url).href

export interface Ended {
  readonly exit: number | string
  readonly out: string
  readonly err: string
}

/** The command as a user starts it, in a process of its own. */
export function start(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child: ChildProcess = spawn(process.execPath, ['--import', onSources, launcher, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env, CI: '1', NO_COLOR: '1' },
  })
  const heard = { out: '', err: '' }
  const listeners = new Set<() => void>()
  for (const [name, stream] of [['out', child.stdout] as const, ['err', child.stderr] as const])
    stream?.setEncoding('utf8').on('data', (piece: string) => {
      heard[name] += piece
      for (const listener of listeners) listener()
    })
  const over = once(child, 'close').then(
    ([code, signal]): Ended => ({ exit: (code ?? signal) as number | string, ...heard }),
  )
  return {
    pid: child.pid ?? 0,
    over,
    heard,
    kill(signal: 'SIGKILL' | 'SIGTERM' | 'SIGINT' = 'SIGKILL') {
      child.kill(signal)
      return over
    },
    /** Resolves with what was found as soon as it is printed. */
    async prints(pattern: RegExp, within_ms = 60_000): Promise<RegExpExecArray> {
      const { promise, resolve, reject } = Promise.withResolvers<RegExpExecArray>()
      const look = () => {
        const found = pattern.exec(heard.out)
        if (found !== null) resolve(found)
      }
      listeners.add(look)
      const late = setTimeout(
        () => reject(new Error(`${pattern} was not printed: ${JSON.stringify(heard)}`)),
        within_ms,
      )
      void over.then(({ exit }) => reject(new Error(`It ended with ${exit}: ${JSON.stringify(heard)}`)))
      look()
      return promise.finally(() => {
        clearTimeout(late)
        listeners.delete(look)
      })
    },
  }
}

export type Process = ReturnType<typeof start>

/** A command that ends by itself. */
export async function runToEnd(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const process = start(args, env)
  const late = setTimeout(() => void process.kill(), 60_000)
  return process.over.finally(() => clearTimeout(late))
}
