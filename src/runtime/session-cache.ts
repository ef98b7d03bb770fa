import { faults } from '../faults/catalogue.ts'
import { Fault } from '../faults/fault.ts'
import type { Json } from '../kernel/json.ts'
import { isTerminal } from '../kernel/machine.ts'
import { runMachine } from '../machines/run.ts'
import { foldSession, newSessionState } from '../observation/fold-session.ts'
import { fromParts, toParts } from '../observation/session-parts.ts'
import type { RunView, SessionState } from '../observation/session-state.ts'
import type { Append, Recorded, Refused, Runelog } from '../runelog/port.ts'
import { othersTurn, sliceRunes } from '../runelog/slices.ts'
import type { Draft, Rune } from '../runes/rune.ts'
import type { Batch } from './batch.ts'
import { recording } from './scopes.ts'

/** The folded sessions in memory. */
export interface Sessions {
  /** The state of a session as of its last rune. The same object each time: it changes as runes are folded in. */
  load(session_id: string): Promise<SessionState>
  /** The state as far as this process knows it, which is at least up to its own last commit. */
  known(session_id: string): SessionState | undefined
  /** Records a batch and folds it in. When the promise resolves, the runes are on disk and in the fold. */
  commit(
    state: SessionState,
    batch: Batch,
    terms: Pick<Append, 'expect' | 'fence' | 'restsAfter' | 'begins'>,
  ): Promise<Recorded | Refused>
  refresh(state: SessionState): Promise<void>
  /** Folds the session again when it is needed next: content in it was redacted. */
  forget(session_id: string): void
  /** Saves the folds of long sessions, so that a new process folds little. */
  close(): Promise<void>
  /** Calls back after runes were folded into a session, with its state unless it has to be loaded. Returns `unsubscribe`. */
  listen(session_id: string, listener: (state?: SessionState) => void): () => void
}

/** How many sessions stay folded. One without work for a while is folded again when it is needed. */
const kept = 256

/** How many runes of a session may be missing in its cached fold, while the process works and once it has closed. */
const saveEvery = 4_000
const saveAtEnd = 500

