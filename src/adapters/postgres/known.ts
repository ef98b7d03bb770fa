import { Fault } from '../../faults/fault.ts'
import type { Json } from '../../kernel/json.ts'
import { rowName, startFold } from '../../runelog/judge.ts'
import type { Head, ReadModel, Row } from '../../runelog/port.ts'
import type { Rune } from '../../runes/rune.ts'

/** The end of a session and rows of it, as one commit left them. They are true as long as the session has that end. */
export interface KnownSession {
  readonly head: Head
  /** By model and key, those used last at the end. A row that is undefined does not exist. */
  readonly rows: Map<string, Row | undefined>
  /** A row of a subject of this session that is not in `rows` does not exist. */
  readonly isWhole: boolean
}

const sessionLimit = 256
/** A subject that is over is not asked for again, so the rows that were used last are enough. */
const rowLimit = 256
/** Longer logs are not folded here. */
const runeLimit = 256

/** These change rows in other ways than their fold. */
const isSpecial = ({ kind }: Rune) => kind === 'rune.redacted' || kind === 'session.archived'

const noRows: ReadonlyMap<string, Row | undefined> = new Map()

/**
 * Knowledge of the sessions that a lane wrote or read last. A commit that relies on it is refused where it is
 * outdated. Runes that were read are folded only when a commit needs them.
 */
export function createKnown(models: readonly ReadModel[]) {
  const sessions = new Map<string, KnownSession>()
  /** Runes that were read, in order and without a gap: all that the session had after the first of them. */
  const reads = new Map<string, readonly Rune[]>()
  /** Sessions to which other processes have written since. */
  const outdated = new Set<string>()

  function forget(session_id: string) {
    sessions.delete(session_id)
    reads.delete(session_id)
    outdated.delete(session_id)
  }

  /** The last event that is known. */
  const endOf = (session_id: string) =>
    reads.get(session_id)?.at(-1)?.event_id ?? sessions.get(session_id)?.head.event_id ?? 0

  function put(session_id: string, session: KnownSession) {
    sessions.delete(session_id)
    sessions.set(session_id, session)
    for (const id of sessions.keys()) {
      if (sessions.size <= sessionLimit) break
      forget(id)
    }
  }

  /** Folds the runes that were read. The log is what the rows follow from, so it is as good as a read of the rows. */
  function catchUp(session_id: string): KnownSession | undefined {
    const before = sessions.get(session_id)
    const read = reads.get(session_id)
    reads.delete(session_id)
    if (read === undefined) return before
    const end = before?.head.event_id ?? 0
    const runes = read.filter(({ event_id }) => event_id > end)
    const [first, last] = [runes[0], runes.at(-1)]
    if (first === undefined || last === undefined) return before
    const rows = first.event_id === end + 1 && !runes.some(isSpecial) ? folded(session_id, runes, before) : undefined
    if (rows === undefined) {
      forget(session_id)
      return undefined
    }
    const sealed = before?.head.sealed === true || runes.some(({ kind }) => kind === 'session.closed')
    const head = { session_id, event_id: last.event_id, hash: last.hash, sealed, archived: false }
    const isWhole = before?.isWhole !== false && rows.size <= rowLimit
    put(session_id, { head, rows: newest(rows), isWhole })
    return sessions.get(session_id)
  }

  /** Undefined if the rows cannot be known: one that they follow from is not known. */
  function folded(session_id: string, runes: readonly Rune[], before: KnownSession | undefined) {
    const { rows: known = noRows, isWhole = true } = before ?? {}
    const rows = new Map(known)
    const unknown = new Set<string>()
    let isKnown = true
    const folding = startFold(models, <V extends Json>(model: ReadModel<V>, key: string) => {
      const name = rowName(model.name, key)
      if (!rows.has(name) && !(isWhole && isOwn(session_id, rows, key))) {
        // A row of several sessions stays unknown. No other row follows from it.
        if (model.shared?.(key) === true) unknown.add(name)
        else isKnown = false
      }
      // The cast holds: rows are kept by the name of their model, and only its own fold writes them.
      return rows.get(name) as Row<V> | undefined
    })
    for (const rune of runes) {
      const subject = rowName('subjects', rune.subject_id ?? '')
      // No rune before this one names the subject, so it has no rows yet.
      if ((isWhole || rune.from === null) && !rows.has(subject)) rows.set(subject, undefined)
      if (folding.fold(rune) instanceof Fault || !isKnown) return undefined
    }
    for (const { model, key, row } of folding.changes()) rows.set(rowName(model, key), row)
    for (const name of unknown) rows.delete(name)
    return rows
  }

  return {
    /** The end and rows of a session, unless another process has written to it and that was not read. */
    of: (session_id: string) => (outdated.has(session_id) ? undefined : sessions.get(session_id)),
    /** Call it before a transaction begins. */
    catchUp,
    /**
     * Keeps the end and rows that a commit left. `base`: the knowledge that it relied on. Rows that became known while it was under
     * way may be older than the commit, or newer. `isNew`: it began the session.
     */
    keep(head: Head, used: ReadonlyMap<string, Row | undefined>, base: KnownSession | undefined, isNew: boolean) {
      const { session_id } = head
      const rows = base?.rows ?? new Map<string, Row | undefined>()
      for (const [name, row] of used) {
        rows.delete(name)
        rows.set(name, row)
      }
      reads.delete(session_id)
      outdated.delete(session_id)
      const isWhole = (isNew || base?.isWhole === true) && rows.size <= rowLimit
      put(session_id, { head, rows: newest(rows), isWhole })
    },
    /** All runes that a session had after this event, when they were read. */
    learn(session_id: string, after: number, runes: readonly Rune[]) {
      const before = reads.get(session_id)
      if (after > endOf(session_id)) return
      outdated.delete(session_id)
      if (runes.length === 0) return
      const all = [...(before?.filter(({ event_id }) => event_id <= after) ?? []), ...runes]
      if (all.length > runeLimit) return forget(session_id)
      reads.delete(session_id)
      reads.set(session_id, all)
      for (const id of reads.keys()) {
        if (reads.size <= sessionLimit) break
        forget(id)
      }
    },
    /** Another process has written to a session, up to this event. */
    outdate(session_id: string, event_id: number) {
      const end = endOf(session_id)
      if (end > 0 && end < event_id) outdated.add(session_id)
    },
    /** Forgets sessions. */
    forget(session_ids: Iterable<string>) {
      for (const session_id of session_ids) forget(session_id)
    },
  }
}

/** Whether a row of the session is known, or known to be missing. */
export function knows({ head, rows, isWhole }: KnownSession, model: string, key: string): boolean {
  return rows.has(rowName(model, key)) || (isWhole && isOwn(head.session_id, rows, key))
}

/** The rows that were used last. */
function newest(rows: Map<string, Row | undefined>) {
  for (const name of rows.keys()) {
    if (rows.size <= rowLimit) break
    rows.delete(name)
  }
  return rows
}

/** Whether a key is an id of the session or of one of its subjects, or has it as a part, such as `of exe_1`. */
function isOwn(session_id: string, rows: KnownSession['rows'], key: string): boolean {
  const isId = (part: string) => part === session_id || rows.has(rowName('subjects', part))
  // An empty key is that of a subject that a rune does not name.
  return key === '' || isId(key) || (/[ /:]/.test(key) && key.split(/[ /:]/).some(isId))
}
