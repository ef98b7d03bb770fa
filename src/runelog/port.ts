import type { Fault } from '../faults/fault.ts'
import type { Sha256 } from '../kernel/digest.ts'
import type { Json } from '../kernel/json.ts'
import type { Signer } from '../runes/checkpoint.ts'
import type { StoredRecord } from '../runes/record.ts'
import type { Actor, Draft, Rune } from '../runes/rune.ts'
import type { Redactor } from './redactor.ts'

/** The writer of a commit. `lost`: notifications may have been missed, or the store is poisoned; read the log. */
export type Source = 'own' | 'foreign' | 'lost'

/** Called with the sessions that were written to. */
export type Listener = (session_ids: readonly string[], source: Source) => void

/** The reads of a store. Nothing here writes. */
export interface RunelogReader {
  /** Runes of one session by `event_id`: oldest first, or newest first with `backward`. */
  read(session_id: string, range?: Range): Promise<readonly Rune[]>
  /** All runes after a cursor, oldest first, without gap or duplicate: first the recorded ones, then new ones. */
  follow(session_id: string, after: number, signal: AbortSignal): AsyncIterable<Rune>
  /** The end of a session's log; undefined if there is no such session. */
  head(session_id: string): Promise<Head | undefined>
  /** Every session, by the log itself and not by a read model. */
  sessionIds(): Promise<readonly string[]>
  /** One row of a read model, as of the last commit. */
  row<V extends Json>(model: ReadModel<V>, key: string): Promise<Row<V> | undefined>
  /** Rows of a read model by tag, ordered by `sort` and key. */
  rows<V extends Json>(model: ReadModel<V>, query?: ModelQuery): Promise<readonly Row<V>[]>
  /** The tags that rows of a read model are listed under, each once. The work follows from the tags, not from the rows. */
  tags(model: ReadModel): Promise<readonly string[]>
  /** How many rows are listed under a tag, counted up to a limit, and the `sort` of the first. */
  count(model: ReadModel, tag: string, limit: number): Promise<Counted>
  /** Sessions in which a text has all these words, the newest first, as of the last commit. Never blocks the process. */
  search(query: WordQuery): Promise<readonly FoundSession[]>
  /** Calls back after each commit, with its sessions and its writer. Returns `unsubscribe`. */
  watch(listener: Listener): () => void
  /** The stored commits of one session that end after an event, in order, for verification and export. Reads cold storage too. */
  records(session_id: string, after?: number): AsyncIterable<StoredRecord>
}

/** The storage port. Three stores implement it, and one suite of tests checks them all. */
export interface Runelog extends RunelogReader {
  /**
   * Records every rune of the batch or none, together with the read-model rows that follow from them. Once the promise
   * resolves with runes they are on disk; until then do not announce, answer or act upon them. A refusal is a value,
   * and nothing is written: `stale_write` (a subject moved past its expected version), `stale_fence` (the run has a
   * newer epoch), `transition_refused` (the declaration has no such move), `key_taken` (an irreversible action with
   * this key exists), `log_sealed`, `rune_malformed`. Only a broken store throws. A storage error on commit means
   * unknown, not failed: the store then refuses everything with `store_poisoned`, followers included, and has to be
   * opened again.
   */
  append(batch: Append): Promise<Recorded | Refused>
  /**
   * Erases one payload and its salt, and records that. The chain still verifies. `content_in_use` while a call, run or
   * goal that depends on that content is not over. On a shared store, `session_busy` while a run of the session is held
   * or can be taken: its worker may have read the content.
   */
  redact(session_id: string, event_id: number, reason: string, by?: RedactedBy): Promise<void>
  /** Moves the runes of a closed session to a compressed segment next to the store. They stay readable. */
  archive(session_id: string, by?: ArchivedBy): Promise<void>
  /** Drops every read model and folds it again from the runes. Returns how many runes were folded. */
  rebuild(): Promise<number>
  close(): Promise<void>
}

/** The runes of an append, as they are on disk. */
export type Recorded = readonly Rune[]

/** The reason why an append was not recorded. */
export type Refused = Fault

/** The principal that has a session archived, and its request. */
export interface ArchivedBy {
  readonly actor?: Actor
  readonly request_id?: string
}

/** The principal that has content erased. */
export interface RedactedBy extends ArchivedBy {
  /** The name of the credential, or of the person where there is none. The redaction is signed with it. */
  readonly principal?: string
}

/** How many rows a tag has, up to the limit that was given. */
export interface Counted {
  /** The number of rows, or the limit. */
  readonly count: number
  /** The least `sort`; null if there is no row, or the row has none. */
  readonly first: number | null
}

