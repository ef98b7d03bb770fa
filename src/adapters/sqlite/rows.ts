import { canonicalJson, type Json } from '../../kernel/json.ts'
import { type Change, foldAll, foldProblem, type Look, startFold } from '../../runelog/judge.ts'
import { fingerprint } from '../../runelog/models.ts'
import type { ReadModel, Row } from '../../runelog/port.ts'
import type { Reader } from './reader.ts'
import { type Step, step, type Value } from './statements.ts'

/** Cuts a cache back to its newest entries. Between commits only: an entry may be ahead of the database until then. */
export function trimCache(entries: Map<string, unknown>): void {
  if (entries.size <= mostCached) return
  for (const key of entries.keys()) {
    if (entries.size <= mostCached / 2) return
    entries.delete(key)
  }
}

/** A run at work needs some ten rows of a model. */
const mostCached = 1_000

/** The most unwritten rows, and characters of their texts. To write them, or to fold them again after a crash, takes a few milliseconds. */
const mostBehind = { rows: 2_500, characters: 4_000_000 }

/** The most rows of one statement, and characters: its parameter is one text, and the words of a rune may be many. */
const atOnce = { rows: 2_500, characters: 1_000_000 }

/**
 * Rows of read models. A commit writes runes; their rows are written later, many at once, since they would be most of the
 * cost of a commit. After a crash they are folded from the runes, so readers see no difference.
 */
export function createRows(stored: Look) {
  const models = new Map<string, Model>()
  let behind = 0
  let characters = 0

  function modelOf(name: string): Model {
    const known = models.get(name)
    if (known !== undefined) return known
    const model: Model = { known: new Map(), behind: new Map() }
    models.set(name, model)
    return model
  }

  function lookUp(wanted: ReadModel, key: string): Row | undefined {
    const { known, behind } = modelOf(wanted.name)
    const row = known.get(key)
    if (row !== undefined || known.has(key)) return row
    const found = behind.has(key) ? behind.get(key)?.row : stored(wanted, key)
    known.set(key, found)
    return found
  }

  return {
    // The cast holds: rows are kept by the name of their model, and only its own fold writes them.
    look: <V extends Json>(model: ReadModel<V>, key: string) => lookUp(model, key) as Row<V> | undefined,
    /** Notes the changed rows of a batch. They follow from its runes, and so are part of their commit. */
    keep(changes: readonly Change[]) {
      for (const { model: name, key, row } of changes) {
        const model = modelOf(name)
        const before = model.behind.get(key)
        // A row that changes was usually read before. Otherwise it may be in the table.
        const isStored = before?.isStored ?? (model.known.get(key) !== undefined || !model.known.has(key))
        model.known.set(key, row)
        if (before === undefined) behind++
        if (typeof row?.value === 'string') characters += row.value.length
        model.behind.set(key, { row, isStored })
      }
    },
    /** This process folded a change of the row that is not in the table yet; the rune may not be, either. */
    isAhead: ({ name }: ReadModel, key: string) => modelOf(name).behind.has(key),
    behind: () => behind,
    /** So much is unwritten that the next commit writes it. */
    isDue: () => behind >= mostBehind.rows || characters >= mostBehind.characters,
    /** Writes the rows, and the position of the table. They are in the table once these steps are committed. */
    write(): readonly Step[] {
      const steps: Step[] = []
      let put: string[] = []
      let length = 0
      const flush = () => {
        if (put.length > 0) steps.push(step('putRows', `[${put.join()}]`))
        put = []
        length = 0
      }
      for (const [name, model] of models) {
        for (const [key, { row, isStored }] of model.behind) {
          if (row !== undefined) {
            const text = JSON.stringify([name, key, row.tag, row.sort, canonicalJson(row.value)])
            put.push(text)
            length += text.length
          } else if (isStored) steps.push(step('removeRow', name, key))
          if (put.length === atOnce.rows || length >= atOnce.characters) flush()
        }
        model.behind.clear()
      }
      flush()
      behind = 0
      characters = 0
      steps.push(step('setFolded'))
      return steps
    },
    trim() {
      for (const { known } of models.values()) trimCache(known)
    },
    clear() {
      models.clear()
      behind = 0
      characters = 0
    },
  }
}

interface Model {
  readonly known: Map<string, Row | undefined>
  /** `isStored`: the table may have a row of that name, with any content. */
  readonly behind: Map<string, { readonly row: Row | undefined; readonly isStored: boolean }>
}

function* valuesOf(changes: readonly Change[]): Generator<readonly Value[], void, void> {
  for (const { model, key, row } of changes)
    if (row !== undefined) yield [model, key, row.tag, row.sort, canonicalJson(row.value)]
}

interface FoldingPorts {
  readonly reader: Reader
  readonly rows: ReturnType<typeof createRows>
  readonly models: readonly ReadModel[]
  readonly commit: (decide: () => readonly Step[]) => void
  /** Rows fire the triggers of an index of words. */
  readonly isHooked: boolean
}

/** Folds the rows of the read models up to the last rune. */
export function createFolding({ reader, rows, models, commit, isHooked }: FoldingPorts) {
  /** Without the triggers, the table is emptied at once, and each row costs a third. */
  async function rebuild(): Promise<number> {
    const { changes, count } = await foldAll(models, reader.inOrder())
    rows.clear()
    commit(() => [
      ...(isHooked ? [step('unhookWords'), step('eraseWords'), step('overwriteWords')] : []),
      step('eraseRows'),
      { name: 'addRow', values: [], each: valuesOf(changes) },
      ...(isHooked ? [step('hookWords')] : []),
      step('setFolded'),
      step('setMeta', 'models', fingerprint(models)),
    ])
    return count
  }

  /** False: the rows are not those of the record at this place, or a record after it is damaged. */
  function catchUp(folded: number): boolean {
    // A mark past the last record would keep the next ones from being folded.
    if (!(folded >= 0 && folded <= reader.lastPosition())) return false
    const folding = startFold(models, rows.look)
    for (const record of reader.since(folded)) if (foldProblem(folding, record) !== undefined) return false
    rows.keep(folding.changes())
    if (rows.behind() > 0) commit(rows.write)
    return true
  }

  return {
    rebuild,
    async begin(): Promise<void> {
      const isSameFold = reader.meta('models') === fingerprint(models)
      if (!isSameFold || !catchUp(Number(reader.meta('folded') ?? 0))) await rebuild()
    },
  }
}
