import { accepted, faults } from '../../faults/catalogue.ts'
import { Fault } from '../../faults/fault.ts'
import { createBell, createTail, follow } from '../../runelog/follow.ts'
import { claimedBy, heldInLog, inscribe, judge, refoldSession } from '../../runelog/judge.ts'
import { allModels, claims } from '../../runelog/models.ts'
import { archival, redaction } from '../../runelog/own-runes.ts'
import type { Ports, Runelog, RunelogOptions } from '../../runelog/port.ts'
import { type Prepared, prepareLong } from '../../runelog/prepare.ts'
import { createSegments } from '../../runelog/segment.ts'
import type { StoredRecord } from '../../runes/record.ts'
import type { Rune } from '../../runes/rune.ts'
import { createErasures, doomedDamage, findStrays, readDoomed } from './companion-files.ts'
import { createGroupCommit, type Decided } from './group-commit.ts'
import { type Lock, takeLock } from './lock.ts'
import { explain, openDatabase, watchFiles, watchFolder } from './open-database.ts'
import { createReader, type Place, placeIn } from './reader.ts'
import { packed } from './record-columns.ts'
import { createFolding, createRows, trimCache } from './rows.ts'
import { createSearch } from './search.ts'
import { createWriter, prepareStatements, type Step, step } from './statements.ts'

const look_ms = 1_000

/** A rune whose record the triggers read: it vouches for an erasure, or for the move of a log to a segment. */
const isVoucher = (rune: Rune | undefined) => rune?.kind === 'rune.redacted' || rune?.kind === 'session.archived'

const bytesOf = (hash: string) => Buffer.from(hash, 'hex')

interface Inscription extends Decided<readonly Rune[]> {
  readonly place: Place
  readonly record: StoredRecord
}

/** The default store: one file, one process, every acknowledged append synced. */
export async function openSqliteRunelog(path: string, ports: Ports, options: RunelogOptions = {}) {
  let lock: Lock | undefined
  try {
    lock = takeLock(path)
    return await open(path, lock, ports, options)
  } catch (error) {
    lock?.release()
    throw explain(error, path)
  }
}

