import { statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { differences } from '../../../support/acknowledged.ts'
import { each, isProof, sample, seed } from '../../../support/sampling.ts'
import { scratchFolder } from '../../../support/scratch-folder.ts'
import { type Call, pathOf, trace } from '../../../support/strace.ts'
import { databaseIn, workload } from '../../../support/workload-command.ts'

const { fresh } = scratchFolder('faults')
const calls = ['openat', 'pwrite64', 'fsync', 'fdatasync', 'ftruncate', 'unlink', 'rename']
interface Told {
  readonly code: string
  readonly message: string
  readonly details: object
}

/** Runs the workload with a fault in its way, and says what the store told its caller, and what was left. */
async function suffer(inject: string) {
  const folder = fresh()
  const { stdout, stderr, code, struck, calls: made } = await trace(workload(folder, 1), { calls, inject })
  const told = (when: string) => {
    const line = stdout.split('\n').find((text) => text.startsWith(`${when} `))
    return line === undefined ? undefined : (JSON.parse(line.slice(when.length + 1)) as Told)
  }
  return {
    at: `${inject} (seed ${seed})`,
    struck,
    stderr,
    code,
    failed: made.filter(({ result }) => result === -1),
    unopened: told('unopened'),
    refused: told('refused'),
    next: told('then'),
    wentOn: stdout.includes('went on'),
    isClosed: stdout.includes('closed\n'),
    wrong: await differences(databaseIn(folder), stdout),
  }
}

type Suffered = Awaited<ReturnType<typeof suffer>>

/** One of the ways in which a store may answer a fault of its disk. Undefined: it lied, or broke. */
function answer({ unopened, refused, next, wentOn, isClosed, failed }: Suffered): string | undefined {
  if (unopened?.code === 'store_unusable') return 'it did not open, and said why'
  if (refused?.code === 'store_poisoned' && next?.code === 'store_poisoned')
    return 'it stopped, and said it does not know'
  if (refused?.code === 'segment_unwritable' && wentOn) return 'it did not archive, and went on'
  // SQLite does not count a folder that could not be synced as a failure.
  if (isClosed && failed.filter(wasInjected).every(({ args }) => isFolder(args))) return 'only a name was not synced'
  return undefined
}

const wasInjected = ({ name }: Call) => name === 'fsync' || name === 'fdatasync'
const isFolder = ([target = '']: Call['args']) => statSync(pathOf(target)).isDirectory()

/** How often the busiest thread makes a call: that many faults can be injected. */
async function countOf(name: string): Promise<number> {
  const { calls: made, code } = await trace(workload(fresh(), 1), { calls })
  expect(code).toBe(0)
  const perThread = Map.groupBy(
    made.filter((call) => call.name === name),
    ({ thread }) => thread,
  )
  return Math.max(...perThread.values().map((those) => those.length))
}

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1)

async function sufferEach(faults: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const answers = new Map<string, number>()
  await each(faults, 2, async (fault) => {
    const suffered = await suffer(fault)
    const given = answer(suffered)
    expect(suffered).toMatchObject({ struck: expect.any(Number), stderr: '', wrong: [] })
    expect(suffered.struck, suffered.at).toBeGreaterThan(0)
    expect(given, JSON.stringify(suffered)).toBeDefined()
    answers.set(given ?? '', (answers.get(given ?? '') ?? 0) + 1)
  })
  return answers
}

test('sqlite faults: a sync that fails stops the store, and a restart tells what was recorded', async () => {
  const all = upTo(await countOf('fsync'))
  const chosen = isProof ? all : sample(all, 14)
  const answers = await sufferEach(chosen.map((k) => `fsync:error=EIO:when=${k}`))
  expect(answers.get('it stopped, and said it does not know')).toBeGreaterThan(1)
})

test('sqlite faults: a full disk stops the store, and nothing acknowledged is lost', async () => {
  const all = upTo(await countOf('pwrite64'))
  const chosen = isProof ? all : [...sample(all.slice(0, -9), 12), all.length - 8]
  const answers = await sufferEach(chosen.map((k) => `pwrite64:error=ENOSPC:when=${k}+`))
  expect(answers.get('it stopped, and said it does not know')).toBeGreaterThan(1)

  const { refused } = await suffer(`pwrite64:error=ENOSPC:when=${all.length - 8}+`)
  expect(refused?.message).toContain('the disk is full')
  expect(refused?.details).toMatchObject({ outcome: 'unknown' })
})

test('sqlite faults: a segment that is not surely on disk is not counted as one, and the store goes on', async () => {
  const folder = fresh()
  const path = `${databaseIn(folder)}.segments`
  const command = workload(folder, 1)
  const { struck, stdout } = await trace(command, { calls, path, inject: 'fsync:error=EIO:when=1+' })
  expect(struck).toBeGreaterThan(0)
  expect(stdout).toContain('"code":"segment_unwritable"')
  expect(stdout).toContain('went on')
  expect(await differences(databaseIn(folder), stdout)).toEqual([])
})

test('sqlite faults: a file that may not be written is refused when the store opens', async () => {
  const folder = fresh()
  const path = databaseIn(folder)
  const { struck, stdout } = await trace(workload(folder, 1), {
    calls,
    path,
    inject: 'openat:error=EROFS:when=1+',
  })
  expect(struck).toBeGreaterThan(0)
  expect(stdout).toContain('"code":"store_unusable"')
  expect(stdout).toContain('it may be read but not written')
  expect(stdout).not.toContain('recorded')
})
