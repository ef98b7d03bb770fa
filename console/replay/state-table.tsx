import { machines } from '../../src/machines/all.ts'
import type { SubjectAt } from '../../src/observation/subject-moves.ts'
import { Link } from '../parts/link.tsx'
import { Mark } from '../parts/mark.tsx'
import { At } from '../parts/time.tsx'
import { shortId } from '../words.ts'

interface Shown {
  readonly subjects: ReadonlyMap<string, SubjectAt>
  /** The pinned moment, to compare with. */
  readonly other: ReadonlyMap<string, SubjectAt> | undefined
  readonly at: number
}

const order = machines.map((machine) => machine.name as string)

/** Where every machine of the session was. */
export function StateTable({ subjects, other, at }: Shown) {
  const all = [...new Map([...(other ?? []), ...subjects]).keys()]
  const machineOf = (id: string) => (subjects.get(id) ?? other?.get(id))?.machine ?? ''
  const rows = all
    .filter((id) => other === undefined || subjects.get(id)?.state !== other.get(id)?.state)
    .toSorted((a, b) => order.indexOf(machineOf(a)) - order.indexOf(machineOf(b)))
  const shown = rows.slice(0, 200)
  return (
    <div className="scroll">
      <table className="plain">
        <caption>
          {other === undefined
            ? `Every machine after event ${at}`
            : rows.length === 0
              ? 'Nothing differs between the two moments.'
              : 'What differs from the pinned moment'}
          {shown.length < rows.length && ` (the first ${shown.length} of ${rows.length})`}
        </caption>
        <thead>
          <tr>
            <th scope="col">Machine</th>
            <th scope="col">Subject</th>
            {other !== undefined && <th scope="col">Pinned</th>}
            <th scope="col">State</th>
            <th scope="col">Since</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((id) => {
            const [is, was] = [subjects.get(id), other?.get(id)]
            return (
              <tr key={id} className={is?.event_id === at ? 'is-moved' : ''}>
                <td>
                  <Link href={`/machines/${machineOf(id)}`}>{machineOf(id)}</Link>
                </td>
                <td>
                  <code title={id}>{shortId(id)}</code>
                </td>
                {other !== undefined && (
                  <td>{was === undefined ? 'not there' : <Mark machine={was.machine} state={was.state} />}</td>
                )}
                <td>{is === undefined ? 'not there' : <Mark machine={is.machine} state={is.state} />}</td>
                <td>{is !== undefined && <At at={is.since} />}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}