/** A batch of runes for one session. */
export interface Append {
  readonly session_id: string
  readonly runes: readonly Draft[]
  /** The version of each subject that the batch moves or that its guards read; 0 for one that must not exist yet. */
  readonly expect?: Readonly<Record<string, number>>
  /** Carried by every append of a worker: the run it holds, and the epoch under which it took it. */
  readonly fence?: Fence
  /** After this batch nothing is left to do in the session, if this was its last event before it. */
  readonly restsAfter?: number
  /** Tools that are called once this is recorded. A store of several processes records with it that they are at work. */
  readonly begins?: readonly Beginning[]
}

/** A run, and the epoch under which its worker acquired it. */
export interface Fence {
  readonly run_id: string
  readonly epoch: number
}

/** The effect of a contract, under the fence of its run. */
export interface Beginning extends Fence {
  readonly execution_id: string
}

/** Which runes of a session to read. */
export interface Range {
  /** Only runes with a greater `event_id`. */
  readonly after?: number
  /** Only runes with a smaller `event_id`. */
  readonly before?: number
  /** At most this many. */
  readonly limit?: number
  /** The newest first. */
  readonly backward?: boolean
}

/** The end of a session's log. */
export interface Head {
  /** The session. */
  readonly session_id: string
  /** Its last event. */
  readonly event_id: number
  /** The hash of that event, which covers all before it. */
  readonly hash: string
  /** The session is closed: its log takes no more work. */
  readonly sealed: boolean
  /** The log is in cold storage. */
  readonly archived: boolean
}

/** Hashing, randomness and time of the host. */
export interface StorePorts {
  /** Hashes runes and payloads. */
  readonly sha256: Sha256
  /** Lower-case hex of that many unpredictable bytes. */
  readonly random: (bytes: number) => string
  /** Milliseconds since 1970, UTC. Used only for redactions and archiving, which the store records itself. */
  readonly now: () => number
}

/** The ports of a store with its signing key. */
export interface Ports extends StorePorts {
  /** The key of the store, which signs redactions. Called only when it is needed. */
  readonly signer: () => Signer
}

/** Options of every store. */
export interface RunelogOptions {
  /** Read models in addition to the built-in ones. */
  readonly models?: readonly ReadModel[]
  /** Takes secrets out of payloads before any other code sees them. */
  readonly redactor?: Redactor
  /** Called once when the store is poisoned. */
  readonly broken?: (fault: Fault) => void
  /** Erases the blobs of a redacted payload, and what `leftBlobs` names. May be called again for what is gone already. */
  readonly eraseBlobs?: (refs: readonly string[]) => Promise<void>
  /** Drafts of blobs that killed processes left. They may hold the content of any event, so a redaction erases them. */
  readonly leftBlobs?: () => readonly string[]
}

/** A table that follows from the runes alone, and can be dropped and folded again. Also a typed handle for readers. */
export interface ReadModel<V extends Json = Json> {
  /** Its name, unique in the store. */
  readonly name: string
  /** Goes up when the fold changes. A store that holds another version rebuilds its models when it opens. */
  readonly version: number
  /** Whether a row may follow from several sessions. The folds of such a model must read nothing that a redaction can erase. */
  shared?(key: string): boolean
  /** The rows that runes about a subject are likely to touch, for stores that read ahead. Default: none. */
  near?(subject_id: string): readonly string[]
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
  /** Its name, unique in the model. */
  readonly key: string
  /** The list that the row is in: a state, an owner. */
  readonly tag: string | null
  /** Its place in that list: a time, a priority. */
  readonly sort: number | null
  /** Its content. */
  readonly value: V
}

/** Which rows of a model to read, in which order. */
export interface ModelQuery {
  /** Only rows with this tag. */
  readonly tag?: string
  /** Only rows whose key starts with this. */
  readonly prefix?: string
  /** Continues after this row. */
  readonly after?: { readonly sort: number | null; readonly key: string }
  /** At most this many. */
  readonly limit?: number
  /** The last row first. */
  readonly backward?: boolean
  /** Orders by key alone, so that the index finds the rows of a prefix up to the limit. */
  readonly byKey?: boolean
}

/** The sought words, and the page. */
export interface WordQuery {
  /** As `wordsOf` returns them. A text must have them all, the last one as the beginning of a word. */
  readonly words: readonly string[]
  /** Continues after the session with this number. */
  readonly before?: number
  /** At most this many sessions. */
  readonly limit: number
}

/** A session that a search found. */
export interface FoundSession {
  /** The session. */
  readonly session_id: string
  /** Sessions are numbered in the order in which they began. */
  readonly number: number
}
