/**
 * The rows of moves that are recorded in one append or not at all. An append is a sequence of rows. A *thread* row
 * moves the subjects of one call: its tool, its contract, its interaction. A *frame* row moves the subjects around the
 * calls: session, run, agent, turn. `M` names a move as `machine.trigger`, and an opening as `+machine`.
 */
export interface Couplings<M extends string = string, F extends string = string, T extends string = string> {
  readonly frames: { readonly [K in F]: Frame<M, NoInfer<T>> }
  readonly threads: { readonly [K in T]: Thread<M, NoInfer<F>> }
}

interface Row<M extends string> {
  readonly meaning: string
  readonly moves: readonly M[]
  /** The worker that holds the run, under its fence; or any process, without a fence, while the run is not held. */
  readonly by: 'holder' | 'command' | 'either'
}

interface Frame<M extends string, T extends string> extends Row<M> {
  /** At least one thread row of this list shares the append. */
  readonly needs?: readonly T[]
}

interface Thread<M extends string, F extends string> extends Row<M> {
  /** The append holds at least one frame row of this list. */
  readonly within?: readonly F[]
  /**
   * Whether an effect happens between this row and the next one of its thread (`after`), or happened right before it
   * (`before`). The two never share an append: effects come after their record is committed.
   */
  readonly effect?: 'before' | 'after'
}

/** Pins the literal types of a declaration, so that a wrong move or row name does not compile. */
export function defineCouplings<M extends string>() {
  return <const F extends string, const T extends string>(couplings: Couplings<M, F, T>) => couplings
}

/** A move of a batch. `thread` is the call it belongs to, if any. */
export interface BatchMove {
  readonly machine: string
  readonly trigger: string | null
  readonly thread?: string | undefined
}

/** Checks that a batch is a sequence of rows. Returns its problems; an empty list means that nothing is missing. */
export function checkBatch(couplings: Couplings, batch: readonly BatchMove[]): readonly string[] {
  const shape = shapeOf(batch)
  const known = checked.get(couplings) ?? new Set()
  if (known.has(shape)) return []
  const problems = problemsOf(couplings, batch)
  if (problems.length === 0 && known.size < mostShapes) checked.set(couplings, known.add(shape))
  return problems
}

/** The result depends on the shape of a batch, and a runtime has few shapes: a step is looked up, not parsed. */
const checked = new WeakMap<Couplings, Set<string>>()
const mostShapes = 10_000

/** The moves in their order, each with the number of its thread: names of calls do not matter. */
function shapeOf(batch: readonly BatchMove[]): string {
  const numbers = new Map<string, number>()
  let shape = ''
  for (const { machine, trigger, thread } of batch) {
    let number = 0
    if (thread !== undefined) {
      number = numbers.get(thread) ?? numbers.size + 1
      numbers.set(thread, number)
    }
    shape += `${number} ${machine} ${trigger} `
  }
  return shape
}

function problemsOf(couplings: Couplings, batch: readonly BatchMove[]): readonly string[] {
  const threads = Map.groupBy(
    batch.filter((m) => m.thread !== undefined),
    (m) => m.thread ?? '',
  )
  const framing = batch.filter((m) => m.thread === undefined).map(moveName)
  const frames = parse(couplings.frames, framing)
  if (frames === undefined) return [`the moves are not a sequence of frame rows: ${framing.join(', ')}`]

  const problems: string[] = []
  const used: string[] = []
  for (const [thread, moves] of threads) {
    const names = moves.map(moveName)
    const rows = parse(couplings.threads, names)
    if (rows === undefined) problems.push(`${thread}: the moves are not a sequence of thread rows: ${names.join(', ')}`)
    else {
      used.push(...rows)
      problems.push(...threadProblems(couplings, thread, rows, frames))
    }
  }
  for (const frame of frames) {
    const needs = couplings.frames[frame]?.needs
    if (needs !== undefined && !needs.some((row) => used.includes(row)))
      problems.push(`${frame} needs ${needs.join(' or ')} in the same append`)
  }
  return problems
}

