import { exactSpan } from '../../src/observation/durations.ts'
import type { Scale } from './scale.ts'
import { type Lane, type Segment, spendings } from './timeline.ts'

interface Shown {
  readonly lane: Lane
  readonly top: number
  readonly scale: Scale
  readonly end: number
  readonly at: number
  readonly select: (event_id: number) => void
}

const percent = (x: number) => `${x * 100}%`

/** One lane: a bar for each stretch, a mark for each thing that took no time. */
export function LaneRow({ lane, top, scale, end, at, select }: Shown) {
  const chosen = lane.segments.findLastIndex((segment) => segment.event_id <= at && at !== 0)
  return (
    <li className={`lane is-${lane.kind}`} style={{ transform: `translateY(${top}px)` }}>
      <span className={`lane-name depth-${lane.depth}`} title={`${lane.label} ${lane.lane_id}`}>
        {lane.label}
        {lane.end !== null && <span className="faint"> · {lane.end}</span>}
      </span>
      <span className="bars">
        {scale.gaps.map((gap) => (
          <span
            key={gap.from}
            className="fold"
            style={{ left: percent(gap.x), width: percent(gap.width) }}
            title={`${exactSpan(gap.to - gap.from)} in which nothing happened`}
          />
        ))}
        {lane.segments.map((segment, i) => (
          <Bar
            key={segment.event_id}
            segment={segment}
            scale={scale}
            end={end}
            isChosen={i === chosen}
            isFirst={i === 0}
            select={select}
          />
        ))}
        {lane.marks.map(({ at: moment, event_id, text }) => (
          <button
            key={`${event_id} ${text}`}
            type="button"
            tabIndex={-1}
            className="moment"
            style={{ left: percent(scale.of(moment)) }}
            title={`${text} (event ${event_id})`}
            aria-label={`${text}, event ${event_id}`}
            onClick={() => select(event_id)}
          />
        ))}
      </span>
    </li>
  )
}

interface ShownBar {
  readonly segment: Segment
  readonly scale: Scale
  readonly end: number
  readonly isChosen: boolean
  readonly isFirst: boolean
  readonly select: (event_id: number) => void
}

/** The first bar of a lane is reached by Tab, the others from there with the arrow keys. */
function Bar({ segment, scale, end, isChosen, isFirst, select }: ShownBar) {
  const { spending, state, from, to, event_id } = segment
  const left = scale.of(from)
  const says = `${spendings[spending]}: ${state}, ${exactSpan((to ?? end) - from)}`
  return (
    <button
      type="button"
      className={`bar is-${spending}${isChosen ? ' is-chosen' : ''}`}
      style={{ left: percent(left), width: percent(Math.max(0.004, scale.of(to ?? end) - left)) }}
      title={says}
      aria-label={says}
      tabIndex={isFirst ? 0 : -1}
      onClick={() => select(event_id)}
      onKeyDown={({ key, currentTarget }) => {
        const next = key === 'ArrowRight' ? currentTarget.nextElementSibling : undefined
        const other = key === 'ArrowLeft' ? currentTarget.previousElementSibling : next
        if (other instanceof HTMLButtonElement) other.focus()
      }}
    />
  )
}
