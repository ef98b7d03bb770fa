import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { faults } from '../../faults/catalogue.ts'
import { Fault } from '../../faults/fault.ts'
import { canonicalJson } from '../../kernel/canonical-json.ts'
import { createBell } from '../../runelog/bell.ts'
import { follow } from '../../runelog/follow.ts'
import { type Change, inscribe, judge, type Look, startFold } from '../../runelog/judge.ts'
import { allModels } from '../../runelog/models/built-in.ts'
import { archival, redaction } from '../../runelog/own-runes.ts'
import type { Head, Runelog } from '../../runelog/port.ts'
import type { Ports, RunelogOptions } from '../../runelog/ports.ts'
import { type Prepared, prepare } from '../../runelog/prepare.ts'
import type { Row } from '../../runelog/read-model.ts'
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
import { startWriterThread } from './start-writer-thread.ts'
import { prepareStatements, type Step, step } from './statements.ts'
import { createWriter } from './writer.ts'

export interface SqliteRunelog extends Runelog {
  readonly announce: Lock['announce']
}

export interface SqliteOptions extends RunelogOptions {
  /** Commit in a thread of its own. */
  readonly thread?: boolean
}

interface Place {
  readonly session: number
  readonly head: Head
}

/** The default store: one file, one process, every acknowledged append synced. */
export async function openSqliteRunelog(
  path: string,
  ports: Ports,
  options: SqliteOptions = {},
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

async function open(path: string, lock: Lock, ports: Ports, options: SqliteOptions): Promise<SqliteRunelog> {
  const db = openDatabase(path)
  const statements = prepareStatements(db)
  const segmentFolder = `${path}.segments`
  const segments = createSegments(segmentFolder)
  const reader = createReader(db, statements, segments)
  const thread = options.thread ? await startWriterThread(path) : undefined
  const commit = thread?.commit ?? createWriter(db, statements)
  const models = allModels(options.models)
  const preparing = { ...ports, redactor: options.redactor }
  const bell = createBell()
  const tail = createTail(bell.isAwaited)

  /** What the writer knows: committed state plus what is queued ahead. `decide` functions read it, and `shown` below. */
  const places = createCache<Place>(50_000)
  const rows = createCache<Row | undefined>(50_000)
  let lastSession = reader.lastSession()

  const group = createGroupCommit({
    commit,
    committed(written) {
      places.trim()
      rows.trim()
      for (const { session_id, adds } of written)
        if (adds === undefined) tail.forget(session_id)
        else tail.add(session_id, adds)
      bell.ring([...new Set(written.map(({ session_id }) => session_id))])
    },
  })

  const look: Look = (model, key) => {
    const name = `${model} ${key}`
    const known = rows.get(name)
    if (known !== undefined || rows.has(name)) return known
    const row = reader.row(model, key)
    rows.set(name, row)
    return row
  }

  function placeOf(session_id: string): Place | undefined {
    const known = places.get(session_id)
    if (known !== undefined) return known
    const session = reader.key(session_id)
    const head = reader.head(session_id)
    if (session === undefined || head === undefined) return undefined
    const place = { session, head }
    places.set(session_id, place)
    return place
  }

  /**
   * What readers may see of the above. Without a thread a group is decided and committed in one stretch, so that nobody
   * ever finds it between the two; with one, only the database knows what is committed.
   */
  const shown =
    thread === undefined
      ? {
          head(session_id: string) {
            places.trim()
            return placeOf(session_id)?.head
          },
          row(model: string, key: string) {
            rows.trim()
            return look(model, key)
          },
        }
      : reader

  function writeRows(changes: readonly Change[]): readonly Step[] {
    return changes.map(({ model, key, row }) => {
      rows.set(`${model} ${key}`, row)
      if (row === undefined) return step('removeRow', model, key)
      return step('putRow', model, key, row.tag, row.sort, canonicalJson(row.value))
    })
  }

  function decide(batch: Prepared): (Decided<readonly Rune[]> & { readonly place: Place }) | Fault {
    const { session_id } = batch
    const before = placeOf(session_id)
    const changes = judge(batch, before?.head, look, models)
    if (changes instanceof Fault) return changes
    const { runes, records, head } = inscribe(batch, before?.head, ports.sha256)
    const place = { session: before?.session ?? ++lastSession, head }
    places.set(session_id, place)
    const steps: Step[] = before === undefined ? [step('addSession', place.session, session_id)] : []
    for (const { event_id, header, payload, salt, hash } of records)
      steps.push(step('addRune', place.session, event_id, header, payload, salt, hash))
    steps.push(...writeRows(changes))
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

  async function rebuildModels(): Promise<number> {
    const folding = startFold(models, () => undefined)
    let count = 0
    for await (const record of reader.inOrder()) {
      refuseNothing(folding.fold(toRune(record, '')))
      count += 1
    }
    rows.clear()
    const versions = JSON.stringify(models.map(({ name, version }) => [name, version]))
    await commit([step('eraseRows'), ...writeRows(folding.changes()), step('setMeta', 'models', versions)])
    return count
  }

  function sweep() {
    if (!existsSync(segmentFolder)) return
    const known = new Set(reader.segmentFiles())
    for (const file of readdirSync(segmentFolder)) if (!known.has(file)) rmSync(join(segmentFolder, file))
  }

  sweep()
  if (reader.meta('models') !== JSON.stringify(models.map(({ name, version }) => [name, version])))
    await rebuildModels()

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
      return shown.head(session_id)
    },

    async sessionIds() {
      group.check()
      return reader.sessionIds()
    },

    async row(model, key) {
      group.check()
      return shown.row(model, key)
    },

    async rows(model, query) {
      group.check()
      return reader.rows(model, query)
    },

    watch: bell.listen,

    records(session_id, after) {
      group.check()
      return reader.records(session_id, after)
    },

    redact: (session_id, event_id, reason, actor = 'human') =>
      alone(() =>
        group.hold(async (submit) => {
          const session = reader.key(session_id) ?? 0
          const segment = reader.segmentOf(session)
          const records = [...(await reader.cold(session)), ...reader.positioned(session)]
          const who = { actor, at: ports.now(), sha256: ports.sha256 }
          const { rune, payload } = redaction(records[event_id - 1], { session_id, event_id, reason }, who)
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
            return { ...rest, steps: [...decided.steps, erase, ...writeRows(refoldSession(models, erased))] }
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
            look,
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
      if (db.isOpen) await thread?.close()
      if (db.isOpen) db.close()
      lock.release()
    },

    announce: lock.announce,
  }
  return store
}
