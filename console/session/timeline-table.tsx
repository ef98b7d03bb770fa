import { exactSpan } from '../../src/observation/durations.ts'
import { At } from '../parts/time.tsx'
import { type Lane, spendings } from './timeline.ts'

interface Shown {
  readonly lanes: readonly Lane[]
  readonly now: number
  readonly select: (event_id: number) => void
}

/** The timeline in words: the same stretches, one row each. */
export function TimelineTable({ lanes, now, select }: Shown) {
  const rows = lanes
    .flatMap((lane) => lane.segments.map((segment) => ({ lane, segment })))
    .toSorted((a, b) => a.segment.from - b.segment.from)
  const shown = rows.slice(-500)
  return (
    <div className="scroll">
      {shown.length < rows.length && (
        <p className="faint">
          The last {shown.length} of {rows.length} stretches.
        </p>
      )}
      <table className="plain">
        <thead>
          <tr>
            <th scope="col">Event</th>
            <th scope="col">What</th>
            <th scope="col">State</th>
            <th scope="col">Time went to</th>
            <th scope="col">From</th>
            <th scope="col">For</th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ lane, segment }) => (
            <tr key={`${lane.lane_id} ${segment.event_id}`}>
              <td>
                <button type="button" className="quiet" onClick={() => select(segment.event_id)}>
                  {segment.event_id}
                </button>
              </td>
              <td>{lane.label}</td>
              <td>{segment.state}</td>
              <td>{spendings[segment.spending]}</td>
              <td>
                <At at={segment.from} />
              </td>
              <td className="number">{exactSpan((segment.to ?? now) - segment.from)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
