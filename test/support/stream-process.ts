import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Order, ProgramOptions, Report } from './stream-program.ts'

const program = join(import.meta.dirname, 'stream-program.ts')

/** A server in a process of its own. It listens when the promise resolves, and is gone when the test ends. */
export async function startStreamProcess(options: ProgramOptions) {
  const child = fork(program, [JSON.stringify(options)], { execArgv: ['--expose-gc'] })
  const over = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await over
  })
  const reports: Report[] = []
  const waiting = new Set<() => void>()
  child.on('message', (report: Report) => {
    reports.push(report)
    for (const look of waiting) look()
  })

  function heard<S extends Report['said']>(said: S): Promise<Extract<Report, { said: S }>> {
    return new Promise((resolve, reject) => {
      const deadline = setTimeout(() => reject(new Error(`The server did not say "${said}" within 60 s.`)), 60_000)
      const look = () => {
        const at = reports.findIndex((report) => report.said === said)
        if (at === -1) return
        clearTimeout(deadline)
        waiting.delete(look)
        resolve(reports.splice(at, 1)[0] as Extract<Report, { said: S }>)
      }
      waiting.add(look)
      look()
    })
  }

  async function ask<S extends Report['said']>(order: Order, answer: S) {
    child.send(order)
    return heard(answer)
  }

  const { port, session_ids } = await heard('ready')
  return {
    port,
    session_ids,
    rest: () => ask({ do: 'rest' }, 'rests'),
    weigh: () => ask({ do: 'weigh' }, 'weighs'),
    write: (session_id: string, runes: number, bytes: number) =>
      ask({ do: 'write', session_id, runes, bytes }, 'written'),
    async kill() {
      child.kill('SIGKILL')
      const [, signal] = await over
      return signal as string
    },
  }
}