async function open(path: string, lock: Lock, ports: Ports, options: RunelogOptions) {
  const db = openDatabase(path)
  const statements = prepareStatements(db)
  const segments = createSegments(`${path}.segments`)
  const reader = createReader(db, statements, segments)
  if (readDoomed(reader.meta('erasing')) === undefined) {
    db.close()
    throw doomedDamage()
  }
  const commit = createWriter(db, statements)
  const models = allModels(options.models)
  const preparing = { ...ports, redactor: options.redactor }
  const bell = createBell()
  const tail = createTail(bell.isAwaited)

  /** Committed state plus queued writes; `decide` functions read it. */
  const places = new Map<string, Place>()
  const rows = createRows(reader.row)
  let lastSession = reader.lastSession()

  const search = createSearch(path)
  const checkDatabase = watchFiles([path, `${path}-wal`])
  const checkFiles = () => {
    checkDatabase()
    lock.check()
  }
  const hasFolderChanged = watchFolder(path, Date.now)
  const group = createGroupCommit({
    commit(decide) {
      commit(() => {
        const steps = decide()
        return rows.isDue() ? [...steps, ...rows.write()] : steps
      })
      // Writes to a removed file succeed, and no process can ever read them.
      if (hasFolderChanged()) checkFiles()
    },
    broken(fault) {
      options.broken?.(fault)
      bell.ringAll()
    },
    committed(written) {
      trimCache(places)
      rows.trim()
      for (const { session_id, adds } of written)
        if (adds === undefined) tail.forget(session_id)
        else tail.add(session_id, adds)
      bell.ring([...new Set(written.map(({ session_id }) => session_id))])
    },
  })

  // Checked without a commit, too: a server must not keep answering from a removed file.
  const looking = setInterval(() => {
    try {
      checkFiles()
    } catch (error) {
      group.fail(error)
    }
  }, look_ms).unref()

  /** The reader of runes, once the store is known to be sound. */
  const runes = () => {
    group.check()
    return reader
  }

  /** The reader of rows, once every row is in the table. */
  const table = () => {
    group.check()
    if (rows.behind() > 0) group.write(rows.write)
    return reader
  }

  function placeOf(session_id: string): Place | undefined {
    const known = places.get(session_id)
    const place = known ?? placeIn(reader, rows.look, session_id)
    if (known === undefined && place !== undefined) places.set(session_id, place)
    return place
  }

  function decide(batch: Prepared): Inscription | Fault {
    const { session_id } = batch
    const before = placeOf(session_id)
    const changes = judge(batch, before?.head, rows.look, models)
    if (changes instanceof Fault) return changes
    const claiming = claimedBy(batch)
    for (const { claim, idempotency_key } of claiming) {
      if (rows.isAhead(claims, claim)) continue
      const held = heldInLog(claim, reader.contractsWith(idempotency_key))
      if (held !== undefined) return held
    }
    const { runes, record, head } = inscribe(batch, before?.head, ports.sha256)
    const place = { session: before?.session ?? ++lastSession, head }
    places.set(session_id, place)
    const steps: Step[] = before === undefined ? [step('addSession', place.session, session_id)] : []
    const { header, payload } = isVoucher(runes[0]) ? record : packed(record)
    // The trigger of an opening reads the header.
    const readable = claiming.length > 0 ? record.header : header
    steps.push(step('addRecord', place.session, record.event_id, readable, payload, record.salt, bytesOf(record.hash)))
    for (const { idempotency_key, execution_id } of claiming)
      steps.push(step('addOpening', idempotency_key, place.session, record.event_id, execution_id))
    rows.keep(changes)
    return { steps, session_id, answer: runes, adds: runes, place, record }
  }

  /** Redacting and archiving read, work on files, and then write; one at a time, so that none undoes another's work. */
  let last: Promise<unknown> = Promise.resolve()
  function alone<T>(work: () => Promise<T>): Promise<T> {
    group.check()
    const done = last.then(work)
    last = done.catch(() => undefined)
    return done
  }

  const folding = createFolding({ reader, rows, models, commit, isHooked: true })
  await folding.begin()
  const erasures = createErasures({ reader, segments, write: group.write, eraseBlobs: options.eraseBlobs })
  // Finishes erasures of a killed process. Files that cannot be removed now are retried at the next start.
  await erasures.finish().catch(() => {})

  const store: Runelog = {
    async append(batch) {
      group.check()
      const prepared = await prepareLong(batch, preparing)
      group.check()
      if (prepared instanceof Fault) return prepared
      return group.submit(() => decide(prepared))
    },
    read: async (session_id, range) => runes().read(session_id, range),
    follow: (session_id, after, signal) =>
      follow({ read: store.read, bell, tail, check: group.check }, session_id, after, signal),
    async head(session_id) {
      group.check()
      trimCache(places)
      return placeOf(session_id)?.head
    },
    sessionIds: async () => runes().sessionIds(),
    records: (session_id, after) => runes().records(session_id, after),
    async row(model, key) {
      group.check()
      rows.trim()
      return rows.look(model, key)
    },
    rows: async (model, query) => table().rows(model, query),
    tags: async (model) => table().tags(model),
    count: async (model, tag, limit) => table().count(model, tag, limit),
    async search(query) {
      table()
      return search.find(query)
    },
    watch: bell.listen,
    redact: (session_id, event_id, reason, by = {}) =>
      alone(() =>
        group.hold(async (submit) => {
          const session = reader.key(session_id) ?? 0
          const segment = reader.segmentOf(session)
          const records = [...(await reader.cold(session)), ...reader.hot(session)]
          const asked = { session_id, event_id, reason }
          const { original, replaced, erased, batch, blobs } = redaction(records, asked, by, preparing)
          const isCold = segment !== undefined && event_id <= segment.runes
          // All files of the session are written one after the other, so none of these is being written.
          const left = await segments.leftovers(session_id, records, segment?.file ?? null)
          const archived = erased.filter((record) => record.event_id <= (segment?.runes ?? 0))
          const written = isCold ? await segments.write(session_id, archived) : undefined
          const erase = written
            ? step('changeSegment', written.segment, session)
            : step('erasePayload', packed(replaced).payload, replaced.salt, session, replaced.event_id)
          const done = await submit(() => {
            const decided = decide(batch)
            if (decided instanceof Fault) return decided
            const { adds: _adds, record: added, ...rest } = decided
            rows.keep(refoldSession(models, [...erased, added], original))
            const noted = erasures.note({
              segments: isCold ? [segment.file, ...left] : left,
              blobs: [...blobs, ...(options.leftBlobs?.() ?? [])],
            })
            return { ...rest, steps: [...decided.steps, erase, noted, ...rows.write()] }
          })
          accepted(done)
          await erasures.finish().catch((error) => Promise.reject(explain(error, path)))
        }),
      ),
    archive: (session_id, by = {}) =>
      alone(async () => {
        for (;;) {
          const place = placeOf(session_id)
          const draft = (segment: string, sha256: string) =>
            archival(place?.head, { session_id, segment, sha256 }, by, preparing)
          accepted(judge(draft('', ''), place?.head, rows.look, models))
          if (place === undefined) throw faults.not_found({ what: 'session', id: session_id })

          const records = reader.hot(place.session)
          const { segment, sha256 } = await segments.write(session_id, records)
          const prepared = draft(segment, sha256)
          const archived = await group.submit(() => {
            const last = records.at(-1)?.event_id ?? 0
            const grown = placeOf(session_id)?.head.event_id !== last
            if (grown) return { steps: [], session_id, answer: false }
            const decided = decide(prepared)
            if (decided instanceof Fault) return decided
            const added = step('addSegment', place.session, segment, last, records[0]?.position ?? 0)
            const dropped = step('dropArchived', place.session, last)
            // Rows catch up from the table after a crash, so they are written before runes leave it.
            return { steps: [...decided.steps, added, dropped, ...rows.write()], session_id, answer: true }
          })
          if (accepted(archived)) return
          await segments.remove(segment)
        }
      }),
    rebuild: () => alone(() => group.hold(folding.rebuild)),

    async close() {
      clearInterval(looking)
      await last
      await group.drained()
      await search.close()
      if (db.isOpen) {
        try {
          table()
        } catch {
          // The disk failed, then or now. No rune is missing, and rows are folded from them when the store opens.
        }
        db.close()
        group.shut(faults.store_closed({ store: path }))
        bell.ringAll()
      }
      lock.release()
    },
  }
  return { ...store, announce: lock.announce, strays: () => findStrays(path, reader) }
}
