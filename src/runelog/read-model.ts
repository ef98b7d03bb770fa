import type { Fault } from '../faults/fault.ts'
import type { Json } from '../kernel/json.ts'
import type { Rune } from '../runes/rune.ts'

/**
 * A table that follows from the runes and from nothing else: a reader finds it
 * as of the last commit of runes, and it can be dropped and folded anew at any
 * time with the same bytes as a result.
 */
export interface ReadModel {
  readonly name: string
  /** Goes up when the fold changes; a store that holds another version rebuilds the models when it opens. */
  readonly version: number
  /**
   * A row may follow from runes of several sessions. The fold then must not read what a redaction can erase, since a row
   * is folded anew after one from the runes of its own session only.
   */
  readonly shared?: true
  /** The rows that a rune touches. `look` shows rows of this model as they stand before the rune. */
  readonly keys: (rune: FoldableRune, look: (key: string) => Row | undefined) => readonly string[]
  /** The row after the rune; `undefined` removes it; a fault refuses the whole append. Pure. */
  readonly fold: (row: Row | undefined, rune: FoldableRune, key: string) => Row | undefined | Fault
}

/** A rune that is judged before its proof is computed: it knows its place, not yet its hash. */
export type FoldableRune = Omit<Rune, 'kind' | 'payload' | 'rune_id' | 'payload_sha256' | 'prev_hash' | 'hash'> &
  { [K in Rune['kind']]: Pick<Rune<K>, 'kind' | 'payload'> }[Rune['kind']]

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
  /** Only rows whose key begins like this. */
  readonly prefix?: string
  readonly sort_from?: number
  readonly sort_to?: number
  /** Continues after this row. */
  readonly after?: { readonly sort: number | null; readonly key: string }
  readonly limit?: number
  readonly backward?: boolean
  /** By key alone, whatever their `sort` is: rows of a prefix are then found by the index, up to the limit. */
  readonly by_key?: boolean
}
