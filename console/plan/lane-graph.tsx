import type { ReactNode } from 'react'
import { Scroll } from '../parts/scroll.tsx'
import { boxHeight, boxWidth, type Edge, laneGrid } from './lane-grid.ts'

interface Shown {
  readonly id: string
  readonly lane: string
  readonly className: string
  readonly label: ReactNode
  readonly title: string
}

interface Drawn {
  readonly name: string
  readonly nodes: readonly Shown[]
  readonly edges: readonly (Edge & { readonly className?: string })[]
  readonly chosen: string | undefined
  readonly choose: (id: string) => void
}

/** A graph in swimlanes. Arrow keys go along the edges; Enter shows what is chosen. */
export function LaneGraph({ name, nodes, edges, chosen, choose }: Drawn) {
  const grid = laneGrid(nodes, edges)
  const place = new Map(grid.nodes.map((node) => [node.id, node]))
  const move = (id: string, key: string) => {
    const next =
      key === 'ArrowRight'
        ? edges.find((edge) => edge.from === id)?.to
        : key === 'ArrowLeft'
          ? edges.find((edge) => edge.to === id)?.from
          : undefined
    if (next === undefined) return
    choose(next)
    document.getElementById(`node-${next}`)?.focus()
  }
  return (
    <Scroll className="lane-graph" name={name}>
      <div className="lane-canvas" style={{ width: grid.width, height: grid.height }}>
        {grid.lanes.map(({ lane, y, height }) => (
          <div key={lane} className="lane-band" style={{ top: y, height }}>
            <span>{lane}</span>
          </div>
        ))}
        <svg width={grid.width} height={grid.height} aria-hidden="true">
          {edges.map(({ from, to, className = '' }) => {
            const [a, b] = [place.get(from), place.get(to)]
            if (a === undefined || b === undefined) return null
            const [x1, y1, x2, y2] = [a.x + boxWidth, a.y + boxHeight / 2, b.x, b.y + boxHeight / 2]
            const bend = Math.max(20, (x2 - x1) / 2)
            return (
              <path
                key={`${from} ${to}`}
                className={`lane-edge ${className}`}
                d={`M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`}
              />
            )
          })}
        </svg>
        {nodes.map((node) => {
          const at = place.get(node.id)
          return (
            <button
              key={node.id}
              id={`node-${node.id}`}
              type="button"
              className={`lane-node ${node.className}`}
              style={{ left: at?.x, top: at?.y, width: boxWidth, height: boxHeight }}
              title={node.title}
              aria-pressed={node.id === chosen}
              onClick={() => choose(node.id)}
              onKeyDown={({ key }) => move(node.id, key)}
            >
              {node.label}
            </button>
          )
        })}
      </div>
    </Scroll>
  )
}
