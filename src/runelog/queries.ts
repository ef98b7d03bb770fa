import { faults } from '../faults/catalogue.ts'
import type { Json } from '../kernel/json.ts'
import type { MachineName } from '../machines/all.ts'
import type { Rune } from '../runes/rune.ts'
import { type Subject, subjects } from './models.ts'
import type { Runelog } from './port.ts'
import type { ModelQuery, ReadModel, Row } from './read-model.ts'
import { othersTurn, sliceRunes } from './slices.ts'

/** The order of rows in every store: by `sort`, those without one first, then by key. */
export function rowOrder(a: Pick<Row, 'sort' | 'key'>, b: Pick<Row, 'sort' | 'key'>): number {
  const left = a.sort ?? Number.NEGATIVE_INFINITY
  const right = b.sort ?? Number.NEGATIVE_INFINITY
  if (left !== right) return left < right ? -1 : 1
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0
}

/** The rows that a query asks for, in its order. */
export function selectRows<V extends Json>(rows: Iterable<Row<V>>, query: ModelQuery = {}): readonly Row<V>[] {
  const { tag, prefix = '', after, limit, backward = false, by_key = false } = query
  const forward = by_key ? (a: Row, b: Row) => (a.key < b.key ? -1 : 1) : rowOrder
  const order = backward ? (a: Row, b: Row) => forward(b, a) : forward
  const chosen = [...rows].filter(
    (row) =>
      (tag === undefined || row.tag === tag) &&
      row.key.startsWith(prefix) &&
      (after === undefined || (backward ? rowOrder(row, after) < 0 : rowOrder(row, after) > 0)),
  )
  return chosen.sort(order).slice(0, limit)
}

/** Rows of several tags as one list. Each tag is read up to the limit, so the work follows from the page. */
export async function mergedRows<V extends Json>(
  runelog: Pick<Runelog, 'rows'>,
  model: ReadModel<V>,
  tags: readonly string[],
  page: Omit<ModelQuery, 'tag'> & { readonly limit: number },
): Promise<readonly Row<V>[]> {
  const lists = await Promise.all(tags.map((tag) => runelog.rows(model, { ...page, tag })))
  const order = page.backward === true ? (a: Row, b: Row) => rowOrder(b, a) : rowOrder
  return lists.flat().sort(order).slice(0, page.limit)
}

const atOnce = 256

/** Where a subject of this machine is. Refused with `not_found` if there is none, or if the id belongs to another machine. */
export async function subjectOf(runelog: Pick<Runelog, 'row'>, machine: MachineName, id: string): Promise<Subject> {
  const subject = (await runelog.row(subjects, id))?.value
  if (subject?.machine !== machine) throw faults.not_found({ what: machine, id })
  return subject
}

/** The moves of one subject in order, found from the last one backwards. Empty if there is no such subject. */
export async function runesOf(runelog: Pick<Runelog, 'row' | 'read'>, subject_id: string): Promise<readonly Rune[]> {
  const subject = (await runelog.row(subjects, subject_id))?.value
  if (subject === undefined) return []
  const found: Rune[] = []
  for (let before = subject.event_id + 1; before > 1; ) {
    const runes = await runelog.read(subject.session_id, { before, limit: atOnce, backward: true })
    for (const rune of runes) {
      if (rune.subject_id !== subject_id) continue
      found.push(rune)
      if (rune.from === null) return found.reverse()
    }
    before = runes.at(-1)?.event_id ?? 0
    if (before > 1) await othersTurn()
  }
  return found.reverse()
}

/** All runes of a session. Reading a long one takes a while, in which others get their turns. */
export async function readWhole(runelog: Pick<Runelog, 'read'>, session_id: string): Promise<readonly Rune[]> {
  const all: Rune[] = []
  for (;;) {
    const runes = await runelog.read(session_id, { after: all.length, limit: sliceRunes })
    for (const rune of runes) all.push(rune)
    if (runes.length < sliceRunes) return all
    await othersTurn()
  }
}
