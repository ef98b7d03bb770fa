import { canonicalJson } from '../../kernel/canonical-json.ts'
import type { Json } from '../../kernel/json.ts'
import { type Change, type Look, startFold } from '../../runelog/judge.ts'
import type { ReadModel, Row } from '../../runelog/read-model.ts'
import { foldRecord } from '../../runelog/refold.ts'
import type { Reader } from './reader.ts'
import { type Step, step } from './statements.ts'

/**
 * A map that can be cut back to its newest entries. It is never cut by itself:
 * an entry may be ahead of the database until the commit under way has ended.
 */
export function createCache<V>(limit: number) {
  const entries = new Map<string, V>()
  return {
    get: (key: string) => entries.get(key),
    has: (key: string) => entries.has(key),
    set: (key: string, value: V) => void entries.set(key, value),
    clear: () => entries.clear(),
    trim() {
      if (entries.size <= limit) return
      for (const key of entries.keys()) {
        if (entries.size <= limit / 2) return
        entries.delete(key)
      }
    },
  }
}

type Cache<V> = ReturnType<typeof createCache<V>>

interface Rows {
  /** A row as of the last commit, or as it will be after the appends that are ahead in the queue. */
  readonly look: Look
  /** Takes over what a batch changes. It is part of the commit that holds the runes of the batch: it follows from them. */
  keep(changes: readonly Change[]): void
  /** This process folded a change of the row that is not in the table yet; the rune may not be, either. */
  readonly isAhead: (model: ReadModel, key: string) => boolean
  /** So many rows are not in the table yet. */
  readonly behind: () => number
  /** Writes them, and how far the table is. They are in the table once these steps are committed. */
  write(): readonly Step[]
  trim(): void
  clear(): void
}

/**
 * The rows of the read models. A commit holds runes; the rows that follow from them are kept here and reach the table
 * together, when rows are listed or when there are many. A call moves its rows several times in a second, each in a
 * page of its own: written with every commit they were most of its cost. After a crash what is missing is folded from
 * the runes, so no reader ever sees rows and runes that differ.
 */
export function createRows(stored: Look): Rows {
  const models = new Map<string, Model>()
  let behind = 0

  function modelOf(name: string): Model {
    let model = models.get(name)
    if (model === undefined) {
      model = { known: createCache<Row | undefined>(8_000), behind: new Map() }
      models.set(name, model)
    }
    return model
  }

  function lookUp(wanted: ReadModel, key: string): Row | undefined {
    const { known, behind } = modelOf(wanted.name)
    const row = known.get(key)
    if (row !== undefined || known.has(key)) return row
    const change = behind.get(key)
    const found = change === undefined ? stored(wanted, key) : change.row
    known.set(key, found)
    return found
  }

  return {
    // The cast holds: rows are kept by the name of their model, and only its own fold writes them.
    look: <V extends Json>(model: ReadModel<V>, key: string) => lookUp(model, key) as Row<V> | undefined,
    keep(changes) {
      for (const { model: name, key, row } of changes) {
        const model = modelOf(name)
        const before = model.behind.get(key)
        // A row that changes was usually looked at before. One that was not may be in the table.
        const isStored = before?.isStored ?? (model.known.get(key) !== undefined || !model.known.has(key))
        model.known.set(key, row)
        if (before === undefined) behind++
        model.behind.set(key, { row, isStored })
      }
    },
    isAhead: ({ name }, key) => modelOf(name).behind.has(key),
    behind: () => behind,
    write() {
      const steps: Step[] = []
      for (const [name, model] of models) {
        for (const [key, { row, isStored }] of model.behind)
          if (row !== undefined) steps.push(step('putRow', name, key, row.tag, row.sort, canonicalJson(row.value)))
          else if (isStored) steps.push(step('removeRow', name, key))
        model.behind.clear()
      }
      behind = 0
      steps.push(step('setFolded'))
      return steps
    },
    trim() {
      for (const { known } of models.values()) known.trim()
    },
    clear() {
      models.clear()
      behind = 0
    },
  }
}

interface Model {
  readonly known: Cache<Row | undefined>
  /** Rows that are not in the table yet. */
  readonly behind: Map<string, Behind>
}

interface Behind {
  readonly row: Row | undefined
  /** The table may have a row of that name, whatever is in it. */
  readonly isStored: boolean
}

interface FoldingPorts {
  readonly reader: Reader
  readonly rows: Rows
  readonly models: readonly ReadModel[]
  readonly commit: (decide: () => readonly Step[]) => void
}

/** Which folds the rows follow from. Rows of other folds are folded again from the first rune. */
export function fingerprint(models: readonly ReadModel[]): string {
  return JSON.stringify(models.map(({ name, version }) => [name, version]))
}

/** Brings the rows of the read models up to the last rune. */
export function createFolding({ reader, rows, models, commit }: FoldingPorts) {
  async function rebuild(): Promise<number> {
    const folding = startFold(models, () => undefined)
    let count = 0
    for await (const record of reader.inOrder()) {
      foldRecord(folding, record)
      count += 1
    }
    rows.clear()
    rows.keep(folding.changes())
    commit(() => [
      step('eraseWords'),
      step('eraseRows'),
      ...rows.write(),
      step('setMeta', 'models', fingerprint(models)),
    ])
    return count
  }

  /** Folds the runes whose rows a killed process had not written yet. */
  function catchUp(): void {
    const folding = startFold(models, rows.look)
    for (const record of reader.since(Number(reader.meta('folded') ?? 0))) foldRecord(folding, record)
    rows.keep(folding.changes())
    if (rows.behind() > 0) commit(rows.write)
  }

  return {
    rebuild,
    async begin(): Promise<void> {
      if (reader.meta('models') === fingerprint(models)) catchUp()
      else await rebuild()
    },
  }
}
