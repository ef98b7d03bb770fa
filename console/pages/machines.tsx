import { machines } from '../../src/machines/all.ts'
import { machineEndpoints } from '../../src/wire/machine.ts'
import { ask } from '../api/request.ts'
import { CopyCommand } from '../parts/copy.tsx'
import { Link } from '../parts/link.tsx'
import { Mark } from '../parts/mark.tsx'
import { useAsked } from '../use-asked.ts'

/** Every machine there is, and how many of each are in which state. */
export function MachinesPage() {
  const { value } = useAsked('occupancy', (signal) => ask(machineEndpoints.getOccupancy, {}, signal))
  return (
    <>
      <div className="head">
        <h1>Machines</h1>
        <CopyCommand command="statewright topology" />
      </div>
      <p>
        Every lifecycle is declared once, as data. The server obeys these declarations; this page draws the same ones,
        so it also works when the server is away.
      </p>
      <ul className="machine-list">
        {machines.map(({ name, meaning, states, transitions, forbidden }) => {
          const live =
            value?.machines.find(({ machine }) => machine === name)?.states.filter(({ count }) => count > 0) ?? []
          return (
            <li key={name}>
              <h2>
                <Link href={`/machines/${name}`}>{name}</Link>
              </h2>
              <p>{meaning}</p>
              <p className="faint">
                {Object.keys(states).length} states, {transitions.length} moves, {forbidden.length} forbidden
              </p>
              {live.length > 0 && (
                <p className="row">
                  {live.map(({ state, count, is_capped }) => (
                    <span key={state}>
                      <Mark machine={name} state={state} /> {is_capped ? '≥ ' : ''}
                      {count}
                    </span>
                  ))}
                </p>
              )}
            </li>
          )
        })}
      </ul>
    </>
  )
}
