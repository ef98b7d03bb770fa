import { useEffect } from 'react'
import { machineEndpoints } from '../../src/wire/machine.ts'
import { runLists } from '../../src/wire/run.ts'
import { ask } from '../api/request.ts'
import { useLive } from '../live.ts'
import { amend } from '../route.ts'
import { useAsked } from '../use-asked.ts'
import { count } from '../words.ts'

const filters = [['', 'All'], ...runLists.map(({ status, label }) => [status, label] as const)] as const

/** Filters of the list, the most urgent first, with the number of runs of each. */
export function SessionsStrip({ status, isListed }: { status: string | null; isListed: boolean }) {
  const { line } = useLive()
  // The server counts more slowly than it lists, so the list loads first.
  const { value, again } = useAsked(`occupancy ${isListed}`, async (signal) =>
    isListed ? ask(machineEndpoints.getOccupancy, {}, signal) : { ok: true, value: { machines: [] }, server_at: null },
  )
  useEffect(() => {
    if (line !== 'live') return
    const timer = setInterval(() => document.hidden || again(), 5_000)
    return () => clearInterval(timer)
  }, [line, again])
  const runs = value?.machines.find(({ machine }) => machine === 'run')?.states ?? []
  const says = (state: string) => {
    const found = runs.find((one) => one.state === state)
    return found === undefined || found.count === 0 ? '' : `${found.is_capped ? '≥ ' : ''}${count(found.count)}`
  }
  return (
    <ul className="strip" aria-label="Show">
      {filters.map(([filter, label]) => (
        <li key={filter}>
          <button
            type="button"
            aria-pressed={(status ?? '') === filter}
            onClick={() => amend({ status: filter === '' ? null : filter })}
          >
            {label} <span className="number">{says(filter)}</span>
          </button>
        </li>
      ))}
    </ul>
  )
}
