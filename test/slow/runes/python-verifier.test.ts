import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { hostPorts } from '../../../src/adapters/host/ports.ts'
import { openSqliteRunelog } from '../../../src/adapters/sqlite/runelog.ts'
import { accepted } from '../../../src/faults/catalogue.ts'
import type { Draft } from '../../../src/runes/rune.ts'
import { damages } from '../../support/damaged-bundles.ts'
import { createDice } from '../../support/dice.ts'
import { madeAndClosed, plain } from '../../support/drafts.ts'
import { pythonVerdicts, runPython } from '../../support/python.ts'
import {
  ourVerdict,
  own,
  type Parts,
  randomParts,
  stranger,
  type Verdict,
  written,
} from '../../support/random-bundles.ts'
import { changedBundle, pageBundle, pageChanges, pageKey } from '../../support/record-format-page.ts'
import { runCli } from '../../support/run-cli.ts'
import { isProof, seed } from '../../support/sampling.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { createTally } from '../../support/tally.ts'

const tally = createTally()
const scratch = scratchFolder('python-verifier')
const count = isProof ? 1_000 : 60

/** The keys that count: every key, that of the store, that of a stranger, both. */
const trusts: readonly (readonly string[] | undefined)[] = [
  undefined,
  [own.public_key],
  [stranger.public_key],
  [own.public_key, stranger.public_key],
]

/** Each file under each set of keys, by both verifiers. Returns the verdicts of ours under any key. */
async function bothSay(files: readonly Uint8Array[], nameOf: (i: number) => string): Promise<readonly Verdict[]> {
  const [any = []] = await Promise.all(
    trusts.map(async (trusted) => {
      const theirs = await pythonVerdicts(scratch.fresh(), files, trusted)
      const ours: Verdict[] = []
      for (const [i, file] of files.entries()) {
        const verdict = await ourVerdict(file, trusted)
        expect({ event: theirs[i]?.bad }, `${nameOf(i)}: ${theirs[i]?.said} / ${verdict.said}`).toEqual({
          event: verdict.bad,
        })
        ours.push(verdict)
      }
      expect(theirs).toHaveLength(files.length)
      return ours
    }),
  )
  return any
}

const seeds = Array.from({ length: count }, (_, i) => seed * 100_000 + i)

test('verify.py: it accepts random bundles as the product does, also redacted and archived ones', async () => {
  const parts = await Promise.all(seeds.map(randomParts))
  const files = parts.map((one) => Buffer.from(written(one)))
  const verdicts = await bothSay(files, (i) => `seed ${seeds[i]}`)
  expect(verdicts.filter(({ bad }) => bad !== undefined)).toEqual([])
  const kinds = (kind: string) =>
    parts.filter(({ records }) => records.some(({ header }) => header.includes(kind))).length
  expect(kinds('"kind":"rune.redacted"')).toBeGreaterThan(count / 10)
  expect(kinds('"kind":"session.archived"')).toBeGreaterThan(count / 20)
  tally.count('good bundles, both verifiers', files.length)
})

test('verify.py: it names the same first bad event of a damaged bundle as the product', async () => {
  const names = Object.keys(damages)
  const files: Uint8Array[] = []
  const made: string[] = []
  for (let i = 0; files.length < count; i++) {
    const name = names[i % names.length] ?? ''
    const parts: Parts = await randomParts(seed * 100_000 + i)
    const damaged = damages[name]?.(parts, createDice(i))
    if (damaged === undefined) continue
    files.push(Buffer.from(damaged))
    made.push(`${name}, seed ${seed * 100_000 + i}`)
  }
  const verdicts = await bothSay(files, (i) => made[i] ?? '')
  const bad = verdicts.filter((verdict) => verdict.bad !== undefined).length
  // Some damages leave a sound file: an escape in a text that is not there, or a new signature of the owner.
  expect(bad).toBeGreaterThan(0.8 * count)
  tally.count('damaged bundles, both verifiers', files.length)
  tally.count('of them, not sound', bad)
})

