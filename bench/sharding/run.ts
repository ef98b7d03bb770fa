import { advance, bucketOf, commit, createWorld, type Home, type Move, startMove, tableOf } from './model.ts'

/** Numbers from 0 to 1 that follow from a seed (mulberry32). */
export function dice(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** What is simulated, in steps of 10 ms. */
export interface Plan {
  readonly seed: number
  readonly seconds: number
  readonly databases: readonly string[]
  readonly buckets: number
  readonly sessions: number
  /** Records of each session at the beginning. */
  readonly records: number
  /** Commits that arrive in a second. A database takes `capacity`, and a copied record costs it a tenth of a commit. */
  readonly arriving: number
  readonly capacity: number
  /** The share of a database that copying may take, and the moves at once. */
  readonly copying: number
  readonly moves: number
  readonly added?: { readonly name: string; readonly at: number }
  readonly lost?: { readonly name: string; readonly at: number; readonly seconds: number }
}

const step_ms = 10
const patience_ms = 2_000
const processes = 8

/** A request that waits, and when it came. */
interface Request {
  readonly session: string
  readonly text: string
  readonly knows: Map<number, Home>
  readonly since: number
  /** The home of its session when it came. */
  readonly cameTo: string
}

/** Runs the plan, and checks at its end that each acknowledged commit is in the one home of its session, once and in order. */
export function run(plan: Plan) {
  const { databases, buckets, added, lost } = plan
  const names = added === undefined ? databases : [...databases, added.name]
  const world = createWorld(names, tableOf(databases, buckets))
  const chance = dice(plan.seed)
  const acknowledged = new Map<string, string[]>()
  const moved = { buckets: 0, records: 0, until: 0 }
  const found = { recorded: 0, refused: 0, waited: 0, longest_ms: 0, refusedElsewhere: 0, retried: 0 }
  for (let i = 0; i < plan.sessions; i++) {
    const log = Array.from({ length: plan.records }, (_, n) => `${n}`)
    const session = `ses_${i}`
    acknowledged.set(session, [...log])
    const { directory } = world
    for (const text of log) commit(world, directory[bucketOf(session, buckets)] as Home, session, text)
  }
  /** What each process knows, which may be old. */
  const known = Array.from({ length: processes }, () => new Map(world.directory.entries()))
  let waiting: Request[] = []
  let planned: (readonly [bucket: number, to: string])[] = []
  let moving: Move[] = []
  let due = 0

  for (let now = 0; now < plan.seconds * 1_000; now += step_ms) {
    if (added !== undefined && now === added.at * 1_000) {
      const before = world.directory.map(({ database }) => database)
      planned = [...tableOf(names, buckets, before).entries()].filter(([bucket, to]) => before[bucket] !== to)
      moved.buckets = planned.length
    }
    const database = world.databases.get(lost?.name ?? '')
    if (lost !== undefined && database !== undefined)
      database.isUp = now < lost.at * 1_000 || now >= (lost.at + lost.seconds) * 1_000

    const left = new Map(names.map((name) => [name, (plan.capacity * step_ms) / 1_000]))
    const use = (name: string, units: number) => left.set(name, (left.get(name) ?? 0) - units)
    // Moves of a lost database wait, and hold up no others.
    const isUp = (...both: readonly string[]) => both.every((name) => world.databases.get(name)?.isUp)
    const canStart = ([bucket, to]: (typeof planned)[number]) => isUp(world.directory[bucket]?.database ?? '', to)
    while (moving.filter(({ from, to }) => isUp(from, to)).length < plan.moves) {
      const next = planned.findIndex(canStart)
      if (next < 0) break
      for (const [bucket, to] of planned.splice(next, 1)) moving.push(startMove(world, bucket, to))
    }
    for (const move of moving) {
      const room = Math.floor((plan.copying * plan.capacity * step_ms * 10) / 1_000 / plan.moves)
      const copied = advance(world, move, room)
      use(move.from, copied / 10)
      use(move.to, copied / 10)
      moved.records += copied
      if (move.step === 'done') moved.until = now
    }
    moving = moving.filter(({ step }) => step !== 'done')

    for (due += (plan.arriving * step_ms) / 1_000; due >= 1; due--) {
      // A few sessions get most of the commits.
      const session = `ses_${Math.floor(plan.sessions * chance() ** 2)}`
      const knows = known[Math.floor(chance() * processes)] as Map<number, Home>
      const cameTo = world.directory[bucketOf(session, buckets)]?.database ?? ''
      waiting.push({ session, text: `${now}.${due}`, knows, since: now, cameTo })
    }
    waiting = waiting.filter((request) => {
      const { session, text, knows, since, cameTo } = request
      const bucket = bucketOf(session, buckets)
      const attempt = () => {
        const home = knows.get(bucket) as Home
        if ((left.get(home.database) ?? 0) < 1) return 'busy'
        use(home.database, 1)
        return commit(world, home, session, text)
      }
      let answer = attempt()
      const home = world.directory[bucket] as Home
      if (answer !== 'recorded' && answer !== 'busy' && knows.get(bucket) !== home) {
        knows.set(bucket, home)
        found.retried += 1
        answer = attempt()
      }
      if (answer === 'recorded') {
        acknowledged.get(session)?.push(text)
        found.recorded += 1
        if (now > since) found.waited += 1
        found.longest_ms = Math.max(found.longest_ms, now - since)
        return false
      }
      if (now - since < patience_ms) return true
      found.refused += 1
      if (cameTo !== lost?.name) found.refusedElsewhere += 1
      return false
    })
  }

  for (const [session, texts] of acknowledged) {
    const { database } = world.directory[bucketOf(session, buckets)] as Home
    const log = world.databases.get(database)?.logs.get(bucketOf(session, buckets))?.get(session) ?? []
    if (log.join() !== texts.join()) throw new Error(`${session} lost or doubled a commit.`)
  }
  const away = (name: string) => world.directory.filter(({ database }) => database === name).length / buckets
  return { ...found, moved, share: lost === undefined ? 0 : away(lost.name), left: planned.length + moving.length }
}
