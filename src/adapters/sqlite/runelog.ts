import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { faults } from '../../faults/catalogue.ts'
import { Fault } from '../../faults/fault.ts'
import { createBell } from '../../runelog/bell.ts'
import { follow } from '../../runelog/follow.ts'
import { inscribe, judge, startFold } from '../../runelog/judge.ts'
import { allModels } from '../../runelog/models/built-in.ts'
import type { Subject } from '../../runelog/models/subjects.ts'
import { archival, redaction } from '../../runelog/own-runes.ts'
import type { Head, Runelog } from '../../runelog/port.ts'
import type { Ports, RunelogOptions } from '../../runelog/ports.ts'
import { type Prepared, prepare } from '../../runelog/prepare.ts'
import { refoldSession, refuseNothing } from '../../runelog/refold.ts'
import { createSegments } from '../../runelog/segment.ts'
import { createTail } from '../../runelog/tail.ts'
import { toRune } from '../../runes/record.ts'
import type { Rune } from '../../runes/rune.ts'
import { createCache } from './cache.ts'
import { createGroupCommit, type Decided } from './group-commit.ts'
import { type Lock, takeLock } from './lock.ts'
import { explain, openDatabase } from './open-database.ts'
import { createReader } from './reader.ts'
import { createRows } from './rows.ts'
import { prepareStatements, type Step, step } from './statements.ts'
import { createWriter } from './writer.ts'

export interface SqliteRunelog extends Runelog {
  readonly announce: Lock['announce']
}

interface Place {
  readonly session: number
  readonly head: Head
}

/** So many rows may be behind: to write them takes a few milliseconds, and as long to fold them anew after a crash. */
const rowsBehind = 500

/** The default store: one file, one process, every acknowledged append synced. */
export async function openSqliteRunelog(
  path: string,
  ports: Ports,
  options: RunelogOptions = {},
): Promise<SqliteRunelog> {
  let lock: Lock | undefined
  try {
    lock = takeLock(path)
    return await open(path, lock, ports, options)
  } catch (error) {
    lock?.release()
    throw explain(error, path)
  }
}