test('verify.py: a bundle of the command line is sound, with an archived log, a redaction in it and a long text', async () => {
  // GIVEN a session in a SQLite file that was archived, and redacted in cold storage
  const folder = scratch.fresh()
  const path = join(folder, 'store.db')
  const bundle = join(folder, 'ses_1.bundle')
  const runelog = await openSqliteRunelog(path, hostPorts)
  const [made, ...over] = madeAndClosed('ses_1')
  const runes = [made as Draft, plain('run.briefed', { text: 'Is XY-4711 your code?' })]
  accepted(await runelog.append({ session_id: 'ses_1', runes }))
  const text = 'Grüße, 世界 🦉\n'.repeat(20_000)
  accepted(await runelog.append({ session_id: 'ses_1', runes: [plain('run.briefed', { text })] }))
  accepted(await runelog.append({ session_id: 'ses_1', runes: over }))
  await runelog.close()
  const store = ['--store', `sqlite:${path}`]
  for (const words of [
    ['archive', 'ses_1'],
    ['redact', 'ses_1', '2', '--reason', 'a code'],
    ['export', 'ses_1', '-o', bundle],
  ])
    expect(await runCli([...words, ...store]), words.join(' ')).toMatchObject({ exit: 0 })

  // THEN both accept it, with its key only, and name the same event when one byte of the text is another
  const { exit, out, err } = await runCli(['verify', '--bundle', bundle])
  expect({ exit, err }).toEqual({ exit: 0, err: '' })
  const key = /signed with the key ([0-9a-f]{64})/.exec(out)?.[1] ?? ''
  expect(await runPython([bundle])).toMatchObject({ exit: 0, out: `sound: 10 events, signed with ${key}\n` })
  expect(await runPython(['--key', key, bundle])).toMatchObject({ exit: 0 })
  expect(await runPython(['--key', own.public_key, bundle])).toMatchObject({ exit: 5 })
  const bytes = readFileSync(bundle)
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1
  const [verdict] = await pythonVerdicts(folder, [bytes])
  expect(verdict?.bad).toBe(3)
  expect((await ourVerdict(bytes, undefined)).bad).toBe(3)
})

test('verify.py: it judges the vectors of the page on the format as the page says', async () => {
  const files = [Buffer.from(pageBundle), ...pageChanges.map(changedBundle)]
  const verdicts = await pythonVerdicts(scratch.fresh(), files, [pageKey])
  expect(verdicts[0]?.said).toBe(`sound: 5 events, signed with ${pageKey}`)
  expect(verdicts.slice(1).map(({ bad }) => bad)).toEqual(pageChanges.map(({ event_id }) => event_id))
})

test('verify.py: wrong usage and a missing file exit 2, and one bad file of many exits 5', async () => {
  const folder = scratch.fresh()
  expect(await runPython([])).toMatchObject({ exit: 2 })
  expect(await runPython(['--key', 'zz', 'x'])).toMatchObject({ exit: 2 })
  expect(await runPython([join(folder, 'none')])).toMatchObject({ exit: 2, out: expect.stringContaining('none') })
  const sound = join(folder, '0.bundle.ndjson')
  await pythonVerdicts(folder, [written(await randomParts(1)), ''])
  expect(await runPython([sound, join(folder, '1.bundle.ndjson')])).toMatchObject({ exit: 5 })
  expect(await runPython([sound])).toMatchObject({ exit: 0, out: expect.stringMatching(/^sound: \d+ events, /) })
})

test('verify.py: it has at most 200 lines and imports the standard library only', () => {
  const program = readFileSync(new URL('../../../docs/verify/verify.py', import.meta.url), 'utf8')
  expect(program.trimEnd().split('\n').length).toBeLessThanOrEqual(200)
  const imported = program.match(/^\s*(?:import|from) .*$/gm)
  expect(imported).toEqual(['import argparse, hashlib, json, pathlib, re, sys', 'from decimal import Decimal'])
  const { files } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))
  expect(files).toContain('docs/verify/verify.py')
})
