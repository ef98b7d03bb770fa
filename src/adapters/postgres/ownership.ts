import { setTimeout as delay } from 'node:timers/promises'
import { faults } from '../../faults/catalogue.ts'
import type { Damage } from '../../runelog/damage.ts'
import { foldAll } from '../../runelog/judge.ts'
import { fingerprint, schemaProblem } from '../../runelog/models.ts'
import type { Segments } from '../../runelog/segment.ts'
import { auditPostgres } from './audit.ts'
import { type Connection, hasTable, isTooSlow, unusable } from './connection.ts'
import { type LanePorts, reconnect } from './lane.ts'
import { rowColumns } from './model-rows.ts'
import { inOrder } from './reader.ts'
import { schema, schemaNumber, storeLock } from './schema.ts'

/** How long one wait for the lock lasts: writers wait no longer than this. */
const exclude_ms = 1_000
/** How long folding may take between two statements. A frozen process keeps writers out no longer than this. */
const folding_ms = 60_000
/** How long one statement may take while the whole store is folded. */
const longest_ms = 600_000

interface OwnerPorts extends Pick<LanePorts, 'url' | 'store' | 'patience' | 'models'> {
  readonly segments: Segments | undefined
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

  /** Rows and other parts that do not follow from the log. */
  async function* damages(): AsyncGenerator<Damage, void, void> {
    const connection = await reconnect({ url, store, answer_ms: longest_ms }, performance.now() + patience)
    try {
      await connection.text(`SET idle_in_transaction_session_timeout = ${folding_ms}`)
      yield* auditPostgres(connection, { models, segments })
    } finally {
      await connection.end()
    }
  }

  return { damages, prepare, rebuild: () => alone(rebuildModels) }
}
