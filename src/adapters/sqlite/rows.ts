import { canonicalJson } from '../../kernel/canonical-json.ts'
import type { Change, Look } from '../../runelog/judge.ts'
import type { Row } from '../../runelog/read-model.ts'
import { createCache } from './cache.ts'
import { type Step, step } from './statements.ts'

export interface Rows {
  /** A row as of the last commit, or as it will be after the appends that are ahead in the queue. */
  readonly look: Look
  /** Takes over what a batch changes. It is part of the commit that holds the runes of the batch: it follows from them. */
  keep(changes: readonly Change[]): void
  /** So many rows are not in the table yet. */
  readonly behind: () => number
  /** Writes them, and how far the table is. They are in the table once these steps are committed. */
  write(): readonly Step[]
  trim(): void
  clear(): void
}

/**
 * The rows of the read models. A commit holds runes; the rows that follow from
 * them are kept here and reach the table together, when somebody lists rows or
 * when there are many. A call moves its rows several times in a second, each in
 * a page of its own: written with every commit they were most of its cost. After a
 * crash what is missing is folded from the runes, so no reader ever sees rows
 * and runes that differ.
 */
export function createRows(stored: Look): Rows {
  const behind = new Map<string, Change>()
  const known = createCache<Row | undefined>(50_000)

  return {
    look(model, key) {
      const name = `${model} ${key}`
      const row = known.get(name)
      if (row !== undefined || known.has(name)) return row
      const change = behind.get(name)
      const found = change === undefined ? stored(model, key) : change.row
      known.set(name, found)
      return found
    },
    keep(changes) {
      for (const change of changes) {
        const name = `${change.model} ${change.key}`
        known.set(name, change.row)
        behind.set(name, change)
      }
    },
    behind: () => behind.size,
    write() {
      const steps: Step[] = []
      for (const { model, key, row } of behind.values())
        steps.push(
          row === undefined
            ? step('removeRow', model, key)
            : step('putRow', model, key, row.tag, row.sort, canonicalJson(row.value)),
        )
      behind.clear()
      steps.push(step('setFolded'))
      return steps
    },
    trim: known.trim,
    clear() {
      behind.clear()
      known.clear()
    },
  }
}
