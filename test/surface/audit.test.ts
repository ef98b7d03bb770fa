import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { hostPorts } from '../../src/adapters/host/ports.ts'
import { lookingPorts } from '../../src/app/backend.ts'
import { accepted } from '../../src/faults/catalogue.ts'
import { openMemoryRunelog } from '../../src/runelog/memory.ts'
import { createBackend } from '../../src/surface/backend.ts'
import { localClient } from '../../src/surface/client.ts'
import { auditSession } from '../../src/surface/operations/runes.ts'
import { createBackendWorld } from '../support/backend.ts'
import { created, plain } from '../support/drafts.ts'
import { secretOf, startServer } from '../support/server.ts'

test('F-12 audit: reading neither signs nor makes a key; signing is a POST that needs admin', async () => {
  // GIVEN a store that has no key yet
  const { world, backend } = await createBackendWorld()
  const { sessionId } = await world.sw.runs.start({ agent: 'support', input: 'Go.' })
  await world.sw.idle()
  let keys = 0
  const signer = () => {
    keys += 1
    return { public_key: '00', sign: () => '11' }
  }
  const server = await startServer({ ...backend, signer, publicKey: () => undefined })
  const at = `/api/sessions/${sessionId}`

  // WHEN it is audited, by GET and HEAD
  const seen = await server.ask(`${at}/audit`, { token: secretOf('read') })
  await server.ask(`${at}/audit`, { token: secretOf('admin'), method: 'HEAD' })

  // THEN nothing was signed, and no other token than an admin's gets a signature
  expect(seen).toMatchObject({ status: 200, json: { is_sound: true } })
  expect(seen.json).not.toHaveProperty('checkpoint')
  for (const scope of ['read', 'operate', 'approve'])
    expect((await server.ask(`${at}/checkpoint`, { token: secretOf(scope), body: {} })).status, scope).toBe(403)
  expect(keys).toBe(0)
  const signed = await server.ask(`${at}/checkpoint`, { token: secretOf('admin'), body: {} })
  expect(signed.json).toMatchObject({ is_sound: true, checkpoint: { event_id: seen.json.events, public_key: '00' } })
  expect(keys).toBe(1)
  await server.close()
  await world.end()
})

test('F-96 audit: five audits at once leave the event loop to others after every slice', async () => {
  // GIVEN a log of 5,001 events, and a count of what is hashed in each turn of the event loop
  const runelog = openMemoryRunelog(hostPorts)
  accepted(await runelog.append({ session_id: 'ses_1', runes: [created('ses_1')] }))
  for (let n = 0; n < 100; n++)
    await runelog.append({
      session_id: 'ses_1',
      runes: Array.from({ length: 50 }, () => plain('turn.assistant_delta')),
    })
  let hashed = 0
  const sha256 = (text: string) => {
    hashed += 1
    return hostPorts.sha256(text)
  }
  const key = { signer: hostPorts.signer, publicKey: () => undefined }
  const client = localClient(createBackend({ ...lookingPorts(runelog, key), sha256 }), async () => {})

  // WHEN five clients audit it at once
  let isOver = false
  const audits = Promise.all(
    Array.from({ length: 5 }, () => client.call(auditSession, { params: { session_id: 'ses_1' } })),
  ).finally(() => {
    isOver = true
  })
  const turns: number[] = []
  while (!isOver) {
    const before = hashed
    await turn()
    turns.push(hashed - before)
  }

  // THEN each turn has one slice at most, of 100 events: a hash for each payload, and one for each commit; the first has that of all five
  expect(await audits).toMatchObject(Array.from({ length: 5 }, () => ({ is_sound: true, events: 5_001 })))
  expect(turns[0]).toBeLessThanOrEqual(5 * 200)
  expect(Math.max(...turns.slice(1))).toBeLessThanOrEqual(200)
  expect(hashed).toBeGreaterThan(5 * 5_001)
})
