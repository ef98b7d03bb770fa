import { expect, test } from 'vitest'
import { newSessionState } from '../../src/observation/fold-session.ts'
import { once } from '../../src/runtime/session-cache.ts'

/** A session that others change, and how many listen to it. */
function watched() {
  const state = newSessionState('ses_1')
  const listeners = new Set<() => void>()
  let problem: Error | undefined
  return {
    listeners,
    sessions: {
      load: async () => {
        if (problem !== undefined) throw problem
        return state
      },
      listen(_: string, listener: () => void) {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
    },
    change(event_id: number) {
      state.event_id = event_id
      for (const listener of listeners) listener()
    },
    fail(error: Error) {
      problem = error
      for (const listener of listeners) listener()
    },
  }
}

const third = ({ event_id }: { event_id: number }) => (event_id === 3 ? 'here' : undefined)

test('once: an answer that is there is returned at once, a later one when it comes, and then it unsubscribes', async () => {
  const { sessions, listeners, change } = watched()
  const waiting = once(sessions, 'ses_1', third)
  change(2)
  expect(listeners.size).toBe(1)
  change(3)
  expect(await waiting).toBe('here')
  expect(await once(sessions, 'ses_1', third)).toBe('here')
  expect(listeners.size).toBe(0)
})

test('once: a session that cannot be read ends the waiting, and so does the signal', async () => {
  const { sessions, listeners, fail } = watched()
  const signal = AbortSignal.abort(new Error('enough'))
  await expect(once(sessions, 'ses_1', third, signal)).rejects.toThrow('enough')
  expect(await once(sessions, 'ses_1', () => 'here already', signal)).toBe('here already')
  const leave = new AbortController()
  const left = once(sessions, 'ses_1', third, leave.signal)
  leave.abort(new Error('no more'))
  await expect(left).rejects.toThrow('no more')
  const careless = () => {
    throw new Error('it looked at nothing')
  }
  await expect(once(sessions, 'ses_1', careless)).rejects.toThrow('it looked at nothing')
  const broken = once(sessions, 'ses_1', third)
  fail(new Error('the disk is gone'))
  await expect(broken).rejects.toThrow('the disk is gone')
  expect(listeners.size).toBe(0)
})
