import { faults } from '../faults/catalogue.ts'
import { firstEventOf, genesis, runesOf, type StoredRecord, toRunes } from '../runes/record.ts'
import type { Rune } from '../runes/rune.ts'
import { nameOf } from './judge.ts'
import type { Range } from './port.ts'

/** How many records are read at once. */
const atOnce = 64

/** The records of one session. */
interface RecordSource {
  /** Archived records. All others are younger. */
  readonly cold: readonly StoredRecord[]
  /** Other records that end after `low` and begin before `high`: the oldest first, or the newest with `backward`. */
  page(span: Span): readonly StoredRecord[] | Promise<readonly StoredRecord[]>
  /** The hash of the record that ends with this event. */
  hashAt(event_id: number): string | undefined | Promise<string | undefined>
}

/** The span of a page of records. */
export interface Span {
  readonly low: number
  readonly high: number
  /** The most records of the page. */
  readonly limit: number
  /** The number of runes that the reader still wants. */
  readonly runes: number
  readonly backward: boolean
}

/** The records of a page that its reader wants, found by their last events. A commit may have a thousand runes to parse. */
export function wanted<T>(
  page: readonly T[],
  lastEvent: (record: T) => number,
  { low, high, runes, backward }: Omit<Span, 'limit'>,
): readonly T[] {
  const [first] = page
  if (first === undefined) return page
  if (backward) {
    const lowest = Math.min(high - 1, lastEvent(first)) - runes
    return page.filter((record) => lastEvent(record) > lowest)
  }
  const last = page.findIndex((record) => lastEvent(record) >= low + runes)
  return last < 0 ? page : page.slice(0, last + 1)
}

/** The runes of a range. Records are read page by page until they cover it. */
export async function readRange(source: RecordSource, range: Range): Promise<readonly Rune[]> {
  const { before = Number.MAX_SAFE_INTEGER, limit = Number.MAX_SAFE_INTEGER, backward = false } = range
  // Runes are counted from the cursor, and there are none before the first event.
  const after = Math.max(0, range.after ?? 0)
  const { cold } = source
  const beginOf = (i: number) => (cold[i - 1]?.event_id ?? 0) + 1
  const frozen = cold.filter(({ event_id }, i) => event_id > after && beginOf(i) < before)
  const frozenRunes = Math.max(0, (frozen.at(-1)?.event_id ?? 0) - after)
  const unfrozen = { after: Math.max(after, cold.at(-1)?.event_id ?? 0), before, limit, backward }
  const hot = !backward && frozenRunes >= limit ? [] : await hotRecords(source, unfrozen)
  // A backward read may end before it reaches what is archived: the records must follow on each other.
  const isApart = hot[0] !== undefined && firstEventOf(hot[0]) > (cold.at(-1)?.event_id ?? 0) + 1
  const records = isApart ? hot : [...frozen, ...hot]
  const [first] = records
  if (first === undefined) return []
  const at = cold.indexOf(first)
  const earlier = at >= 0 ? cold[at - 1]?.hash : await hashBefore(source, first)
  const runes = readRunes(records, earlier ?? genesis).filter(({ event_id }) => event_id > after && event_id < before)
  return (backward ? runes.toReversed() : runes).slice(0, limit)
}

/** The runes of stored records. Throws `store_damaged` for a record that cannot be read. */
export function readRunes(records: readonly StoredRecord[], earlier: string): readonly Rune[] {
  try {
    return runesOf(records, earlier)
  } catch (cause) {
    const damaged = records.find((record) => !isReadable(record)) as StoredRecord
    throw faults.store_damaged({ what: nameOf(damaged), problem: 'it cannot be read.' }, { cause })
  }
}

function isReadable(record: StoredRecord): boolean {
  try {
    return toRunes(record, '').length > 0
  } catch {
    return false
  }
}

async function hashBefore({ cold, hashAt }: RecordSource, record: StoredRecord): Promise<string | undefined> {
  const first = firstEventOf(record)
  return cold.at(-1)?.event_id === first - 1 ? cold.at(-1)?.hash : hashAt(first - 1)
}

/** The records that cover a range, as far as they are not archived, the oldest first. */
async function hotRecords(source: RecordSource, { after, before, limit, backward }: Required<Range>) {
  const found: StoredRecord[] = []
  for (let [low, high, covered] = [after, before, 0]; high - low > 1 && covered < limit; ) {
    const asked = Math.min(atOnce, limit)
    const given = await source.page({ low, high, limit: asked, runes: limit - covered, backward })
    // Where the event before `high` is archived, a page begins with the record after it.
    const page = backward ? given.filter((record) => firstEventOf(record) < high) : given
    found.push(...page)
    const last = page.at(-1)
    if (last === undefined || given.length < asked) break
    if (backward) high = firstEventOf(last)
    else low = last.event_id
    covered = backward ? Math.min(before, (found[0]?.event_id ?? 0) + 1) - high : low - after
  }
  return backward ? found.reverse() : found
}
