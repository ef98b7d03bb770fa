import { expect, test } from 'vitest'
import { backendOf } from '../../src/app/backend.ts'
import { createRedactor } from '../../src/runelog/redactor.ts'
import { say } from '../../src/runtime/scripted-model.ts'
import { createLogger } from '../../src/server/log.ts'
import { createBackendWorld, supportAgent } from '../support/backend.ts'
import { secretOf, startServer } from '../support/server.ts'

test('server log: a request leaves one line that says who, what and how long, and no secret', async () => {
  const canary = 'canary-5f3a9c"é\\'
  const lines: string[] = []
  const redactor = createRedactor({ secrets: new Map([['the canary', canary]]) })
  const logger = createLogger(redactor, { write: (line) => void lines.push(line) })
  const { world } = await createBackendWorld(
    { support: supportAgent([say('Done.')]) },
    { secrets: { 'the canary': canary } },
  )
  const backend = backendOf(world.sw, { signer: () => ({ public_key: '00', sign: () => '11' }), publicKey: () => '00' })
  const broken = {
    ...backend,
    runelog: { ...backend.runelog, rows: () => Promise.reject(new Error(`lost ${canary}`)) },
  }
  const server = await startServer(broken, { logger })
  const sent = encodeURIComponent(canary)

  expect((await server.ask(`/api/runs/${sent}?q=${sent}`)).status).toBe(404)
  expect((await server.ask(`/api/runs/run_1?q=${sent}`)).status).toBe(422)
  expect((await server.ask('/api/runs', { body: { agent: 'support', input: canary } })).status).toBe(200)
  expect((await server.ask('/api/runs', { body: { agent: canary, input: '' } })).status).toBe(404)
  expect((await server.ask(`/api/sessions?token=${secretOf('admin')}`)).status).toBe(400)
  const failed = await server.ask('/api/sessions')
  expect(failed).toMatchObject({ status: 500, json: { code: 'unexpected', outcome: 'unknown' } })
  expect(failed.text).not.toContain('lost')
  await world.sw.idle()

  const read = lines.map((line) => JSON.parse(line))
  const answered = read.filter(({ msg }) => msg === 'answered')
  expect(answered).toMatchObject([
    { name: 'none', method: 'GET', status: 404 },
    {
      name: 'get_run',
      method: 'GET',
      status: 422,
      by: 'admin',
      request_id: expect.any(String),
      ms: expect.any(Number),
    },
    { name: 'submit_run', status: 200 },
    { name: 'submit_run', status: 404 },
    { name: 'list_sessions', status: 400 },
    { name: 'list_sessions', status: 500 },
  ])
  // An unexpected error is logged whole, under the request id that the client got.
  const bug = read.find(({ level }) => level >= 50)
  expect(bug).toMatchObject({ request_id: failed.json.request_id, err: { message: 'lost [secret:the canary]' } })
  const everything = lines.join('')
  expect(everything).not.toContain('canary-5f3a9c')
  expect(everything).not.toContain(secretOf('admin'))
  // Nor did it reach the record.
  for (const { session_id } of await world.sw.sessions.list())
    expect(JSON.stringify(await world.runes(session_id))).not.toContain('canary-5f3a9c')
  await server.close()
  await world.end()
})
