import { expect, onTestFinished, test } from 'vitest'
import { createDeskWorld } from '../support/desk.ts'
import { secretOf, startServer } from '../support/server.ts'

test('F-87 requests of one token: a few are carried out, some wait in line, the rest is refused, and others are served', async () => {
  // GIVEN a server that carries out one request of a token at a time, and has room for one more in line
  const { world, desk } = await createDeskWorld()
  const gate = Promise.withResolvers<void>()
  let underWay = 0
  const head: typeof desk.runelog.head = async (session_id) => {
    underWay += 1
    await gate.promise
    return desk.runelog.head(session_id)
  }
  const limits = { requests_per_token: 1, queued_per_token: 1 }
  const { ask, close } = await startServer({ ...desk, runelog: { ...desk.runelog, head } }, { limits })
  onTestFinished(async () => {
    await close()
    await world.end()
  })
  const answers: { status: number; code: string }[] = []
  const audit = async () => {
    const { status, json } = await ask('/api/sessions/ses_none/audit')
    answers.push({ status, code: json.code })
  }

  // WHEN it asks three times before the first answer
  const asked = [audit(), audit(), audit()]
  // THEN one request waits in line, one is refused at once, and another token is served
  await expect.poll(() => answers).toEqual([{ status: 429, code: 'too_many_requests' }])
  await expect.poll(() => underWay).toBe(1)
  expect((await ask('/api/machines', { token: secretOf('read') })).status).toBe(200)

  // AND the one in line gets its turn
  gate.resolve()
  await Promise.all(asked)
  expect(answers.slice(1)).toEqual(Array(2).fill({ status: 404, code: 'not_found' }))
  expect(underWay).toBe(2)
})
