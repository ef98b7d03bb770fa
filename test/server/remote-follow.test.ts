import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Received } from '../../src/surface/client.ts'
import { remoteClient } from '../../src/surface/remote-client.ts'
import { plain } from '../support/drafts.ts'
import { secret } from '../support/served-streams.ts'
import { secret as hide, memory, openSession, session_id } from '../support/session-on-air.ts'

test('remote follow: a client far away follows a session as the store has it, also when it is cut off', async () => {
  const { runelog, write, say, port, streams } = await openSession()
  await write(...Array.from({ length: 200 }, memory))
  const client = remoteClient({ url: `http://127.0.0.1:${port}`, token: secret, fetch, pause: () => setImmediate() })
  const leave = new AbortController()
  const heard: Received[] = []
  const ids = () => heard.flatMap((one) => (one.type === 'rune' ? [one.rune.event_id] : []))
  const following = (async () => {
    for await (const one of client.follow(session_id, 3, leave.signal)) {
      heard.push(one)
      const last = ids().at(-1)
      // Everyone is cut off in the middle of it, and more is recorded meanwhile; then text comes that is not durable.
      if (last === 100) streams.cut()
      if (one.type === 'rune' && last === 201) {
        say({ session_id, run_id: 'r', turn_id: 't', round: 0, offset: 0, channel: 'text', text: 'Hel' })
        await write(hide(memory()), plain('contract.repeat_allowed'))
      }
      if (last === 203) leave.abort()
    }
  })()
  await following
  const log = (await runelog.read(session_id, { after: 3 })).filter((rune) => rune.visibility === 'public')
  expect(heard.flatMap((one) => (one.type === 'rune' ? [one.rune] : []))).toEqual(log)
  expect(heard.flatMap((one) => (one.type === 'delta' ? [one.delta.text] : []))).toEqual(['Hel'])
})
