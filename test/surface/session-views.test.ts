import { expect, test } from 'vitest'
import { ask, say } from '../../src/runtime/scripted-model.ts'
import { createSessionViews } from '../../src/surface/session-views.ts'
import { createBackendWorld, supportAgent } from '../support/backend.ts'

const form = ask({ title: 'Which one?', fields: [{ name: 'choice' }] })

async function aSession() {
  const { world } = await createBackendWorld({ support: supportAgent([form, say('Done.')]) })
  const { sessionId, runId } = await world.sw.runs.start({ agent: 'support', input: 'Go.' })
  await world.sw.idle()
  return { world, session_id: sessionId, run_id: runId, runelog: world.sw.runelog }
}

test('session views: a look includes all that was recorded before it; an exclusive store is read only for new runes', async () => {
  const { world, session_id, run_id, runelog } = await aSession()
  let asked = 0
  const counting = {
    ...runelog,
    head: (id: string) => {
      asked += 1
      return runelog.head(id)
    },
  }
  const views = createSessionViews(counting, true)
  for (let n = 0; n < 5; n++) expect((await views.of(session_id)).state.runs.get(run_id)?.status).toBe('waiting_user')
  expect(asked).toBe(2)
  await world.sw.runs.cancel(run_id)
  expect((await views.of(session_id)).state.runs.get(run_id)?.status).toBe('canceled')
  expect(asked).toBe(3)
  const shared = createSessionViews(counting, false)
  for (let n = 0; n < 5; n++) await shared.of(session_id)
  expect(asked).toBe(8)
  await expect(views.of('ses_none')).rejects.toMatchObject({ code: 'not_found' })
  await expect(views.sessionOf('contract', run_id)).rejects.toMatchObject({ code: 'not_found' })
  expect(await views.sessionOf('run', run_id)).toBe(session_id)
  await world.end()
})

test('session views: a look that begins after an append includes it, also while another look reads', async () => {
  // GIVEN a view that is kept, and a store whose answers take their time
  const { world, session_id, run_id, runelog } = await aSession()
  let gate: Promise<void> = Promise.resolve()
  const slow = {
    ...runelog,
    async head(id: string) {
      const head = await runelog.head(id)
      await gate
      return head
    },
  }
  const views = createSessionViews(slow, true)
  await views.of(session_id)
  // WHEN one is reading, and has been told how far the log goes, and something more is recorded and acknowledged
  const hold = Promise.withResolvers<void>()
  gate = hold.promise
  const first = views.of(session_id)
  await world.sw.runs.cancel(run_id)
  hold.resolve()
  await first
  // THEN a later look does not share the read that began before
  expect((await views.of(session_id)).state.runs.get(run_id)?.status).toBe('canceled')
  await world.end()
})

test('session views: erased content is not served from the cache', async () => {
  const { world, session_id, runelog } = await aSession()
  const views = createSessionViews(runelog, true)
  await views.of(session_id)
  const spoken = (await runelog.read(session_id)).filter(({ payload }) => JSON.stringify(payload).includes('Go.'))
  expect(spoken.map(({ kind }) => kind)).toEqual(['run.submitted', 'turn.started'])
  for (const { event_id } of spoken) await world.sw.sessions.redact(session_id, event_id, 'A slip.')
  const { steps, state } = await views.of(session_id)
  expect(JSON.stringify(steps)).not.toContain('Go.')
  expect(JSON.stringify([...state.runs.values()])).not.toContain('Go.')
  expect(steps.map(({ event_id }) => event_id)).toEqual(
    (await runelog.read(session_id)).map(({ event_id }) => event_id),
  )
  await world.end()
})
