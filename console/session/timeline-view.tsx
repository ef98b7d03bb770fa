import { useVirtualizer } from '@tanstack/react-virtual'
import { useRef, useState } from 'react'
import { exactSpan } from '../../src/observation/durations.ts'
import { useNow } from '../clock.ts'
import { useKeys } from '../parts/keys.tsx'
import { Scroll } from '../parts/scroll.tsx'
import { LaneRow } from './lane-row.tsx'
import { scaleOf } from './scale.ts'
import { createTimeline, type Lane, type Spending, spendings } from './timeline.ts'
import { TimelineTable } from './timeline-table.tsx'
import { useFold } from './use-log.ts'
import type { View } from './view.ts'

/** The timeline: each actor's activities over time. */
export function TimelineView({ log, at, select }: View) {
  const { lanes, times } = useFold(log, createTimeline)
  const [isFolded, setFolded] = useState(true)
  const [isTable, setTable] = useState(false)
  const now = useNow()
  const box = useRef<HTMLElement>(null)
  const rows = [...lanes.values()].filter((lane) => lane.segments.length > 0 || lane.marks.length > 0)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => 34,
    overscan: 12,
  })
  useKeys({
    i: { says: 'fold or unfold idle time', does: () => setFolded((is) => !is) },
    d: { says: 'timeline as table, or as bars', does: () => setTable((is) => !is) },
  })
  const isOver = rows.every((lane) => lane.segments.every((segment) => segment.to !== null))
  const end = isOver ? (times.at(-1) ?? now) : Math.max(now, times.at(-1) ?? 0)
  const scale = scaleOf(times, end, isFolded)
  return (
    <>
      <div className="row spread">
        <ul className="legend" aria-label="Legend">
          {Object.entries(spendings).map(([spending, says]) => (
            <li key={spending}>
              <span className={`swatch is-${spending}`} aria-hidden="true" /> {says}
            </li>
          ))}
        </ul>
        <span className="row">
          <label className="choice" title="Fold idle time (i)">
            <input type="checkbox" checked={isFolded} onChange={({ target }) => setFolded(target.checked)} /> fold idle
            time
          </label>
          <label className="choice" title="Table (d)">
            <input type="checkbox" checked={isTable} onChange={({ target }) => setTable(target.checked)} /> as a table
          </label>
        </span>
      </div>
      <WhereTimeWent lanes={rows} now={end} />
      {isTable ? (
        <TimelineTable lanes={rows} now={end} select={select} />
      ) : (
        <Scroll name="Timeline" ref={box} className="timeline">
          <ul className="virtual" style={{ height: virtual.getTotalSize() }}>
            {virtual.getVirtualItems().map(({ index, key, start }) => (
              <LaneRow
                key={key}
                lane={rows[index] as Lane}
                top={start}
                scale={scale}
                end={end}
                at={at}
                select={select}
              />
            ))}
          </ul>
          {scale.gaps.length > 0 && (
            <p className="faint">
              Folded: {scale.gaps.map((gap) => exactSpan(gap.to - gap.from)).join(', ')} in which nothing happened.
            </p>
          )}
        </Scroll>
      )}
    </>
  )
}

/** The share of each activity in the time of all runs. */
function WhereTimeWent({ lanes, now }: { lanes: readonly Lane[]; now: number }) {
  const totals = new Map<Spending, number>()
  for (const lane of lanes)
    if (lane.kind === 'run')
      for (const { spending, from, to } of lane.segments)
        totals.set(spending, (totals.get(spending) ?? 0) + (to ?? now) - from)
  const whole = [...totals.values()].reduce((sum, ms) => sum + ms, 0)
  if (whole === 0) return null
  const parts = [...totals].toSorted((a, b) => b[1] - a[1])
  return (
    <p>
      Where the time went:{' '}
      {parts
        .map(([name, ms]) => `${Math.round((ms / whole) * 100)} % ${spendings[name]} (${exactSpan(ms)})`)
        .join(', ')}
      .
    </p>
  )
}
