import { hostPorts } from '../../src/adapters/host/ports.ts'
import { createTestClock } from '../../src/adapters/system/testing.ts'
import { models } from '../../src/app/open-store.ts'
import { accepted } from '../../src/faults/catalogue.ts'
import { openMemoryRunelog } from '../../src/runelog/memory.ts'
import type { Runelog } from '../../src/runelog/port.ts'
import type { Draft } from '../../src/runes/rune.ts'
import type { EphemeralDelta } from '../../src/runtime/delta.ts'
import type { StreamLimits } from '../../src/server/streams/streams.ts'
import { created, plain } from './drafts.ts'
import { startStreams } from './stream-server.ts'

export const session_id = 'ses_1'
export const path = `/api/sessions/${session_id}/stream`

/** A session whose runes the test writes by hand, and its stream. */
export async function openSession(limits: Partial<StreamLimits> = {}, behind = (runelog: Runelog) => runelog) {
  const runelog = behind(openMemoryRunelog(hostPorts, { models }))
  const listeners = new Set<(delta: EphemeralDelta) => void>()
  const hand = createTestClock()
  const warnings: string[] = []
  const backend = {
    runelog,
    now: hand.clock.now,
    listen: (id: string, listener: (delta: EphemeralDelta) => void) => {
      const own = (delta: EphemeralDelta) => {
        if (delta.session_id === id) listener(delta)
      }
      listeners.add(own)
      return () => listeners.delete(own)
    },
  }
  const warn = (message: string, details: object) => warnings.push(`${message} ${JSON.stringify(details)}`)
  const server = await startStreams({ backend, timers: hand.timers, warn }, limits)
  accepted(await runelog.append({ session_id, runes: [created(session_id)] }))
  return {
    ...server,
    runelog,
    hand,
    warnings,
    write: async (...runes: Draft[]) => accepted(await runelog.append({ session_id, runes })),
    say: (delta: EphemeralDelta) => listeners.forEach((listener) => void listener(delta)),
  }
}

export const hidden = (draft: Draft): Draft => ({ ...draft, visibility: 'internal' })
export const secret = (draft: Draft): Draft => ({ ...draft, visibility: 'secret' })
export const memory = () => plain('memory.committed')
/** Gives rise to no event. */
export const quiet = () => plain('contract.repeat_allowed')
