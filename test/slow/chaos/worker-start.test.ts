import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { startFaultyProxy } from '../../chaos/proxy.ts'
import { createProject } from '../../support/cli-project.ts'
import { freshDatabase } from '../../support/postgres.ts'
import { isProof } from '../../support/sampling.ts'
import { createTally } from '../../support/tally.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const launcher = join(import.meta.dirname, '../../../bin/statewright.js')
const tally = createTally()

/** So many resets hit a worker, one after the other, from its first connection on. */
const resets = isProof ? [1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50] : [1, 50]

test.each(resets)(
  'F-111 worker: PostgreSQL resets its connections %i times while it starts, and it writes no stack',
  async (count) => {
    const proxy = await startFaultyProxy(await freshDatabase())
    const { config, folder } = createProject(temporaryFolder(), undefined, undefined, proxy.url)
    const child = spawn(process.execPath, [launcher, 'worker', '--config', config], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let said = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (piece: string) => {
        said += piece
      })
    let isOver = false
    const over = once(child, 'close').then(([code, signal]) => {
      isOver = true
      return (code ?? signal) as number | string
    })
    onTestFinished(async () => {
      child.kill('SIGKILL')
      await over
      await proxy.close()
    })

    const deadline = performance.now() + 60_000
    const isUp = () => said.includes('Working with')
    let done = 0
    while (done < count && !isOver && performance.now() < deadline) {
      if (proxy.cut() > 0) done += 1
      await delay(5)
    }
    while (!isUp() && !isOver && performance.now() < deadline) await delay(20)

    // It works, or it ended with a sentence.
    expect(done, said).toBeGreaterThan(0)
    expect(isUp() || isOver, said).toBe(true)
    if (isUp()) child.kill('SIGTERM')
    const end = await over
    const isClean = !/^\s+at /m.test(said) && said.length < 20_000
    tally.count('resets while a worker starts', done, isClean ? 0 : 1)
    expect(said).not.toMatch(/^\s+at /m)
    expect(said.length).toBeLessThan(20_000)
    expect(typeof end, `${end} ${said}`).toBe('number')
    if (!isUp()) expect([end, said]).toEqual([7, expect.stringMatching(/cannot be reached[^\n]+\.\n$/)])
  },
)
