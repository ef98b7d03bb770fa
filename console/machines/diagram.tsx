import type { Machine } from '../../src/kernel/machine.ts'
import { toneOf } from '../tones.ts'
import { spoken } from '../words.ts'
import { boxHeight, layoutOf, type Wire } from './layout.ts'

interface Path {
  readonly current?: string | undefined
  /** How often each transition was taken, by its place in the declaration. */
  readonly taken?: ReadonlyMap<number, number>
  /** How many subjects are in a state now. */
  readonly counts?: Readonly<Record<string, number>>
}

/**
 * The diagram of a machine. Screen readers get the table next to it, which has the same content.
 */
export function Diagram({
  machine,
  current,
  taken,
  counts,
  pick,
}: Path & { machine: Machine; pick?: (state: string) => void }) {
  const { width, height, boxes, wires } = layoutOf(machine)
  const visited = new Set(wires.filter((wire) => timesTaken(wire, taken) > 0).flatMap(({ from, to }) => [from, to]))
  return (
    <div className="diagram" aria-hidden="true">
      <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="presentation">
        <defs>
          <marker
            id="tip"
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="9"
            markerHeight="9"
            markerUnits="userSpaceOnUse"
            orient="auto-start-reverse"
          >
            <path d="M0,0 L8,4 L0,8 z" className="tip" />
          </marker>
        </defs>
        {wires.map((wire) => (
          <path key={wire.path} d={wire.path} className={wireClass(wire, current, taken)} markerEnd="url(#tip)" />
        ))}
        {wires.map((wire) => (
          <g key={wire.path} className={wireClass(wire, current, taken)}>
            <text x={wire.label.x} y={wire.label.y + 4} className="wire-number">
              {wire.edges.map((edge) => edge + 1).join(',')}
            </text>
          </g>
        ))}
        {boxes.map(({ state, x, y, width: w }) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: as above.
          <g key={state} className={boxClass(machine, state, current, visited)} onClick={() => pick?.(state)}>
            <rect x={x} y={y} width={w} height={boxHeight} rx={machine.states[state]?.terminal ? 15 : 6} />
            <text x={x + w / 2} y={y + 19}>
              {spoken(state)}
            </text>
            {(counts?.[state] ?? 0) > 0 && (
              <g className="count">
                <rect x={x + w - 12} y={y - 9} width={12 + String(counts?.[state]).length * 7} height={17} rx={8} />
                <text x={x + w - 6 + String(counts?.[state]).length * 3.5} y={y + 3.5}>
                  {counts?.[state]}
                </text>
              </g>
            )}
          </g>
        ))}
      </svg>
    </div>
  )
}

function timesTaken({ edges }: Wire, taken: Path['taken']): number {
  return edges.reduce((sum, edge) => sum + (taken?.get(edge) ?? 0), 0)
}

function wireClass(wire: Wire, current: string | undefined, taken: Path['taken']): string {
  const isTaken = timesTaken(wire, taken) > 0
  return `wire${isTaken ? ' is-taken' : ''}${current === wire.from ? ' is-next' : ''}`
}

function boxClass(machine: Machine, state: string, current: string | undefined, visited: ReadonlySet<string>): string {
  const marks = [`is-${toneOf(machine.name, state)}`]
  if (state === current) marks.push('is-current')
  if (visited.has(state)) marks.push('is-visited')
  return `box ${marks.join(' ')}`
}