function threadProblems(couplings: Couplings, thread: string, rows: readonly string[], frames: readonly string[]) {
  const problems: string[] = []
  let touched = false
  for (const name of rows) {
    const row = couplings.threads[name]
    if (row?.within !== undefined && !row.within.some((frame) => frames.includes(frame)))
      problems.push(`${thread}: ${name} needs ${row.within.join(' or ')} in the same append`)
    if (row?.effect === 'before' && touched)
      problems.push(`${thread}: ${name} shares an append with the row that began its effect`)
    if (row?.effect === 'after') touched = true
  }
  return problems
}

/** The rows whose moves, one after the other, are exactly these; undefined if there are none. */
function parse(rows: Readonly<Record<string, Row<string>>>, moves: readonly string[]): readonly string[] | undefined {
  if (moves.length === 0) return []
  for (const [name, row] of Object.entries(rows)) {
    const fits = row.moves.length <= moves.length && row.moves.every((move, i) => move === moves[i])
    const rest = fits ? parse(rows, moves.slice(row.moves.length)) : undefined
    if (rest !== undefined) return [name, ...rest]
  }
  return undefined
}

/** How far the rows that may be under way have come. `isWhole`: the next move may also begin a row. */
interface Place {
  readonly rows: readonly { readonly moves: readonly string[]; readonly done: number }[]
  readonly isWhole: boolean
  /** Where each move leads that a row has here. Filled as moves come. */
  readonly next: Map<string, Place>
}

/** The places in rows of one kind. They follow from the declaration and are few: each is made once per process. */
function placesIn(rows: Readonly<Record<string, Row<string>>>) {
  const starts = Map.groupBy(Object.values(rows), ({ moves: [first] }) => first)
  const known = new Map<string, Place>()
  const placeOf = (rows: Place['rows'], isWhole: boolean): Place => {
    const name = JSON.stringify([rows, isWhole])
    const place = known.get(name) ?? { rows, isWhole, next: new Map() }
    known.set(name, place)
    return place
  }
  const begin = placeOf([], true)
  function after({ rows, isWhole }: Place, move: string): Place | null {
    const begun = isWhole ? (starts.get(move) ?? []) : []
    const next = [
      ...rows.flatMap(({ moves, done }) => (moves[done] === move ? [{ moves, done: done + 1 }] : [])),
      ...begun.map(({ moves }) => ({ moves, done: 1 })),
    ]
    if (next.length === 0) return null
    const open = next.filter(({ moves, done }) => done < moves.length)
    return open.length === 0 ? begin : placeOf(open, open.length < next.length)
  }
  function follow(place: Place, move: string): Place | null {
    const known = place.next.get(move)
    if (known !== undefined) return known
    const found = after(place, move)
    // A move that no row has is damage. It is not kept: its name may be any text.
    if (found !== null) place.next.set(move, found)
    return found
  }
  return { begin, follow }
}

const places = new WeakMap<Couplings, readonly [frames: Places, threads: Places]>()
type Places = ReturnType<typeof placesIn>

/**
 * Follows a log, which does not mark the ends of its appends: checks that its moves are whole rows, thread by thread.
 * Returns a function that takes the next move; false means that no row has this move here.
 */
export function followRows(couplings: Couplings): (move: BatchMove) => boolean {
  const [frames, threads] = places.get(couplings) ?? [placesIn(couplings.frames), placesIn(couplings.threads)]
  places.set(couplings, [frames, threads])
  const underWay = new Map<string | undefined, Place>()
  return (move) => {
    const { thread } = move
    const { begin, follow } = thread === undefined ? frames : threads
    const next = follow(underWay.get(thread) ?? begin, moveName(move))
    if (next === null || next === begin) underWay.delete(thread)
    else underWay.set(thread, next)
    return next !== null
  }
}

function moveName({ machine, trigger }: Pick<BatchMove, 'machine' | 'trigger'>): string {
  return trigger === null ? `+${machine}` : `${machine}.${trigger}`
}
