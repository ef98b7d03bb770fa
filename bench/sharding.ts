/**
 * Sessions over several databases, simulated: how evenly three schemes place them, how many move when a database comes or
 * goes, and what callers notice of a rebalancing and of a loss. A seed decides all of it: docs/decisions/0015.
 */
import { bucketOf, jump, modulo, type Place, rendezvous, tableOf } from './sharding/model.ts'
import { type Plan, run } from './sharding/run.ts'

const sessions = Array.from({ length: 100_000 }, (_, i) => `ses_${i}`)
const names = (count: number) => Array.from({ length: count }, (_, i) => `db${i}`)
const percent = (share: number) => `${(100 * share).toFixed(1)} %`

/** A placement that may depend on the one before it. */
type Scheme = (
  databases: readonly string[],
  before?: readonly string[],
) => { readonly homes: readonly string[]; table?: readonly string[] }
const direct =
  (place: Place): Scheme =>
  (databases) => ({ homes: sessions.map((session) => place(session, databases)) })
const byTable =
  (buckets: number): Scheme =>
  (databases, before) => {
    const table = tableOf(databases, buckets, before)
    return { homes: sessions.map((session) => table[bucketOf(session, buckets)] as string), table }
  }
const schemes: Readonly<Record<string, Scheme>> = {
  'hash modulo': direct(modulo),
  jump: direct(jump),
  rendezvous: direct(rendezvous),
  'table of 256': byTable(256),
  'table of 4,096': byTable(4_096),
}

console.log('scheme          fullest of 4  of 8   moved 4→5  5→4 (last)  5→4 (first)')
for (const [name, scheme] of Object.entries(schemes)) {
  const fullest = (count: number) => {
    const counts = Map.groupBy(scheme(names(count)).homes, (home) => home)
    return Math.max(...[...counts.values()].map(({ length }) => length)) / (sessions.length / count)
  }
  const moved = (from: readonly string[], to: readonly string[]) => {
    const before = scheme(from)
    const { homes } = scheme(to, before.table)
    return percent(homes.filter((home, i) => home !== before.homes[i]).length / sessions.length)
  }
  const columns = [moved(names(4), names(5)), moved(names(5), names(4)), moved(names(5), names(5).slice(1))]
  const even = [4, 8].map((count) => fullest(count).toFixed(3))
  console.log(
    name.padEnd(15),
    (even[0] as string).padStart(13),
    ` ${even[1]} `,
    ...columns.map((text) => text.padStart(10)),
  )
}

const base: Plan = {
  ...{ seed: 1, seconds: 40, databases: names(4), buckets: 4_096, sessions: 20_000, records: 40 },
  ...{ arriving: 6_000, capacity: 3_000, copying: 0.25, moves: 4 },
}
const added = { name: 'db4', at: 5 }
const lost = { name: 'db1', at: 10, seconds: 20 }
const plans: Readonly<Record<string, Plan>> = {
  'nothing happens': base,
  'a fifth database, 4,096 buckets': { ...base, added },
  'a fifth database, 256 buckets': { ...base, buckets: 256, added },
  'a fifth database, half of each copies': { ...base, copying: 0.5, added },
  'one is lost for 20 s': { ...base, lost },
  'one is lost for 20 s while a fifth is added': { ...base, lost, added },
}
for (const [name, plan] of Object.entries(plans)) {
  const { moved, left, share, ...found } = run(plan)
  const lasted =
    moved.buckets === 0
      ? ''
      : `${moved.buckets - left} buckets and ${moved.records} records moved in ${(moved.until / 1_000 - added.at).toFixed(1)} s; `
  const gone =
    share === 0
      ? ''
      : `; ${percent(share)} of the buckets were away, and ${found.refusedElsewhere} of the refused were of other databases`
  console.log(
    `${name}: ${lasted}${found.recorded} recorded, ${found.waited} waited (${found.longest_ms} ms at most), ${found.retried} asked the directory again, ${found.refused} refused${gone}`,
  )
}
