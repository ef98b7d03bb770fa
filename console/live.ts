import { useSyncExternalStore } from 'react'
import type { InboxItem } from '../src/wire/interaction.ts'
import type { ServerSent } from '../src/wire/server-sent.ts'
import type { SummaryCard } from '../src/wire/session.ts'
import { listInbox } from './api/inbox.ts'
import { serverSent } from './api/server-sent.ts'
import { hearServerTime } from './clock.ts'

/** The state of the connection. */
export type Line = 'connecting' | 'live' | 'reconnecting' | 'refused'

/**
 * What the whole console knows all the time: whether the server is there, what waits for a person, and which sessions
 * changed since the page was opened.
 */
interface Known {
  readonly line: Line
  readonly inbox: readonly InboxItem[]
  readonly changed: ReadonlyMap<string, SummaryCard>
  /** Goes up when changes may have been missed: lists are loaded again. */
  readonly epoch: number
}

let known: Known = { line: 'connecting', inbox: [], changed: new Map(), epoch: 0 }
const listeners = new Set<() => void>()
let inboxTimer: ReturnType<typeof setTimeout> | undefined

function set(change: Partial<Known>) {
  known = { ...known, ...change }
  for (const listener of listeners) listener()
}

/** What the stream of changes last said. */
export function useLive(): Known {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => known,
  )
}

/** Looks at the inbox again, once for many reasons that come together. */
export function refreshInbox(within_ms = 150): void {
  if (inboxTimer !== undefined) return
  inboxTimer = setTimeout(async () => {
    inboxTimer = undefined
    const answer = await listInbox()
    if (!answer.ok) return
    hearServerTime(answer.server_at)
    set({ inbox: answer.value.items })
  }, within_ms)
}

let isListening = false
let retry: (() => void) | undefined

/** Listens for as long as the page lives. */
export async function listenToServer(): Promise<void> {
  if (isListening) {
    retry?.()
    return
  }
  isListening = true
  const stream = serverSent('/api/summaries/stream', {
    signal: new AbortController().signal,
    opened() {
      set({ line: 'live', epoch: known.epoch + 1 })
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
  if (type === 'stale') set({ epoch: known.epoch + 1 })
  refreshInbox()
  if (type !== 'summary') return
  const summary = JSON.parse(data) as SummaryCard
  const changed = new Map(known.changed)
  changed.delete(summary.session_id)
  changed.set(summary.session_id, summary)
  set({ changed })
}
