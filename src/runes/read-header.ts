import type { Reading } from '../kernel/machine.ts'
import { type CommitHeader, entryNames, headerNames, type MoveEntry, type RuneEntry, sharedNames } from './record.ts'

/** The place of each name in canonical order, and the values that it may have. */
type Shape = ReadonlyMap<string, { readonly place: number; readonly fits: (value: unknown) => boolean }>

/** A text with half of a surrogate pair has no bytes in UTF-8. */
export const isText = (value: unknown): value is string => typeof value === 'string' && value.isWellFormed()
const isNumber = (value: unknown) => typeof value === 'number'
const ofShared = new Map<string, (value: unknown) => boolean>(
  sharedNames.map((name) => [name, (value) => value === null || (name === 'at' ? isNumber(value) : isText(value))]),
)
const shapeOf = (names: readonly string[], own: Readonly<Record<string, (value: unknown) => boolean>>): Shape =>
  new Map(names.map((name, place) => [name, { place, fits: own[name] ?? ofShared.get(name) ?? (() => false) }]))

const headerShape = shapeOf(headerNames, {
  event_id: isNumber,
  session_id: isText,
  runes: (value) => Array.isArray(value) && value.length > 0 && value.every((entry) => hasShape(entry, entryShape)),
})
const entryShape = shapeOf(entryNames, {
  guards: areReadings,
  kind: isText,
  move: isMove,
  payload_sha256: isText,
  schema_version: isNumber,
  subject_id: isText,
})

/** Reads the text of a header. Undefined if it is not the canonical JSON of one. Any text may come. */
export function readHeader(text: string): CommitHeader | undefined {
  const header = parse(text)
  return isHeader(header) && JSON.stringify(header) === text && text.isWellFormed() ? header : undefined
}

function isHeader(header: unknown): header is CommitHeader {
  if (!hasShape(header, headerShape)) return false
  const { event_id, session_id, actor, at, runes } = header as Partial<CommitHeader>
  if (event_id === undefined || session_id === undefined || runes === undefined || actor === null || at === null)
    return false
  return runes.every((entry) => {
    const { kind, actor: by = actor, at: when = at } = entry as Partial<RuneEntry>
    return kind !== undefined && isText(by) && isNumber(when)
  })
}

type Fields = Readonly<Record<string, unknown>>

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether a value has only these names, in order, and each has a value that fits. */
function hasShape(value: unknown, shape: Shape): boolean {
  if (typeof value !== 'object' || value === null) return false
  let last = -1
  for (const name in value) {
    const field = shape.get(name)
    if (field === undefined || field.place <= last || !field.fits((value as Fields)[name])) return false
    last = field.place
  }
  return true
}

function isMove(value: unknown): value is MoveEntry {
  if (!Array.isArray(value) || value.length !== 4) return false
  const [machine, from, trigger, to] = value
  return isText(machine) && (from === null || isText(from)) && (trigger === null || isText(trigger)) && isText(to)
}

/** Readings in their canonical form: each has exactly its three fields, in order. */
function areReadings(value: unknown): value is readonly Reading[] {
  if (!Array.isArray(value) || value.length === 0) return false
  return value.every((one: unknown) => {
    const { because, guard, holds } = Object(one) as Partial<Record<keyof Reading, unknown>>
    if (!isText(because) || !isText(guard) || typeof holds !== 'boolean') return false
    return Object.keys(Object(one)).join() === 'because,guard,holds'
  })
}
