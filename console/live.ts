import { useSyncExternalStore } from 'react'
import { streamPaths } from '../src/wire/endpoint.ts'
import { type InboxItem, interactionEndpoints } from '../src/wire/interaction.ts'
import type { ServerSent } from '../src/wire/server-sent.ts'
import type { SummaryCard } from '../src/wire/session.ts'
import { ask } from './api/request.ts'
import { serverSent } from './api/server-sent.ts'
import { hearServerTime } from './clock.ts'

/** The state of the connection. */
export type Line = 'connecting' | 'live' | 'reconnecting' | 'refused'

/**
 * The state that all pages share: the connection, the inbox, and the sessions that changed since the page was opened.
 */
interface Known {
  readonly line: Line
  readonly inbox: readonly InboxItem[]
  readonly changed: ReadonlyMap<string, SummaryCard>
  /** Rises when changes may have been missed, so that lists are loaded again. */
  readonly reloads: number
}

let known: Known = { line: 'connecting', inbox: [], changed: new Map(), reloads: 0 }
const listeners = new Set<() => void>()
let inboxTimer: ReturnType<typeof setTimeout> | undefined

function set(change: Partial<Known>) {
  known = { ...known, ...change }
  for (const listener of listeners) listener()
}

/** The shared state; renders again when it changes. */
export function useLive(): Known {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => known,
  )
}

/** Reads the inbox again. Calls within the time share one request. */
export function refreshInbox(within_ms = 150): void {
  if (inboxTimer !== undefined) return
  inboxTimer = setTimeout(async () => {
    inboxTimer = undefined
    const answer = await ask(interactionEndpoints.listInbox, { query: { limit: 200 } })
    if (!answer.ok) return
    hearServerTime(answer.server_at)
    set({ inbox: answer.value.items })
  }, within_ms)
}

let isListening = false
let retry: (() => void) | undefined

/** Follows the stream of summaries until the page is closed. A second call retries a lost connection at once. */
export async function listenToServer(): Promise<void> {
  if (isListening) {
    retry?.()
    return
  }
  isListening = true
  const stream = serverSent(streamPaths.summaries, {
    signal: new AbortController().signal,
    opened() {
      set({ line: 'live', reloads: known.reloads + 1 })
      refreshInbox(0)
    },
    lost(problem) {
      if (problem?.status === 401) set({ line: 'refused' })
      else if (known.line !== 'refused') set({ line: 'reconnecting' })
    },
    pause: (ms) =>
      new Promise<void>((resolve) => {
        retry = resolve
        setTimeout(resolve, ms)
      }),
  })
  for await (const event of stream) receive(event)
}

function receive({ type, data }: ServerSent) {
  if (type === 'stale') set({ reloads: known.reloads + 1 })
  refreshInbox()
  if (type !== 'summary') return
  const summary: SummaryCard = JSON.parse(data)
  const changed = new Map(known.changed)
  changed.delete(summary.session_id)
  changed.set(summary.session_id, summary)
  set({ changed })
}
