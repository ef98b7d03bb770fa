import type { Json, JsonObject } from '../../src/kernel/json.ts'
import type { EcsRequest } from '../../src/wire/form.ts'
import { Scroll } from '../parts/scroll.tsx'

/** Tables and drawings in plain characters that an agent shows to a person. They are shown only as text. */
export function Displays({ displays = [] }: Pick<EcsRequest, 'displays'>) {
  return displays.map(({ type, data }, i) => {
    const key = `${type} ${i}`
    if (type === 'table' && Array.isArray(data)) return <Table key={key} rows={data as readonly Json[]} />
    return (
      <Scroll key={key} name="Display">
        <pre className="arguments">{typeof data === 'string' ? data : JSON.stringify(data, null, 2)}</pre>
      </Scroll>
    )
  })
}

function Table({ rows }: { rows: readonly Json[] }) {
  const [first] = rows
  const isNamed = typeof first === 'object' && first !== null && !Array.isArray(first)
  const names = isNamed ? [...new Set(rows.flatMap((row) => Object.keys(row as JsonObject)))] : []
  const cells = (row: Json) => {
    if (isNamed) return names.map((name) => (row as JsonObject)[name] ?? '')
    return Array.isArray(row) ? (row as readonly Json[]) : [row]
  }
  return (
    <div className="scroll">
      <table className="plain">
        {isNamed && (
          <thead>
            <tr>
              {names.map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
        )}
        <tbody>
          {rows.map((row, i) => (
            <tr key={i}>
              {cells(row).map((cell, j) => (
                <td key={j}>{typeof cell === 'string' ? cell : JSON.stringify(cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
