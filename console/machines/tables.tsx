import type { Machine } from '../../src/kernel/machine.ts'
import { Mark } from '../parts/mark.tsx'

/** The declaration in words: states, moves, forbidden moves. The numbers are those of the picture. */
export function MachineTables({ machine, counts }: { machine: Machine; counts: Readonly<Record<string, number>> }) {
  return (
    <div>
      <h2>States</h2>
      <div className="scroll">
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">State</th>
              <th scope="col">Meaning</th>
              <th scope="col">Now</th>
            </tr>
          </thead>
          <tbody>
            {Object.entries(machine.states).map(([state, { meaning, terminal, stable, resumable }]) => (
              <tr key={state}>
                <th scope="row">
                  <Mark machine={machine.name} state={state} />
                </th>
                <td>
                  {meaning}
                  <span className="faint">
                    {state === machine.initial && ' First.'}
                    {terminal && ' The end.'}
                    {stable && ' May last.'}
                    {resumable && ' An answer brings it back.'}
                  </span>
                </td>
                <td className="number">{counts[state] ?? ''}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <h2>Moves</h2>
      <div className="scroll">
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">#</th>
              <th scope="col">From</th>
              <th scope="col">On</th>
              <th scope="col">To</th>
              <th scope="col">If</th>
              <th scope="col">Written as</th>
            </tr>
          </thead>
          <tbody>
            {machine.transitions.map(({ from, on, to, when = [], rune, extension }, i) => (
              <tr key={`${from} ${on} ${to} ${when.join()}`} title={extension}>
                <td className="number">{i + 1}</td>
                <td>{from}</td>
                <td>{on}</td>
                <td>{to}</td>
                <td>{when.join(', ')}</td>
                <td>
                  <code>{rune ?? 'nothing: the fold moves on by itself'}</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <h2>What can never happen</h2>
      <div className="scroll">
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">From</th>
              <th scope="col">To</th>
              <th scope="col">Because</th>
            </tr>
          </thead>
          <tbody>
            {machine.forbidden.map(({ from, to, because }) => (
              <tr key={`${from} ${to}`}>
                <td>{from}</td>
                <td>{to}</td>
                <td>{because}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  )
}