/** Folded sessions in memory. `exclusive`: no other process writes to the store, so a fold stays current. */
export function createSessions(runelog: Runelog, exclusive: boolean, foldCache: FoldCache = noFoldCache): Sessions {
  const states = new Map<string, SessionState>()
  const loading = new Map<string, Promise<SessionState>>()
  const saved = new WeakMap<SessionState, { readonly event_id: number; readonly written: ReadonlySet<string> }>()

  /** Folds with content that was erased since. A caller that still has one may finish with it; no other caller gets it. */
  const outdated = new WeakSet<SessionState>()
  let erasures = 0

  const listeners = new Map<string, Set<(state?: SessionState) => void>>()
  const notify = (session_id: string) => {
    const state = states.get(session_id)
    for (const listener of listeners.get(session_id) ?? []) listener(state)
  }
  // Runes of other processes are folded at once only where a listener waits. Every other fold is refreshed by `load`.
  runelog.watch((session_ids, source) => {
    if (source === 'own') return
    for (const session_id of source === 'lost' ? [...listeners.keys()] : session_ids) {
      if (!listeners.has(session_id)) continue
      const state = states.get(session_id)
      const looked: Promise<unknown> = state === undefined ? load(session_id) : refresh(state)
      looked.catch(() => {
        states.delete(session_id)
        // No other notification may follow: each listener loads the session itself, and gets the error if it persists.
        notify(session_id)
      })
    }
  })

  /** One read at a time for each fold. Callers that come meanwhile share the next read, which begins after their call. */
  const reading = new WeakMap<SessionState, { readonly now: Promise<void>; next?: Promise<void> }>()
  function refresh(state: SessionState): Promise<void> {
    const underWay = reading.get(state)
    if (underWay === undefined) return begin(state)
    underWay.next ??= underWay.now.catch(() => {}).then(() => begin(state))
    return underWay.next
  }

  function begin(state: SessionState): Promise<void> {
    const now = readAndNotify(state).finally(() => {
      if (reading.get(state)?.now === now) reading.delete(state)
    })
    reading.set(state, { now })
    return now
  }

  async function readAndNotify(state: SessionState) {
    const from = state.event_id
    await readOn(state)
    if (state.event_id !== from) notify(state.session_id)
  }

  /** The fold includes everything up to `asOf`. A redaction recorded after `asOf` is not applied to it. */
  async function readOn(state: SessionState, asOf = state.event_id) {
    for (;;) {
      const runes = await runelog.read(state.session_id, { after: state.event_id, limit: sliceRunes })
      const before = state.event_id
      for (const rune of runes) {
        if (rune.event_id !== state.event_id + 1) continue
        foldSession(state, rune)
        if (rune.kind === 'rune.redacted' && rune.event_id > asOf && rune.payload.event_id <= before) letGoOf(state)
      }
      if (runes.length < sliceRunes || state.event_id === before) return
      await othersTurn()
    }
  }

  function letGoOf(state: SessionState) {
    outdated.add(state)
    if (states.get(state.session_id) === state) states.delete(state.session_id)
  }

  async function first(session_id: string): Promise<SessionState> {
    const seen = erasures
    const state = (await fromFoldCache(session_id)) ?? (await fromLog(session_id))
    if (seen !== erasures || outdated.has(state)) return first(session_id)
    keep(state)
    notify(session_id)
    return state
  }

  /** A short session takes one read. The end of a longer one is read before its runes. */
  async function fromLog(session_id: string): Promise<SessionState> {
    const runes = await runelog.read(session_id, { limit: sliceRunes })
    const isShort = runes.length < sliceRunes
    const end = isShort ? runes.at(-1) : await runelog.head(session_id)
    if (end === undefined) throw faults.not_found({ what: 'session', id: session_id })
    const state = newSessionState(session_id)
    if (isShort) for (const rune of runes) foldSession(state, rune)
    else await readOn(state, end.event_id)
    return state
  }

  async function fromFoldCache(session_id: string): Promise<SessionState | undefined> {
    const parts = loaded(session_id)
    const found = parts === undefined ? undefined : fromParts(session_id, parts)
    if (parts === undefined || found === undefined) return undefined
    const { state, hash } = found
    const [last] = await runelog.read(session_id, { after: state.event_id - 1, limit: 1 })
    if (last?.hash !== hash) return undefined
    saved.set(state, { event_id: state.event_id, written: new Set(parts.keys()) })
    await readOn(state)
    if (!outdated.has(state)) return state
    // A process recorded the redaction and died before it removed the cached fold.
    foldCache.forget(session_id)
    return undefined
  }

  /** A cached fold that cannot be read counts as missing. */
  function loaded(session_id: string): ReturnType<FoldCache['load']> {
    try {
      return foldCache.load(session_id)
    } catch {
      return undefined
    }
  }

  /** A short session is folded as quickly as the fold cache is read, so only long ones get one. */
  function saveFold(state: SessionState, { hash }: Pick<Rune, 'hash'>, every = saveEvery) {
    const last = saved.get(state)
    if (foldCache === noFoldCache || state.event_id - (last?.event_id ?? 0) < every) return
    const { event_id } = state
    const before = last?.written ?? new Set()
    const parts = toParts(state, before, hash)
    try {
      foldCache.save(state.session_id, parts)
      saved.set(state, { event_id, written: new Set([...before, ...parts.keys()]) })
    } catch {
      // A save is atomic, so the previous cached fold stays valid. The commit stands.
      saved.set(state, { event_id, written: before })
    }
  }

  function keep(state: SessionState) {
    states.delete(state.session_id)
    states.set(state.session_id, state)
    if (states.size <= kept) return
    // A session with a running run stays: two folds of it would not see each other's moves.
    for (const [id, { openRuns }] of states) {
      if ([...openRuns.values()].some((run) => run.status === 'running')) continue
      states.delete(id)
      if (states.size <= kept) return
    }
  }

  async function load(session_id: string): Promise<SessionState> {
    const known = states.get(session_id)
    const underWay = loading.get(session_id)
    if (known === undefined && underWay === undefined) {
      const reading = first(session_id).finally(() => loading.delete(session_id))
      loading.set(session_id, reading)
      return reading
    }
    if (known !== undefined) {
      states.delete(session_id)
      states.set(session_id, known)
    }
    // A read that began before this call may lack the newest runes.
    const state = known ?? ((await underWay) as SessionState)
    if (!exclusive) await refresh(state)
    return outdated.has(state) ? load(session_id) : state
  }

  return {
    load,
    refresh,
    known: (session_id) => states.get(session_id),

    async commit(state, batch, terms) {
      batch.check()
      const append = (request_id?: string) =>
        runelog.append({ session_id: state.session_id, runes: requested(batch.runes, request_id), ...terms })
      // A worker does not inherit the request that woke it: its appends carry no `request_id`.
      const runes = await (terms.fence === undefined ? recording(append) : append())
      if (runes instanceof Fault) return runes
      const kept = states.get(state.session_id)
      if (kept !== undefined && kept !== state) await refresh(kept)
      else if (kept === undefined && !outdated.has(state)) keep(state)
      for (const rune of runes) {
        if (rune.event_id <= state.event_id) continue
        // Other writers recorded runes in between: read all of them from the log, in order.
        if (rune.event_id !== state.event_id + 1) {
          await readOn(state)
          break
        }
        foldSession(state, rune)
      }
      const last = runes.at(-1)
      notify(state.session_id)
      if (last !== undefined && last.event_id === state.event_id && !outdated.has(state)) saveFold(state, last)
      return runes
    },

    forget(session_id) {
      const state = states.get(session_id)
      if (state !== undefined) outdated.add(state)
      erasures++
      states.delete(session_id)
      foldCache.forget(session_id)
    },

    async close() {
      if (foldCache === noFoldCache) return
      for (const state of states.values()) {
        const head = await runelog.head(state.session_id)
        if (head?.event_id === state.event_id && !outdated.has(state)) saveFold(state, head, saveAtEnd)
      }
    },

    listen(session_id, listener) {
      const all = listeners.get(session_id) ?? new Set()
      listeners.set(session_id, all.add(listener))
      return () => {
        all.delete(listener)
        if (all.size === 0) listeners.delete(session_id)
      }
    },
  }
}

