import { execFile } from 'node:child_process'
import { cpSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { keyFileOf, keyOf } from '../../src/app/store-key.ts'
import { runCli } from '../support/run-cli.ts'
import { isProof, sample } from '../support/sampling.ts'
import { scratchFolder } from '../support/scratch-folder.ts'
import { createTally } from '../support/tally.ts'
import {
  cleverDamages,
  copyOf,
  type Damage,
  documented,
  dump,
  fileDamages,
  type Place,
  tableDamages,
} from './support/damages.ts'

const tally = createTally()
const scratch = scratchFolder('damage')
const file = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const program = file('support/damage-program.ts')
const launcher = file('../../bin/statewright.js')

let pristine: Place
let kept: string

/** Files of a real process, a checkpoint that is kept elsewhere, and a signed bundle. */
beforeAll(async () => {
  const folder = scratch.fresh()
  const database = join(folder, 'store.db')
  await promisify(execFile)(process.execPath, [program, database])
  kept = join(scratch.fresh(), 'checkpoints.ndjson')
  const bundle = join(folder, 'bundle.ndjson')
  expect(await runCli(['checkpoint', '--store', `sqlite:${database}`, '-o', kept])).toMatchObject({ exit: 0 })
  const { out } = await runCli(['ps', '--store', `sqlite:${database}`, '--json'])
  const { items } = JSON.parse(out) as { items: readonly { session_id: string }[] }
  const session = items[0]?.session_id ?? ''
  expect(await runCli(['export', session, '--store', `sqlite:${database}`, '-o', bundle])).toMatchObject({ exit: 0 })
  for (const name of ['.guard', '.lock', '-shm', '-wal', '.token']) rmSync(`${database}${name}`, { force: true })
  // Beside the store, so that each copy has its key.
  cpSync(keyFileOf(`sqlite:${database}`), `${database}.key`)
  pristine = { folder, database, bundle }
})

const argumentsFor = ({ target }: Pick<Damage, 'target'>, { database, bundle }: Place) =>
  target === 'bundle' ? ['--bundle', bundle] : ['--store', `sqlite:${database}`, '--checkpoints', kept]

/** Why a damage counts as explained; undefined if nothing explains it. */
async function explanation(damage: Damage, place: Place): Promise<string | undefined> {
  try {
    damage.apply(place)
  } catch (error) {
    // SQLite itself refuses what breaks a key, a type or an index: such damage cannot be made this way.
    if (/constraint failed|malformed JSON|cannot store/.test((error as Error).message)) return impossible
    throw error
  }
  const { exit, out, err } = await runCli(['verify', ...argumentsFor(damage, place)])
  const said = `${out}\n${err}`
  if (exit === 5) return names(damage, err) ? 'named' : undefined
  // A file that is no store of this version any more is refused with its name.
  if (exit === 7 && said.includes(place.database)) return 'refused'
  if (exit !== 0) return undefined
  if (typeof damage.names === 'string') return damage.names
  if (/store\.db$|payload of record/.test(damage.name) && dump(place.database) === dump(pristine.database))
    return documented[1]
  // The cache is folded again: deleting it, or bytes of it that hold nothing, changes nothing.
  if (damage.name.endsWith('.cache')) return documented[1]
  if (
    damage.target === 'bundle' &&
    readFileSync(place.bundle, 'utf8').trimEnd() === readFileSync(pristine.bundle, 'utf8').trimEnd()
  )
    return documented[5]
  return harmless(damage, place)
}

const impossible = 'refused by SQLite'

const names = ({ names }: Damage, err: string) => typeof names === 'string' || names.test(err)

/** Changes of the order between sessions, or of marks, that no row depends on. */
const keyIn = ({ database }: Place) => keyOf(`sqlite:${database}`).publicKey()

function harmless({ name }: Damage, place: Place): string | undefined {
  if (/(raise|lower|take).* position/.test(name)) return documented[2]
  // Space around the public half, or a store without it: signed statements are judged as before.
  if (/\.(key|pub)$/.test(name) && keyIn(place) === keyIn(pristine)) return documented[1]
  // A byte of a mark, or of the name of an index that SQLite makes by itself: the log and the rows are the same.
  if (name.endsWith('store.db') && contentOf(place) === contentOf(pristine)) return documented[3]
  return undefined
}

/** The store without its marks and without the names of automatic indexes. Undefined: it cannot be read. */
function contentOf({ database }: Place): string | undefined {
  const dumped = dump(database)
  if (dumped === undefined) return undefined
  const [schema, rows] = JSON.parse(dumped) as [readonly { readonly sql: string | null }[], readonly unknown[]]
  return JSON.stringify([schema.filter(({ sql }) => sql !== null), rows.slice(0, -1)])
}

function all(positions: number): readonly Damage[] {
  return [...tableDamages(pristine.database), ...cleverDamages(pristine.database), ...fileDamages(pristine, positions)]
}

test('damage: the untouched store and its bundle verify', async () => {
  for (const target of ['store', 'bundle'] as const)
    expect(await runCli(['verify', ...argumentsFor({ target }, pristine)])).toMatchObject({ exit: 0, err: '' })
})

test('damage: every change, deletion, insertion, swap, cut or new hash is named, or documented as unseen', async () => {
  const every = all(isProof ? 60 : 3)
  const special = every.filter(({ name }) => /^F-|append|drop|add a|mark|models|behind/.test(name))
  const chosen = isProof ? every : [...sample(special, 25), ...sample(every, 60)]
  const counts = new Map<string, number>()
  const unexplained: string[] = []
  for (const damage of chosen) {
    const place = copyOf(pristine, scratch.fresh())
    const why = await explanation(damage, place).catch((error: Error) => {
      unexplained.push(`${damage.name}: it threw ${error.stack}`)
      return 'threw'
    })
    if (why === undefined) unexplained.push(damage.name)
    else counts.set(why, (counts.get(why) ?? 0) + 1)
    rmSync(place.folder, { recursive: true })
  }
  const tried = chosen.length - (counts.get(impossible) ?? 0)
  counts.delete(impossible)
  tally.count('damages', tried, unexplained.length)
  expect(unexplained).toEqual([])
  if (!isProof) return
  expect(tried).toBeGreaterThanOrEqual(2_000)
  expect(new Set([...counts.keys()])).toEqual(new Set(['named', 'refused', ...documented]))
})

test('damage: the unseen ones are exactly those of the operating page', () => {
  const page = readFileSync(file('../../docs/operating.md'), 'utf8')
  for (const name of documented) expect(page).toContain(name)
})

test('damage: the real command names it too, without a stack', async () => {
  const chosen = sample(
    all(2).filter(({ names }) => typeof names !== 'string'),
    isProof ? 20 : 2,
  )
  for (const damage of chosen) {
    const place = copyOf(pristine, scratch.fresh())
    damage.apply(place)
    const ran = await promisify(execFile)(process.execPath, [launcher, 'verify', ...argumentsFor(damage, place)]).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      (error: { code: number; stdout: string; stderr: string }) => error,
    )
    expect(`${ran.stdout}${ran.stderr}`, damage.name).not.toMatch(/^ {4}at /m)
    expect([0, 5, 7], damage.name).toContain(ran.code)
    tally.count('damages, real process')
  }
})
