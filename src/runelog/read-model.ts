import type { Fault } from '../faults/fault.ts'
import type { Json } from '../kernel/json.ts'
import type { Rune } from '../runes/rune.ts'

/**
 * A table that follows from the runes and from nothing else: it is written in
 * the transaction of the runes, and can be dropped and folded anew at any time
 * with the same bytes as a result.
 */
export interface ReadModel {
  readonly name: string
  /** Goes up when the fold changes; a store that holds another version rebuilds the model when it opens. */
  readonly version: number
  /** The rows that a rune touches. Must be answerable before the rune has its `event_id`. */
  readonly keys: (rune: RuneToFold) => readonly string[]
  /** The row after the rune; `undefined` removes it; a fault refuses the whole append. Pure. */
  readonly fold: (row: Row | undefined, rune: Rune, key: string) => Row | undefined | Fault
}

/** A rune that may not have been placed in its log yet. */
export type RuneToFold = Omit<Rune, 'event_id' | 'rune_id' | 'payload_sha256' | 'prev_hash' | 'hash'>

export interface Row {
  readonly key: string
  /** What the row is listed under: a state, an owner. */
  readonly tag: string | null
  /** Where it stands in that list: a time, a priority. */
  readonly sort: number | null
  readonly value: Json
}

export interface ModelQuery {
  readonly tag?: string
  readonly sort_from?: number
  readonly sort_to?: number
  /** Continues after this row. */
  readonly after?: { readonly sort: number | null; readonly key: string }
  readonly limit?: number
  readonly backward?: boolean
}
