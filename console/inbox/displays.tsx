import type { Json, JsonObject } from '../../src/kernel/json.ts'
import { Scroll } from '../parts/scroll.tsx'

interface Display {
  readonly type: string
  readonly data: Json
}

/** What an agent wants a person to see: tables and drawings in plain characters. It is shown as text and nothing else. */
export function Displays({ request }: { request: JsonObject }) {
  if (!isDisplaying(request)) return null
  return request.displays.map(({ type, data }, i) => {
    const key = `${type} ${i}`
    if (type === 'table' && Array.isArray(data)) return <Table key={key} rows={data as readonly Json[]} />
    return (
      <Scroll key={key} name="Display">
        <pre className="arguments">{typeof data === 'string' ? data : JSON.stringify(data, null, 2)}</pre>
      </Scroll>
    )
  })
}

/** The server checked the displays against their schema. */
function isDisplaying(request: object): request is { readonly displays: readonly Display[] } {
  return 'displays' in request && Array.isArray(request.displays)
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
