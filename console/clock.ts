import { useSyncExternalStore } from 'react'

/** How far this browser's clock is from the server's; durations are counted by the server's. */
let offset = 0

/** The header has whole seconds, so a difference below two seconds does not count. */
export function hearServerTime(server_at: number | null): void {
  if (server_at === null) return
  const difference = server_at + 500 - Date.now()
  offset = Math.abs(difference) > 2_000 ? difference : 0
}

/** Whether the clock of the server differs from ours. */
export const clockDiffers = () => offset !== 0

const now = () => Date.now() + offset

const listeners = new Set<() => void>()
let tick = now()
setInterval(() => {
  tick = now()
  for (const listener of listeners) listener()
}, 1_000)

function listen(listener: () => void) {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** The time, once a second. */
export function useNow(): number {
  return useSyncExternalStore(listen, () => tick)
}
