import { expect, test } from 'vitest'
import { dispatchShared } from '../../../src/runtime/dispatch/dispatch.ts'
import type { Engine } from '../../../src/runtime/engine.ts'
import type { Member, Tasks } from '../../../src/runtime/store.ts'

test('dispatch shared: a run delivered during shutdown is left to other workers, and is no failure', async () => {
  // GIVEN a worker that takes what it is brought
  const driven: string[] = []
  let tasks: Tasks | undefined
  let late: string | undefined
  const member: Partial<Member> = {
    join: async () => ({ isFirst: false }),
    async begin(given) {
      tasks = given
    },
    // WHEN it is told to stop, and the queue brings one more
    async end() {
      late = await tasks?.run('ses_1', 'run_2')
    },
    leave: async () => [],
  }
  const drive = async (_: string, run_id: string) => {
    driven.push(run_id)
    return true
  }
  const engine = {
    settings: { worker: 'w' },
    sessions: { load: async () => ({ runs: new Map() }), known: () => undefined },
  } as unknown as Engine
  const ports = { engine: () => engine, limit: 1, drive }
  const dispatch = dispatchShared(ports, member as Member)
  await dispatch.start()
  expect(await tasks?.run('ses_1', 'run_1')).toBe('seen')
  await dispatch.stop()

  // THEN it is passed on, without being begun
  expect(late).toBe('elsewhere')
  expect(driven).toEqual(['run_1'])
})

test('dispatch shared: the queue is told whether a run waits for a person', async () => {
  let tasks: Tasks | undefined
  const member: Partial<Member> = {
    join: async () => ({ isFirst: false }),
    async begin(given) {
      tasks = given
    },
  }
  const runs = new Map(['waiting_user', 'succeeded'].map((status) => [`run_${status}`, { status, cancel: null }]))
  const sessions = { load: async () => ({ runs }), known: () => ({ runs, openRuns: runs }) }
  const engine = { settings: { worker: 'w' }, sessions } as unknown as Engine
  const ports = { engine: () => engine, limit: 1, drive: async () => false }
  await dispatchShared(ports, member as Member).start()
  expect(await tasks?.run('ses_1', 'run_waiting_user')).toBe('kept')
  expect(await tasks?.run('ses_1', 'run_succeeded')).toBe('seen')
})
