import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useRef } from 'react'
import { useKeys } from '../parts/keys.tsx'
import { Empty } from '../parts/states.tsx'
import { amend, usePlace } from '../route.ts'
import { EntryView } from './entry-view.tsx'
import { createTranscript, type Entry } from './transcript.ts'
import { useFold } from './use-log.ts'
import type { View } from './view.ts'

/** The transcript, in order. Scrolling up loads earlier parts. */
export function TranscriptView({ log, at, select, isFollowing, setFollowing }: View) {
  const { entries: all } = useFold(log, createTranscript)
  const isStory = usePlace().query.get('density') === 'story'
  // The story has messages and decisions. Tool calls are left out, unless they failed.
  const entries = isStory ? all.filter((entry) => entry.type !== 'tool' || entry.error !== null || entry.isAsking) : all
  const draft = log.draft()
  const box = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: entries.length,
    getScrollElement: () => box.current,
    estimateSize: (i) => (entries[i]?.type === 'line' ? 30 : 84),
    getItemKey: (i) => entries[i]?.event_id ?? i,
    overscan: 8,
  })
  const chosen = at === 0 ? -1 : entries.findLastIndex((entry) => entry.event_id <= at)

  // Scroll to the end whenever entries are added there.
  useEffect(() => {
    if (isFollowing && entries.length > 0) virtual.scrollToIndex(entries.length - 1, { align: 'end' })
  }, [isFollowing, entries.length, draft?.text.length])
  // Scroll only when the choice changes.
  useEffect(() => {
    if (chosen >= 0 && !isFollowing) virtual.scrollToIndex(chosen, { align: 'center' })
  }, [chosen])

  const step = (by: number) => {
    const next = entries[Math.max(0, Math.min(entries.length - 1, (chosen < 0 ? entries.length : chosen) + by))]
    if (next !== undefined) select(next.event_id)
  }
  useKeys({
    d: { says: 'the story only, or everything', does: () => amend({ density: isStory ? null : 'story' }) },
    j: { says: 'next entry', does: () => step(1) },
    k: { says: 'previous entry', does: () => step(-1) },
  })

  const items = virtual.getVirtualItems()
  const isAtTop = items.length > 0 && items[0]?.index === 0 && !isFollowing
  useEffect(() => {
    if (isAtTop && !log.isWhole() && !log.isLoadingEarlier()) void log.loadEarlier()
  }, [isAtTop, log])

  if (entries.length === 0)
    return (
      <Empty title="Nothing has been said yet.">
        <p>Write the first message below.</p>
      </Empty>
    )
  const open = draft === undefined ? undefined : entries.at(-1)
  return (
    <div
      ref={box}
      className="transcript"
      role="log"
      aria-label="Transcript"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reachable by keyboard.
      tabIndex={0}
      onWheel={({ deltaY }) => {
        if (deltaY < 0 && isFollowing) setFollowing(false)
      }}
    >
      <div className="virtual" style={{ height: virtual.getTotalSize() }}>
        {items.map(({ index, key, start }) => (
          <div
            key={key}
            data-index={index}
            ref={virtual.measureElement}
            className="virtual-row"
            style={{ transform: `translateY(${start}px)` }}
          >
            <EntryView entry={entries[index] as Entry} isChosen={index === chosen} select={select} />
          </div>
        ))}
      </div>
      {draft !== undefined && (
        <div className="entry is-assistant is-draft" title="On its way: not recorded yet">
          <span className="who">agent</span>
          <div className="said">
            {open?.type === 'assistant' && open.isOpen ? draft.text.slice(open.text.length - draft.offset) : draft.text}
            ▍
          </div>
        </div>
      )}
    </div>
  )
}
