import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useRef } from 'react'
import type { Rune } from '../../src/runes/rune.ts'
import { useKeys } from '../parts/keys.tsx'
import { Scroll } from '../parts/scroll.tsx'
import { timeOfDay } from '../words.ts'
import type { View } from './view.ts'

/** Every rune as it stands in the log. */
export function RawView({ log, at, select, isFollowing, setFollowing }: View) {
  const { runes } = log
  const box = useRef<HTMLElement>(null)
  const virtual = useVirtualizer({
    count: runes.length,
    getScrollElement: () => box.current,
    estimateSize: () => ((box.current?.clientWidth ?? 1_200) > 860 ? 28 : 48),
    overscan: 4,
    useFlushSync: false,
  })
  const chosen = at === 0 ? -1 : runes.findIndex((rune) => rune.event_id >= at)

  // Scroll to the end whenever runes are added there.
  useEffect(() => {
    if (isFollowing && runes.length > 0) virtual.scrollToIndex(runes.length - 1, { align: 'end' })
  }, [isFollowing, runes.length])
  // Scroll only when the choice changes.
  useEffect(() => {
    if (chosen >= 0 && !isFollowing) virtual.scrollToIndex(chosen, { align: 'auto' })
  }, [chosen])

  // The details next to the rows make them narrower, and so higher.
  const isSplit = at > 0
  useEffect(() => {
    void isSplit
    virtual.measure()
  }, [isSplit, virtual])

  const step = (by: number) => {
    const next = runes[Math.max(0, Math.min(runes.length - 1, (chosen < 0 ? runes.length : chosen) + by))]
    if (next !== undefined) select(next.event_id)
  }
  useKeys({
    j: { says: 'next event', does: () => step(1) },
    k: { says: 'previous event', does: () => step(-1) },
  })

  const items = virtual.getVirtualItems()
  const isAtTop = items[0]?.index === 0 && !isFollowing
  useEffect(() => {
    if (isAtTop && !log.isWhole() && !log.isLoadingEarlier()) void log.loadEarlier()
  }, [isAtTop, log])
  return (
    <Scroll
      name="Runes"
      ref={box}
      className="raw"
      onWheel={({ deltaY }) => {
        if (deltaY < 0 && isFollowing) setFollowing(false)
      }}
    >
      <ol className="virtual" style={{ height: virtual.getTotalSize() }}>
        {items.map(({ index, key, start }) => (
          <RawRow key={key} rune={runes[index] as Rune} top={start} isChosen={index === chosen} select={select} />
        ))}
      </ol>
    </Scroll>
  )
}

interface Shown {
  readonly rune: Rune
  readonly top: number
  readonly isChosen: boolean
  readonly select: (event_id: number) => void
}

function RawRow({ rune, top, isChosen, select }: Shown) {
  const { event_id, kind, actor, machine, from, to, trigger, hash, at } = rune
  return (
    <li className={`raw-row${isChosen ? ' is-chosen' : ''}`} style={{ transform: `translateY(${top}px)` }}>
      <button type="button" onClick={() => select(event_id)} data-event={event_id}>
        <span className="number">{event_id}</span>
        <span className="raw-time">{timeOfDay(at)}</span>
        <span className="raw-kind">{kind}</span>
        <span className="raw-move">{machine === undefined ? '' : `${machine}: ${from ?? '·'} → ${to}`}</span>
        <span className="raw-trigger">{trigger ?? ''}</span>
        <span className="raw-actor">{actor}</span>
        <code>{hash.slice(0, 8)}</code>
      </button>
    </li>
  )
}
