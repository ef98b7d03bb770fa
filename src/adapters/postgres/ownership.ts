import { faults } from '../../faults/catalogue.ts'
import { Fault } from '../../faults/fault.ts'
import { startFold } from '../../runelog/judge.ts'
import type { ReadModel } from '../../runelog/read-model.ts'
import { refuseNothing } from '../../runelog/refold.ts'
import type { Segments } from '../../runelog/segment.ts'
import { toRune } from '../../runes/record.ts'
import { type Connection, unusable } from './connection.ts'
import { reconnect } from './lane.ts'
import { inOrder } from './reader.ts'
import { schema, schemaNumber, storeLock } from './schema.ts'
import { rowColumns } from './transaction.ts'

export interface OwnerPorts {
  readonly url: string
  readonly store: string
  readonly patience: number
  readonly models: readonly ReadModel[]
  readonly fingerprint: string
  readonly segments: Segments | undefined
}

/** What is done with the whole store and nobody else in it: making the tables, and folding the read models anew. */
export function createOwnership(ports: OwnerPorts) {
  const { url, store, patience, models, fingerprint, segments } = ports

  async function alone<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await reconnect(url, store, Date.now() + patience)
    try {
      await connection.send('begin')
      await connection.send('exclude', storeLock)
      const answer = await work(connection)
      await connection.commit()
      return answer
    } catch (error) {
      throw error instanceof Fault ? error : unusable(error, store)
    } finally {
      await connection.end()
    }
  }

  async function rebuildModels(connection: Connection): Promise<number> {
    const folding = startFold(models, () => undefined)
    let count = 0
    for await (const record of inOrder(connection.send, segments)) {
      refuseNothing(folding.fold(toRune(record, '')))
      count += 1
    }
    await connection.send('eraseRows')
    const changes = folding.changes().filter(({ row }) => row !== undefined)
    for (let i = 0; i < changes.length; i += 1000)
      await connection.send('addRows', ...rowColumns(changes.slice(i, i + 1000)))
    await connection.send('setMeta', 'models', fingerprint)
    return count
  }

  async function makeTables(connection: Connection): Promise<void> {
    const [present] = await connection.text<{ found: string | null }>(`SELECT to_regclass('statewright.meta') AS found`)
    if (present?.found == null) await connection.text(schema)
    const [version] = await connection.send<{ value: string }>('meta', 'schema')
    if (Number(version?.value) < schemaNumber)
      throw faults.store_unusable({
        store,
        problem: `it was written by 0.1 (schema ${version?.value}), and this version cannot continue its log. Export its sessions with 0.1; "statewright verify --bundle" reads those files.`,
      })
    if (Number(version?.value) > schemaNumber)
      throw faults.store_unusable({
        store,
        problem: `it was written by a newer version (schema ${version?.value}); this one knows schema ${schemaNumber}. Upgrade first.`,
      })
    const [folded] = await connection.send<{ value: string }>('meta', 'models')
    if (folded?.value !== fingerprint) await rebuildModels(connection)
  }

  return { prepare: () => alone(makeTables), rebuild: () => alone(rebuildModels) }
}
