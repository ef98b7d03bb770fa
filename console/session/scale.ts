/** Where an instant stands, from 0 to 1, and the stretches of time that were folded up. */
export interface Scale {
  readonly of: (at: number) => number
  readonly gaps: readonly { readonly from: number; readonly to: number; readonly x: number; readonly width: number }[]
}

/** A stretch in which nothing happened is folded when it takes more than this share of the whole. */
const share = 0.12
const shortest = 30_000
const foldedWidth = 0.03

/** The scale from time to width; long pauses are folded if asked. */
export function scaleOf(times: readonly number[], end: number, isFolded: boolean): Scale {
  const start = times[0] ?? end
  const whole = Math.max(1, end - start)
  const idle = isFolded ? idleStretches(times, end, Math.max(shortest, whole * share)) : []
  const kept = Math.max(1, whole - idle.reduce((sum, gap) => sum + gap.to - gap.from, 0))
  const room = 1 - idle.length * foldedWidth
  let folded = 0
  const gaps = idle.map((gap, i) => {
    const x = ((gap.from - start - folded) / kept) * room + i * foldedWidth
    folded += gap.to - gap.from
    return { ...gap, x, width: foldedWidth }
  })
  function of(at: number): number {
    let before = 0
    let x = 0
    for (const gap of gaps) {
      if (at <= gap.from) break
      if (at < gap.to) return gap.x + ((at - gap.from) / (gap.to - gap.from)) * gap.width
      before += gap.to - gap.from
      x += gap.width
    }
    return Math.min(1, Math.max(0, x + ((at - start - before) / kept) * room))
  }
  return { of, gaps }
}

/** At most eight, the longest ones. */
function idleStretches(times: readonly number[], end: number, least: number) {
  const found: { from: number; to: number }[] = []
  for (let i = 1; i <= times.length; i++) {
    const from = times[i - 1] as number
    const to = times[i] ?? end
    if (to - from > least) found.push({ from, to })
  }
  const longest = found.toSorted((a, b) => b.to - b.from - (a.to - a.from)).slice(0, 8)
  return longest.toSorted((a, b) => a.from - b.from)
}