async function open(path: string, lock: Lock, ports: Ports, options: RunelogOptions): Promise<SqliteRunelog> {
  const db = openDatabase(path)
  const statements = prepareStatements(db)
  const segmentFolder = `${path}.segments`
  const segments = createSegments(segmentFolder)
  const reader = createReader(db, statements, segments)
  const commit = createWriter(db, statements)
  const models = allModels(options.models)
  const preparing = { ...ports, redactor: options.redactor }
  const bell = createBell()
  const tail = createTail(bell.isAwaited)

  /** Committed state plus what is queued ahead; `decide` functions read it. */
  const places = createCache<Place>(8_000)
  const rows = createRows(reader.row)
  let lastSession = reader.lastSession()

  const group = createGroupCommit({
    commit: (decide) =>
      commit(() => {
        const steps = decide()
        return rows.behind() < rowsBehind ? steps : [...steps, ...rows.write()]
      }),
    committed(written) {
      places.trim()
      rows.trim()
      for (const { session_id, adds } of written)
        if (adds === undefined) tail.forget(session_id)
        else tail.add(session_id, adds)
      bell.ring([...new Set(written.map(({ session_id }) => session_id))])
    },
  })

  /** Brings the table up to the last commit. */
  const settleRows = () => {
    if (rows.behind() > 0) group.write(rows.write)
  }

  function placeOf(session_id: string): Place | undefined {
    const known = places.get(session_id)
    if (known !== undefined) return known
    const session = reader.key(session_id)
    const last = session === undefined ? undefined : reader.lastRune(session)
    if (session === undefined || last === undefined) return undefined
    const state = (rows.look('subjects', session_id)?.value as Subject | undefined)?.state
    const archived = state === 'archived'
    const place = { session, head: { session_id, ...last, sealed: archived || state === 'closed', archived } }
    places.set(session_id, place)
    return place
  }

  function decide(batch: Prepared): (Decided<readonly Rune[]> & { readonly place: Place }) | Fault {
    const { session_id } = batch
    const before = placeOf(session_id)
    const changes = judge(batch, before?.head, rows.look, models)
    if (changes instanceof Fault) return changes
    const { runes, records, head } = inscribe(batch, before?.head, ports.sha256)
    const place = { session: before?.session ?? ++lastSession, head }
    places.set(session_id, place)
    const steps: Step[] = before === undefined ? [step('addSession', place.session, session_id)] : []
    for (const { event_id, header, payload, salt, hash } of records)
      steps.push(step('addRune', place.session, event_id, header, payload, salt, hash))
    rows.keep(changes)
    return { steps, session_id, answer: runes, adds: runes, place }
  }

  /** Redacting and archiving read, work on files, and then write; one at a time, so that none undoes another's work. */
  let turn: Promise<unknown> = Promise.resolve()
  function alone<T>(work: () => Promise<T>): Promise<T> {
    group.check()
    const done = turn.then(work)
    turn = done.catch(() => undefined)
    return done
  }

  const versions = JSON.stringify(models.map(({ name, version }) => [name, version]))

  async function rebuildModels(): Promise<number> {
    const folding = startFold(models, () => undefined)
    let count = 0
    for await (const record of reader.inOrder()) {
      refuseNothing(folding.fold(toRune(record, '')))
      count += 1
    }
    rows.clear()
    rows.keep(folding.changes())
    commit(() => [step('eraseRows'), ...rows.write(), step('setMeta', 'models', versions)])
    return count
  }

  /** What a process that ended too soon had not yet written. */
  function catchUp() {
    const folding = startFold(models, rows.look)
    for (const record of reader.since(Number(reader.meta('folded') ?? 0)))
      refuseNothing(folding.fold(toRune(record, '')))
    rows.keep(folding.changes())
    if (rows.behind() > 0) commit(rows.write)
  }

  function sweep() {
    if (!existsSync(segmentFolder)) return
    const known = new Set(reader.segmentFiles())
    for (const file of readdirSync(segmentFolder)) if (!known.has(file)) rmSync(join(segmentFolder, file))
  }

  sweep()
  if (reader.meta('models') === versions) catchUp()
  else await rebuildModels()

  const store: SqliteRunelog = {
    async append(batch) {
      group.check()
      const prepared = prepare(batch, preparing)
      return group.submit(() => decide(prepared))
    },

    async read(session_id, range) {
      group.check()
      return reader.read(session_id, range)
    },

    follow: (session_id, after, signal) => follow({ read: store.read, bell, tail }, session_id, after, signal),

    async head(session_id) {
      group.check()
      places.trim()
      return placeOf(session_id)?.head
    },

    async sessionIds() {
      group.check()
      return reader.sessionIds()
    },

    async row(model, key) {
      group.check()
      rows.trim()
      return rows.look(model, key)
    },

    async rows(model, query) {
      group.check()
      settleRows()
      return reader.rows(model, query)
    },

    async tags(model) {
      group.check()
      settleRows()
      return reader.tags(model)
    },

    async count(model, tag, limit) {
      group.check()
      settleRows()
      return reader.count(model, tag, limit)
    },

    watch: bell.listen,

    records(session_id, after) {
      group.check()
      return reader.records(session_id, after)
    },

    redact: (session_id, event_id, reason, by = {}) =>
      alone(() =>
        group.hold(async (submit) => {
          const session = reader.key(session_id) ?? 0
          const segment = reader.segmentOf(session)
          const records = [...(await reader.cold(session)), ...reader.positioned(session)]
          const { rune, payload } = redaction(records[event_id - 1], { session_id, event_id, reason }, by, ports)
          const erased = records.map((r) => (r.event_id === event_id ? { ...r, payload, salt: null } : r))
          const isCold = segment !== undefined && event_id <= segment.runes
          const written = isCold ? await segments.write(session_id, erased.slice(0, segment.runes)) : undefined
          const prepared = prepare({ session_id, runes: [rune] }, preparing, true)
          const erase: Step =
            written === undefined
              ? step('erasePayload', payload, session, event_id)
              : step('changeSegment', written.segment, session)

          await submit(() => {
            const decided = decide(prepared)
            if (decided instanceof Fault) return decided
            const { adds: _adds, ...rest } = decided
            rows.keep(refoldSession(models, erased))
            return { ...rest, steps: [...decided.steps, erase, ...rows.write()] }
          })
          if (isCold) await segments.remove(segment.file)
        }),
      ),

    archive: (session_id, actor = 'human') =>
      alone(async () => {
        for (;;) {
          const place = placeOf(session_id)
          const draft = (segment: string, sha256: string) =>
            archival(place?.head, session_id, { segment, sha256 }, { actor, at: ports.now() })
          const trial = judge(
            prepare({ session_id, runes: [draft('', '')] }, preparing, true),
            place?.head,
            rows.look,
            models,
          )
          if (trial instanceof Fault) throw trial
          if (place === undefined) throw faults.not_found({ what: 'session', id: session_id })

          const records = reader.positioned(place.session)
          const { segment, sha256 } = await segments.write(session_id, records)
          const prepared = prepare({ session_id, runes: [draft(segment, sha256)] }, preparing, true)
          const archived = await group.submit(() => {
            const grown = placeOf(session_id)?.head.event_id !== records.length
            if (grown) return { steps: [], session_id, answer: false }
            const decided = decide(prepared)
            if (decided instanceof Fault) return decided
            const first = records[0]?.position ?? 0
            const steps: Step[] = [
              ...decided.steps,
              step('addSegment', place.session, segment, records.length, first),
              step('dropArchived', place.session, records.length),
              // What is moved away must be in the rows: they are caught up from the table.
              ...rows.write(),
            ]
            return { steps, session_id, answer: true }
          })
          if (archived) return
          await segments.remove(segment)
        }
      }),

    rebuild: () => alone(() => group.hold(rebuildModels)),

    async close() {
      await turn
      await group.drained()
      if (db.isOpen) {
        try {
          group.check()
          settleRows()
        } catch {
          // The disk failed, then or now. No rune is missing, and rows are folded from them when the store opens.
        }
        db.close()
        group.shut(faults.store_closed({ store: path }))
      }
      lock.release()
    },

    announce: lock.announce,
  }
  return store
}
