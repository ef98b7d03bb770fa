import type { Rune } from '../../src/runes/rune.ts'
import { addressOf, type QueryOf, streamPaths } from '../../src/wire/endpoint.ts'
import { runeEndpoints } from '../../src/wire/rune.ts'
import { type SessionCard, sessionEndpoints } from '../../src/wire/session.ts'
import type { SentEvent } from '../../src/wire/session-event.ts'
import { ask, type Problem } from '../api/request.ts'
import { serverSent, sleep } from '../api/server-sent.ts'
import { hearServerTime } from '../clock.ts'
import { createSpine, type Spine } from './spine.ts'

/** The state of the stream. */
export type Connection = 'connecting' | 'live' | 'catching_up' | 'reconnecting' | 'closed'

/** Text that is not recorded yet. A rune replaces it. */
interface Draft {
  readonly turn_id: string | undefined
  readonly round: number
  readonly offset: number
  text: string
}

/**
 * The runes of one session in this page: the newest ones without a gap, and earlier ones as far back as was loaded. A
 * stream that is opened again continues after the last rune, without gap or duplicate.
 */
export interface SessionLog {
  readonly session_id: string
  readonly runes: readonly Rune[]
  readonly spine: () => Spine
  readonly session: () => SessionCard | undefined
  readonly problem: () => Problem | undefined
  readonly connection: () => Connection
  readonly draft: () => Draft | undefined
  /** Goes up with every change; `earlier` goes up when runes were put before those that were there. */
  readonly version: () => number
  readonly earlier: () => number
  readonly isWhole: () => boolean
  readonly isLoadingEarlier: () => boolean
  readonly loadEarlier: (downTo?: number) => Promise<void>
  readonly refresh: () => Promise<void>
  readonly listen: (listener: () => void) => () => void
  readonly close: () => void
}

const firstPage = 400
const page = 1_000
const atOnce = 5
const longestWait = 10_000

