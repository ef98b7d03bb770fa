import type { Mark } from './history.ts'

interface Shown {
  readonly ids: readonly number[]
  readonly place: number
  readonly says: string
  readonly marks: readonly Mark[]
  readonly show: (event_id: number) => void
}

/** A slider over all events, in even steps. */
export function Scrubber({ ids, place, says, marks, show }: Shown) {
  return (
    <div className="scrubber">
      <div className="scrubber-marks" aria-hidden="true">
        {marks.slice(-400).map(({ place: where, kind, text }) => (
          <span
            key={`${where} ${kind}`}
            className={`scrubber-mark is-${kind}`}
            style={{ left: `${(where / Math.max(1, ids.length - 1)) * 100}%` }}
            title={text}
          />
        ))}
      </div>
      <input
        type="range"
        aria-label="Event"
        aria-valuetext={says}
        min={0}
        max={Math.max(0, ids.length - 1)}
        value={place}
        onChange={({ target }) => show(ids[Number(target.value)] ?? 1)}
      />
    </div>
  )
}
