import { setTimeout as delay } from 'node:timers/promises'

/** Looks again and again until there is something to see, and gives it back. */
export async function eventually<T>(what: string, look: () => Promise<T | undefined>, within_ms = 30_000): Promise<T> {
  for (const deadline = Date.now() + within_ms; Date.now() < deadline; await delay(20)) {
    const seen = await look()
    if (seen !== undefined) return seen
  }
  throw new Error(`This did not come within ${within_ms} ms: ${what}.`)
}
