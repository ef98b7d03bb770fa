import { setTimeout as delay } from 'node:timers/promises'
import { faults } from '../../faults/catalogue.ts'
import { type Damage, damageIn, type StoredRow } from '../../runelog/damage.ts'
import { foldAll } from '../../runelog/judge.ts'
import { fingerprint, schemaProblem } from '../../runelog/models.ts'
import type { Segments } from '../../runelog/segment.ts'
import { blobRef } from '../../runes/redaction.ts'
import { type Connection, hasTable, isTooSlow, unusable } from './connection.ts'
import { type LanePorts, reconnect } from './lane.ts'
import { inOrder } from './reader.ts'
import { schema, schemaNumber, storeLock } from './schema.ts'
import { readSort, rowColumns, type StoredModelRow } from './transaction.ts'

/** How long one wait for the lock lasts: writers wait no longer than this. */
const exclude_ms = 1_000
/** How long folding may take between two statements. A frozen process keeps writers out no longer than this. */
const folding_ms = 60_000
/** How long one statement may take while the whole store is folded. */
const longest_ms = 600_000

interface OwnerPorts extends Pick<LanePorts, 'url' | 'store' | 'patience' | 'models'> {
  readonly segments: Segments | undefined
}

async function rowsOf({ text }: Connection, model: string): Promise<readonly StoredRow[]> {
  const sql = 'SELECT key, tag, sort, value FROM statewright.model_row WHERE model = $1'
  return (await text<StoredModelRow>(sql, [model])).map((row) => ({ ...row, sort: readSort(row.sort) }))
}

async function blobProblem({ text }: Connection, ref: string): Promise<string | undefined> {
  const sql = `SELECT encode(sha256(content), 'hex') AS digest FROM statewright.blob WHERE ref = $1`
  const [blob] = (await hasTable(text, 'blob')) ? await text<{ digest: string }>(sql, [ref]) : []
  if (blob === undefined) return 'it is missing.'
  return ref === blobRef(blob.digest) ? undefined : 'its content is not what was recorded.'
}

/** Work that needs the whole store exclusively: making the tables, and folding the read models again. */
export function createOwnership({ url, store, patience, models, segments }: OwnerPorts) {
  /** Waits for the exclusive lock only for a moment at a time: later requests queue behind it. */
  async function alone<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const deadline = performance.now() + patience
    const connection = await reconnect({ url, store, answer_ms: longest_ms }, deadline)
    return finished(connection, async () => {
      await exclude(connection, deadline)
      const answer = await work(connection)
      await connection.commit()
      return answer
    })
  }

  async function exclude(connection: Connection, deadline: number): Promise<void> {
    for (;;) {
      await connection.send('begin')
      await connection.text(`SET LOCAL lock_timeout = ${exclude_ms}`)
      await connection.text(`SET LOCAL idle_in_transaction_session_timeout = ${folding_ms}`)
      try {
        await connection.send('exclude', storeLock)
        await connection.text('SET LOCAL lock_timeout = DEFAULT')
        return
      } catch (error) {
        if (!isTooSlow(error) || performance.now() > deadline) throw error
        await connection.send('rollback')
        await delay(exclude_ms / 2)
      }
    }
  }

  /** Checks without a lock: a store that needs no work is opened while other processes use it. */
  async function prepare(): Promise<void> {
    const connection = await reconnect({ url, store }, performance.now() + patience)
    if (!(await finished(connection, isPrepared))) await alone(makeTables)
  }

  async function finished<T>(connection: Connection, work: (connection: Connection) => Promise<T>): Promise<T> {
    try {
      return await work(connection)
    } catch (error) {
      throw unusable(error, store)
    } finally {
      await connection.end()
    }
  }

  async function rebuildModels(connection: Connection): Promise<number> {
    const { changes: folded, count } = await foldAll(models, inOrder(connection.send, segments))
    await connection.send('eraseRows')
    const changes = folded.filter(({ row }) => row !== undefined)
    for (let i = 0; i < changes.length; i += 1000)
      await connection.send('addRows', ...rowColumns(changes.slice(i, i + 1000)))
    await connection.send('setMeta', 'models', fingerprint(models))
    return count
  }

  async function isPrepared(connection: Connection): Promise<boolean> {
    if (!(await hasTable(connection.text, 'meta'))) return false
    const [version] = await connection.send<{ value: string }>('meta', 'schema')
    const problem = schemaProblem(Number(version?.value), schemaNumber)
    if (problem !== undefined) throw faults.store_unusable({ store, problem })
    const [folded] = await connection.send<{ value: string }>('meta', 'models')
    return folded?.value === fingerprint(models)
  }

  async function makeTables(connection: Connection): Promise<void> {
    if (!(await hasTable(connection.text, 'meta'))) await connection.text(schema)
    if (!(await isPrepared(connection))) await rebuildModels(connection)
  }

  async function* damages(): AsyncGenerator<Damage, void, void> {
    const connection = await reconnect({ url, store }, performance.now() + patience)
    try {
      await connection.text('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
      const audited = {
        records: inOrder(connection.send, segments),
        folded: Number.POSITIVE_INFINITY,
        rows: (model: string) => rowsOf(connection, model),
        blobProblem: (ref: string) => blobProblem(connection, ref),
      }
      yield* damageIn(audited, models)
    } catch (error) {
      yield { what: 'database', problem: `it cannot be read further: ${(error as Error).message}.` }
    } finally {
      await connection.end()
    }
  }

  return { damages, prepare, rebuild: () => alone(rebuildModels) }
}