/** Follows the log of one session. */
export function openLog(session_id: string): SessionLog {
  const runes: Rune[] = []
  const listeners = new Set<() => void>()
  const leave = new AbortController()
  let session: SessionCard | undefined
  let spine = createSpine([])
  let problem: Problem | undefined
  let connection: Connection = 'connecting'
  let draft: Draft | undefined
  let version = 0
  let earlier = 0
  let isWhole = false
  /** Every public rune from this event on is loaded. */
  let first = 1
  let loadingEarlier: Promise<void> | undefined
  let isAnnounced = false
  let refreshing: ReturnType<typeof setTimeout> | undefined

  /** Many runes may come at once; listeners are called once per frame. */
  function changed() {
    version++
    if (isAnnounced) return
    isAnnounced = true
    const tell = () => {
      isAnnounced = false
      for (const listener of listeners) listener()
    }
    if (document.hidden) setTimeout(tell, 100)
    else requestAnimationFrame(tell)
  }

  const listRunes = (query: QueryOf<typeof runeEndpoints.listRunes>) =>
    ask(runeEndpoints.listRunes, { params: { session_id }, query }, leave.signal)

  const last = () => runes.at(-1)?.event_id ?? 0

  function take(rune: Rune) {
    if (rune.event_id <= last()) return
    runes.push(rune)
    spine.take(rune)
    if (draft !== undefined && endsDraft(rune, draft)) draft = undefined
    if (rune.machine === 'run' || rune.machine === 'session' || rune.machine === 'interaction') refreshSoon()
    changed()
  }

  /** Reads the session from the server again. Moves within 250 ms share one request. */
  function refreshSoon() {
    if (refreshing !== undefined || leave.signal.aborted) return
    refreshing = setTimeout(() => {
      refreshing = undefined
      void refresh()
    }, 250)
  }

  async function refresh(): Promise<void> {
    const answer = await ask(sessionEndpoints.getSession, { params: { session_id } }, leave.signal)
    if (leave.signal.aborted) return
    if (answer.ok) {
      hearServerTime(answer.server_at)
      session = answer.value
      problem = undefined
    } else problem = answer.problem
    changed()
  }

  /**
   * Loads the newest runes; the stream goes on from the last of them. The session itself is read in parallel, since a long
   * one takes the server longer.
   */
  async function begin(): Promise<boolean> {
    const newest = await listRunes({ limit: firstPage, backward: true })
    if (!newest.ok) {
      problem = newest.problem
      changed()
      return false
    }
    const found = newest.value.items.toSorted((a, b) => a.event_id - b.event_id)
    runes.push(...found)
    isWhole = newest.value.next === null
    first = newest.value.next ?? 1
    changed()
    void refresh().then(placeSpine)
    return true
  }

  /** The spine that the server sent, with the runes after it applied. */
  function placeSpine() {
    if (session === undefined) return
    spine = createSpine(session.spine, session.event_id)
    for (const rune of runes) spine.take(rune)
    changed()
  }

  async function follow(): Promise<void> {
    for (let wait = 250; !(await begin()); wait = Math.min(wait * 2, longestWait)) {
      connection = problem?.status === 404 || problem?.status === 401 ? 'closed' : 'reconnecting'
      changed()
      if (connection === 'closed' || leave.signal.aborted) return
      await sleep(wait)
    }
    let isBack = false
    const stream = serverSent(addressOf(streamPaths.session, { session_id }, { runes: 1 }), {
      signal: leave.signal,
      after: `${last()}`,
      opened() {
        problem = undefined
        connection = 'live'
        if (isBack) void refresh()
        changed()
      },
      lost(refusal) {
        isBack = true
        problem = refusal ?? problem
        connection = 'reconnecting'
        changed()
      },
    })
    for await (const { type, data } of stream) {
      if (type === 'rune') take(JSON.parse(data))
      else if (type === 'delta') {
        const { durable, payload }: SentEvent<'delta'> = JSON.parse(data)
        if (!durable) takeText(payload)
      }
      changed()
    }
  }

  function takeText({ turn_id, round, offset, channel, content }: SentEvent<'delta'>['payload']) {
    if (channel !== 'text') return
    if (draft === undefined || draft.turn_id !== turn_id || draft.round !== round)
      draft = { turn_id, round, offset, text: '' }
    // A duplicate piece, or one after a gap, is ignored.
    const known = draft.offset + draft.text.length - offset
    if (known >= 0) draft.text += content.slice(known)
  }

  async function loadEarlier(downTo?: number): Promise<void> {
    loadingEarlier ??= loadBack(downTo ?? first - 1).finally(() => {
      loadingEarlier = undefined
      changed()
    })
    changed()
    return loadingEarlier
  }

  /** Loads several pages in parallel. Event ids have no gaps, so the start of each page is known. */
  async function loadBack(downTo: number): Promise<void> {
    while (!isWhole && !leave.signal.aborted && first > downTo) {
      const ends = Array.from({ length: atOnce }, (_, i) => first - i * page).filter((before) => before > 1)
      const answers = await Promise.all(ends.map((before) => pageBefore(before)))
      const found: Rune[] = []
      for (const answer of answers) {
        if (!answer.ok) {
          problem = answer.problem
          return
        }
        found.unshift(...answer.value.items)
      }
      runes.unshift(...found)
      first = Math.max(1, (ends.at(-1) ?? 1) - page)
      isWhole = first === 1
      earlier++
      changed()
    }
  }

  function pageBefore(before: number) {
    return listRunes({ after: Math.max(0, before - page - 1), before, limit: page })
  }

  void follow()
  return {
    session_id,
    runes,
    spine: () => spine,
    session: () => session,
    problem: () => problem,
    connection: () => connection,
    draft: () => draft,
    version: () => version,
    earlier: () => earlier,
    isWhole: () => isWhole,
    isLoadingEarlier: () => loadingEarlier !== undefined,
    loadEarlier,
    refresh,
    listen(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close: () => leave.abort(),
  }
}

/** Whether the recorded text replaces the draft. */
function endsDraft(rune: Rune, draft: Draft): boolean {
  if (rune.turn_id !== draft.turn_id) return false
  if (rune.kind !== 'turn.assistant_delta') return rune.machine === 'turn'
  const { round, offset, content, channel } = rune.payload
  return channel === 'text' && round === draft.round && offset + content.length >= draft.offset + draft.text.length
}