function requested(runes: readonly Draft[], request_id: string | undefined): readonly Draft[] {
  const [first, ...rest] = runes
  return first === undefined || request_id === undefined ? runes : [{ ...first, request_id }, ...rest]
}

/** A folded session on disk. It is only a cache: if it cannot be read or does not fit the log, the runes are folded. */
export interface FoldCache {
  /** Each part is lines of JSON. Parts that are given replace those of the same name; `head` is written last. */
  save(session_id: string, parts: ReadonlyMap<string, string>): void
  /** Every part of a session, as the values of its lines; undefined if there is none, or if it is damaged. */
  load(session_id: string): ReadonlyMap<string, readonly Json[]> | undefined
  /** Removes a session: redacted content must not stay here. */
  forget(session_id: string): void
  close(): void
}

/** For stores whose sessions end with the process. */
export const noFoldCache: FoldCache = { save: () => {}, load: () => undefined, forget: () => {}, close: () => {} }

/** Resolves with the first answer of `look`, which is called now and after each fold. Rejects when `signal` aborts. */
export async function once<T>(
  sessions: Pick<Sessions, 'load' | 'listen'>,
  session_id: string,
  look: (state: SessionState) => T | undefined,
  signal?: AbortSignal,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const lookNow = async (state?: SessionState) => {
    try {
      const seen = look(state ?? (await sessions.load(session_id)))
      if (seen !== undefined) resolve(seen)
    } catch (error) {
      reject(error)
    }
  }
  const leave = () => reject(signal?.reason)
  const unsubscribe = sessions.listen(session_id, (state) => void lookNow(state))
  signal?.addEventListener('abort', leave, { once: true })
  // `look` is called once even if the signal has aborted already.
  void lookNow().then(() => signal?.aborted && leave())
  try {
    return await promise
  } finally {
    unsubscribe()
    signal?.removeEventListener('abort', leave)
  }
}

/** The run, once it is over. */
export function ifOver(run: RunView | undefined): RunView | undefined {
  return run !== undefined && isTerminal(runMachine, run.status) ? run : undefined
}
