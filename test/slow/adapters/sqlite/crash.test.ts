import { cpSync, rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { differences } from '../../../support/acknowledged.ts'
import { createChance, each, isProof, sample, seed } from '../../../support/sampling.ts'
import { scratchFolder } from '../../../support/scratch-folder.ts'
import { type Call, pathOf, type Traced, trace } from '../../../support/strace.ts'
import { databaseIn, workload } from '../../../support/workload-command.ts'

const { fresh: freshFolder } = scratchFolder('crash')

/** System calls that change a disk or send something. */
const calls = ['write', 'pwrite64', 'fsync', 'fdatasync', 'ftruncate', 'unlink', 'rename']

interface Point {
  readonly name: string
  readonly k: number
}

/** Each call of the recording that reached the folder or the standard output, as the k-th of its name in its thread. */
function points({ calls }: Traced, folder: string): readonly Point[] {
  const counts = new Map<string, number>()
  const found = new Map<string, Point>()
  for (const { thread, name, args } of calls.toSorted((a, b) => a.started - b.started)) {
    const k = (counts.get(`${thread} ${name}`) ?? 0) + 1
    counts.set(`${thread} ${name}`, k)
    if (touches(folder, args) || (name === 'write' && args[0]?.startsWith('1<'))) found.set(`${name} ${k}`, { name, k })
  }
  return [...found.values()]
}

/**
 * Kills at a point. Threads wake each other with writes of their own, now more often and now less: the last
 * calls of one life may not be there in another, and then it dies at the last one that is.
 */
async function killAt({ name, k }: Point, command: () => readonly string[]): Promise<Traced> {
  const traced = await trace(command(), { calls, inject: `${name}:signal=KILL:when=${k}` })
  return traced.struck === 0 && k > 1 ? killAt({ name, k: k - 1 }, command) : traced
}

function touches(folder: string, [target = '']: Call['args']): boolean {
  const path = target.includes('<') ? pathOf(target) : Buffer.from(target.slice(1, -1).replaceAll('\\x', ''), 'hex')
  return path.toString().startsWith(folder)
}

test('sqlite crash: kill -9 at any write or sync loses nothing that was acknowledged', async () => {
  const rehearsal = freshFolder()
  const whole = await trace(workload(rehearsal, 2), { calls })
  expect(whole).toMatchObject({ code: 0, stdout: expect.stringContaining('closed') })
  expect(await differences(databaseIn(rehearsal), whole.stdout)).toEqual([])

  const all = points(whole, rehearsal)
  expect(all.length).toBeGreaterThan(200)
  const chosen = isProof ? all : sample(all, 40)
  let acknowledged = 0
  await each(chosen, 2, async (point) => {
    let folder = ''
    const { struck, signal, stdout } = await killAt(point, () => {
      folder = freshFolder()
      return workload(folder, 2)
    })
    const at = `${point.name} ${point.k} (seed ${seed})`
    expect({ at, struck, signal }).toEqual({ at, struck: 1, signal: 'SIGKILL' })
    expect({ at, wrong: await differences(databaseIn(folder), stdout) }).toEqual({ at, wrong: [] })
    if (stdout.includes('recorded')) acknowledged += 1
    rmSync(folder, { recursive: true })
  })
  console.log(`kill -9: ${chosen.length} of ${all.length} points, nothing lost (seed ${seed})`)
  // Kills before the first acknowledgement cannot lose one; most must come later.
  expect(acknowledged).toBeGreaterThan(chosen.length / 2)
})

test('sqlite crash: kill -9 again while the store recovers loses nothing either', async () => {
  const killed = freshFolder()
  const { stdout, signal } = await trace(workload(killed, 2), {
    calls,
    inject: 'fsync:signal=KILL:when=25',
  })
  expect(signal).toBe('SIGKILL')
  const again = () => {
    const folder = freshFolder()
    cpSync(killed, folder, { recursive: true })
    return folder
  }
  const rehearsal = again()
  const all = points(await trace(workload(rehearsal, 0), { calls }), rehearsal)
  expect(all.length).toBeGreaterThan(10)
  await each(isProof ? all : sample(all, 8, createChance(seed + 1)), 2, async (point) => {
    let folder = ''
    const second = await killAt(point, () => {
      folder = again()
      return workload(folder, 0)
    })
    expect({ point, struck: second.struck, signal: second.signal }).toEqual({ point, struck: 1, signal: 'SIGKILL' })
    expect({ point, wrong: await differences(databaseIn(folder), stdout) }).toEqual({ point, wrong: [] })
  })
})
