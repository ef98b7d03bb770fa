import { startFold } from '../../runelog/judge.ts'
import type { ReadModel } from '../../runelog/read-model.ts'
import { foldRecord } from '../../runelog/refold.ts'
import type { Reader } from './reader.ts'
import type { Rows } from './rows.ts'
import { type Step, step } from './statements.ts'

export interface FoldingPorts {
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
