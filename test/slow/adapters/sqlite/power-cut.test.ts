import { createHash } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { differences } from '../../../support/acknowledged.ts'
import { deeds, fates, type Image, images, recordedCalls } from '../../../support/power-cut.ts'
import { createChance, isProof, sample, seed } from '../../../support/sampling.ts'
import { scratchFolder } from '../../../support/scratch-folder.ts'
import { trace } from '../../../support/strace.ts'
import { databaseIn, workload } from '../../../support/workload-command.ts'

const scratch = scratchFolder('power-cut')

/** Rounds of the workload, disks to look at, and how often each fate is tried at each cut. */
const bounds = isProof ? { program: 8, images: 5000, per_cut: 5 } : { program: 3, images: 500, per_cut: 1 }

async function record(...weakened: readonly string[]) {
  const folder = scratch.fresh()
  const command = workload(folder, bounds.program, ...weakened)
  const recording = await trace(command, { calls: recordedCalls, bytes: true })
  expect(recording).toMatchObject({ code: 0, stdout: expect.stringContaining('closed') })
  return { folder, done: deeds(recording.calls, folder), told: recording.stdout }
}

/** Different disks only: equal ones would be counted for nothing. */
function distinct(all: Iterable<Image>): readonly Image[] {
  const seen = new Map<string, Image>()
  for (const image of all) {
    const sum = createHash('sha256').update(image.told)
    for (const [path, bytes] of image.files) sum.update(`${path} ${bytes.length} `).update(bytes)
    seen.set(sum.digest('hex'), image)
  }
  return [...seen.values()]
}

async function found({ files, told }: Image, folder: string): Promise<readonly string[]> {
  const disk = scratch.fresh()
  for (const [path, bytes] of files) {
    // The index of the write-ahead log is memory that happens to have a name; a restart makes it again.
    if (path.endsWith('-shm')) continue
    const copy = disk + path.slice(folder.length)
    mkdirSync(dirname(copy), { recursive: true })
    writeFileSync(copy, bytes)
  }
  try {
    return await differences(databaseIn(disk), told)
  } catch (error) {
    return [`the store does not open: ${error}`]
  } finally {
    rmSync(disk, { recursive: true })
  }
}

async function judged(...weakened: readonly string[]) {
  const { folder, done, told } = await record(...weakened)
  const chance = createChance()
  const many = Array.from({ length: bounds.per_cut }, () => fates).flat()
  const all = distinct(images(done, folder, chance, many))
  const chosen = sample(all, bounds.images, chance)
  const bad: string[] = []
  for (const image of chosen) {
    const [first] = await found(image, folder)
    if (first !== undefined) bad.push(`cut ${image.cut}, ${image.fate} (seed ${seed}): ${first}`)
  }
  console.log(
    `power cut${weakened.map((how) => `, ${how}`).join('')}: ${bad.length} of ${chosen.length} disks lost something (seed ${seed})`,
  )
  return { chosen, bad, told }
}

test('power cut: no power cut loses an acknowledged rune, whatever of the unsynced writes survives', async () => {
  const { chosen, bad, told } = await judged()
  expect(chosen.length).toBeGreaterThanOrEqual(bounds.images)
  expect(bad).toEqual([])
  // The last disks hold everything, so the images do reach to the end.
  expect(chosen.some((image) => image.told === told)).toBe(true)
})

test('power cut: the same test finds the loss when the store syncs less', async () => {
  const { chosen, bad } = await judged('NORMAL')
  const lost = bad.filter((sentence) => sentence.includes('was acknowledged and is lost'))
  expect(lost.length).toBeGreaterThan(chosen.length / 20)
})
