/** How long after `from` it is at `to`. Clocks are set back sometimes; nothing takes less than no time. */
export function elapsed(from: number, to: number): number {
  return to > from ? to - from : 0
}
