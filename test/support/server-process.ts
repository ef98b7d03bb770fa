import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { tokenFileOf } from '../../src/app/store-key.ts'
import { asking } from './server.ts'

const launcher = fileURLToPath(new URL('../../bin/statewright.js', import.meta.url))

/** The real command in a process of its own. It listens when the promise resolves, and is gone when the test ends. */
export async function startServerProcess(
  config: string,
  database: string,
  args: readonly string[] = ['--port', '0'],
  /** One that the config names. Without it, the owner's, from its place. */
  given?: string,
) {
  const command = [launcher, 'serve', '--config', config, ...args]
  const child = spawn(process.execPath, command, {
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(given !== undefined && { cwd: dirname(config) }),
  })
  let out = ''
  let err = ''
  child.stderr.setEncoding('utf8').on('data', (piece) => {
    err += piece
  })
  const over = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string)
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await over
  })
  const url = await new Promise<string>((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`The server was not there after 60 s: ${out}${err}`)), 60_000)
    child.stdout.setEncoding('utf8').on('data', (piece) => {
      out += piece
      const [, found] = /on (https?:\S+)\n/.exec(out) ?? []
      if (found === undefined) return
      clearTimeout(late)
      resolve(found)
    })
    void over.then((how) => {
      clearTimeout(late)
      reject(new Error(`The server ended with ${how}: ${out}${err}`))
    })
  })
  const token = given ?? readFileSync(tokenFileOf(`sqlite:${database}`), 'utf8').trim()
  // It hangs up on those who were silent for some seconds, perhaps at the moment in which they speak again.
  const ask = asking(url, false)
  return {
    url,
    token,
    ask: (path: string, request: Parameters<typeof ask>[1] = {}) => ask(path, { token, ...request }),
    pid: child.pid ?? 0,
    /** Resolves with the exit code, or with the signal that ended it. */
    over,
    kill: (signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL') => {
      child.kill(signal)
      return over
    },
    out: () => out,
    err: () => err,
  }
}
