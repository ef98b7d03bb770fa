import type { Fault } from '../faults/fault.ts'
import type { Json } from '../kernel/json.ts'
import type { Rune } from '../runes/rune.ts'

/**
 * A table that follows from the runes alone, and can be dropped and folded again. Also the typed handle for readers.
 */
export interface ReadModel<V extends Json = Json> {
  readonly name: string
  /** Goes up when the fold changes. A store that holds another version rebuilds its models when it opens. */
  readonly version: number
  /** A row may follow from several sessions. Its fold must read nothing that a redaction can erase. */
  readonly shared?: true
  /** The rows that a rune touches. `look` shows rows of this model as they are before the rune. */
  keys(rune: FoldableRune, look: (key: string) => Row<V> | undefined): readonly string[]
  /** The row after the rune; `undefined` removes it; a fault refuses the whole append. Pure. */
  fold(row: Row<V> | undefined, rune: FoldableRune, key: string): Row<V> | undefined | Fault
}

/** A rune that is judged before its proof is computed: it has its place, but no hash yet. */
export type FoldableRune = Omit<Rune, 'kind' | 'payload' | 'rune_id' | 'payload_sha256' | 'prev_hash' | 'hash'> &
  { [K in Rune['kind']]: Pick<Rune<K>, 'kind' | 'payload'> }[Rune['kind']]

/** One row of a read model. */
export interface Row<V extends Json = Json> {
  readonly key: string
  /** The list that the row is in: a state, an owner. */
  readonly tag: string | null
  /** Its place in that list: a time, a priority. */
  readonly sort: number | null
  readonly value: V
}

/** Which rows of a model to read, in which order. */
export interface ModelQuery {
  readonly tag?: string
  /** Only rows whose key starts with this. */
  readonly prefix?: string
  /** Continues after this row. */
  readonly after?: { readonly sort: number | null; readonly key: string }
  readonly limit?: number
  readonly backward?: boolean
  /** Orders by key alone, so that the index finds the rows of a prefix up to the limit. */
  readonly by_key?: boolean
}
