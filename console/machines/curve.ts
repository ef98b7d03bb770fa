/** A point of a diagram. */
export interface Point {
  readonly x: number
  readonly y: number
}

/** A Bézier curve with its two control points. */
export type Curve = readonly [Point, Point, Point, Point]

/** The SVG path of a curve. */
export function pathOf([a, b, c, d]: Curve): string {
  return `M${at(a)} C${at(b)} ${at(c)} ${at(d)}`
}

const at = ({ x, y }: Point) => `${Math.round(x * 10) / 10},${Math.round(y * 10) / 10}`

function bezierAt([a, b, c, d]: Curve, t: number): Point {
  const s = 1 - t
  const mix = (p: number, q: number, r: number, u: number) =>
    s * s * s * p + 3 * s * s * t * q + 3 * s * t * t * r + t * t * t * u
  return { x: mix(a.x, b.x, c.x, d.x), y: mix(a.y, b.y, c.y, d.y) }
}

interface Area extends Point {
  readonly width: number
}

const tries = [0.5, 0.4, 0.6, 0.32, 0.68, 0.25, 0.75, 0.18, 0.82]

/** A spot on a curve where a number covers neither a state nor another number; the middle, if there is none. */
export function clearSpot(curve: Curve, taken: readonly Point[], areas: readonly Area[], numbers: number): Point {
  const half = 6 + numbers * 5
  const spots = tries.map((t) => bezierAt(curve, t))
  const isClear = (spot: Point) =>
    taken.every((other) => Math.abs(other.x - spot.x) > half + 10 || Math.abs(other.y - spot.y) > 13) &&
    areas.every(
      (area) =>
        spot.x + half < area.x ||
        spot.x - half > area.x + area.width ||
        spot.y + 7 < area.y ||
        spot.y - 7 > area.y + 30,
    )
  return spots.find(isClear) ?? (spots[0] as Point)
}
