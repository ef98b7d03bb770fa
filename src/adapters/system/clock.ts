import type { Clock } from '../../runtime/ports.ts'

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
}
