/** A pure model of sessions over several databases: docs/decisions/0015. It reads no clock and no source of chance. */

/** A well mixed number of 32 bits. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** The database of a key. */
export type Place = (key: string, databases: readonly string[]) => string

export const modulo: Place = (key, databases) => databases[hashOf(key) % databases.length] as string

export const rendezvous: Place = (key, databases) =>
  databases.reduce((best, each) => (hashOf(`${each} ${key}`) > hashOf(`${best} ${key}`) ? each : best))

/** Jump consistent hash, by Lamping and Veach. */
export const jump: Place = (key, databases) => {
  let at = 0
  for (let next = 0, i = 0; next < databases.length; i++) {
    at = next
    next = Math.floor((at + 1) / ((hashOf(`${i} ${key}`) + 1) / 2 ** 32))
  }
  return databases[at] as string
}

/** The database of each bucket. */
export type Table = readonly string[]

export const bucketOf = (root_session: string, buckets: number) => hashOf(root_session) % buckets

/** The table of these databases: each has its share of the buckets, and as few as possible leave the home they had. */
export function tableOf(databases: readonly string[], buckets: number, before: Table = []): Table {
  const had = Map.groupBy(before.keys(), (bucket) => before[bucket] as string)
  const count = (name: string) => had.get(name)?.length ?? 0
  const share = Math.floor(buckets / databases.length)
  // One more for those that hold the most.
  const byCount = databases.toSorted((a, b) => count(b) - count(a))
  const quota = new Map(byCount.map((name, i) => [name, share + (i < buckets % databases.length ? 1 : 0)]))
  const table: (string | undefined)[] = Array.from({ length: buckets })
  for (const name of databases)
    for (const bucket of (had.get(name) ?? []).slice(0, quota.get(name))) table[bucket] = name
  const open = databases.flatMap((name) => Array(Math.max(0, (quota.get(name) ?? 0) - count(name))).fill(name))
  return table.map((name) => name ?? (open.pop() as string))
}

/** The home of a bucket, as the directory or a process knows it. */
export interface Home {
  readonly database: string
  readonly epoch: number
}

interface Fence {
  readonly epoch: number
  readonly isOpen: boolean
}

interface Database {
  isUp: boolean
  /** A commit is recorded only under the open fence of its bucket, in the same transaction. */
  readonly fences: Map<number, Fence>
  /** The logs of each bucket, by session. */
  readonly logs: Map<number, Logs>
}

type Logs = Map<string, string[]>

/** A bucket on its way. The copy is staged under the epoch of its move, and counts only once it is installed. */
export interface Move {
  readonly bucket: number
  readonly from: string
  readonly to: string
  readonly epoch: number
  step: 'copying' | 'closed' | 'flipped' | 'done' | 'given_up'
  readonly staged: Logs
}

export interface World {
  readonly directory: Home[]
  readonly databases: ReadonlyMap<string, Database>
}

export function createWorld(names: readonly string[], table: Table): World {
  const databases = new Map(names.map((name): [string, Database] => [name, emptyDatabase()]))
  for (const [bucket, name] of table.entries()) databases.get(name)?.fences.set(bucket, { epoch: 1, isOpen: true })
  return { databases, directory: table.map((database) => ({ database, epoch: 1 })) }
}

const emptyDatabase = (): Database => ({ isUp: true, fences: new Map(), logs: new Map() })

const databaseOf = ({ databases }: World, name: string) => databases.get(name) as Database

/**
 * Only `recorded` is acknowledged. On every other answer a caller looks into the directory, and tries again. An old home
 * that was lost, or that missed the end of a move, says `unavailable` or `closed` for a bucket that is elsewhere.
 */
export type Answer = 'recorded' | 'moved' | 'closed' | 'unavailable'

/** A commit by a process that knows this home, which may be an old one. */
export function commit(world: World, known: Home, session: string, text: string): Answer {
  const { isUp, fences, logs } = databaseOf(world, known.database)
  if (!isUp) return 'unavailable'
  const bucket = bucketOf(session, world.directory.length)
  const fence = fences.get(bucket)
  if (fence?.epoch !== known.epoch) return 'moved'
  if (!fence.isOpen) return 'closed'
  const ofBucket = logs.get(bucket) ?? new Map<string, string[]>()
  logs.set(bucket, ofBucket.set(session, ofBucket.get(session) ?? []))
  ofBucket.get(session)?.push(text)
  return 'recorded'
}

export function startMove(world: World, bucket: number, to: string): Move {
  const { database: from, epoch } = world.directory[bucket] as Home
  return { bucket, from, to, epoch, step: 'copying', staged: new Map() }
}

/** Takes a move one step on, copying at most `budget` records. Returns how many it copied. */
export function advance(world: World, move: Move, budget: number): number {
  const { bucket, epoch, staged } = move
  const [from, to] = [databaseOf(world, move.from), databaseOf(world, move.to)]
  if (!to.isUp || move.step === 'done' || move.step === 'given_up') return 0
  if (move.step === 'flipped') {
    // The old home is closed for good, so this does not wait for it. What stays there is not read any more.
    to.logs.set(bucket, staged)
    to.fences.set(bucket, { epoch: epoch + 1, isOpen: true })
    move.step = 'done'
    return 0
  }
  if (!from.isUp) return 0
  let left = budget
  for (const [session, log] of from.logs.get(bucket) ?? []) {
    const there = staged.get(session) ?? []
    const more = log.slice(there.length, there.length + left)
    staged.set(session, there.concat(more))
    left -= more.length
  }
  // With budget left, everything was copied.
  if (left > 0) proceed(world, move, from)
  return budget - left
}

function proceed(world: World, move: Move, from: Database): void {
  const { bucket, epoch, staged, to } = move
  // Another process may have taken the move over, and both of these compare and set.
  const isOwn = from.fences.get(bucket)?.epoch === epoch && world.directory[bucket]?.epoch === epoch
  if (!isOwn) move.step = 'given_up'
  else if (move.step === 'copying') {
    from.fences.set(bucket, { epoch, isOpen: false })
    move.step = 'closed'
  } else {
    for (const [session, log] of from.logs.get(bucket) ?? [])
      if (staged.get(session)?.join() !== log.join()) throw new Error(`The copy of ${session} is not its log.`)
    world.directory[bucket] = { database: to, epoch: epoch + 1 }
    move.step = 'flipped'
  }
}

/** Ends a move whose process may be dead. The directory decides: what it did not flip is undone under a new epoch. */
export function giveUp(world: World, { bucket, from, epoch }: Move): void {
  const { isUp, fences } = databaseOf(world, from)
  // A home whose copy is not installed yet has no fence of this epoch: the move before this one ends first.
  if (!isUp || fences.get(bucket)?.epoch !== epoch || world.directory[bucket]?.epoch !== epoch) return
  world.directory[bucket] = { database: from, epoch: epoch + 1 }
  fences.set(bucket, { epoch: epoch + 1, isOpen: true })
}
