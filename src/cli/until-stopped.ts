import type { Fault } from '../faults/fault.ts'
import { exitFor, exits } from './exits.ts'
import type { Io } from './host.ts'

/** How long a process whose store is broken takes to let go of what it has. */
const stop_ms = 3_000

interface Stoppable {
  /** Resolves when the store takes nothing more. */
  readonly broken: Promise<Fault>
  readonly stop: () => Promise<void>
}

/**
 * Waits for a signal and stops in order. A store that breaks, before the signal or while the process stops, ends it
 * with a sentence. Work that cannot be recorded may hang, so it is not waited for; the next process recovers it.
 */
export async function untilStopped(
  { broken, stop }: Stoppable,
  { host, out, err }: Pick<Io, 'host' | 'out' | 'err'>,
): Promise<number> {
  const why = await Promise.race([host.untilSignal(), broken])
  if (typeof why !== 'string') return leave(why, stop())
  out(`${why}: letting go of what is under way.`)
  const stopping = stop()
  const fault = await Promise.race([broken, stopping.then(() => undefined)])
  if (fault !== undefined) return leave(fault, stopping)
  out('Stopped.')
  return exits.ok

  async function leave(fault: Fault, stopping: Promise<void>): Promise<number> {
    err(fault.message)
    await host.within(stop_ms, () => stopping)
    return exits[exitFor(fault)]
  }
}
