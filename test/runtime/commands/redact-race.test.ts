import { expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { tool } from '../../../src/runtime/tools/define-tool.ts'
import { createWorld } from '../../support/world.ts'

test('redact: it waits for a run under way, and a waiting run can go on', async () => {
  let release = () => {}
  const held = new Promise<string>((resolve) => {
    release = () => resolve('read')
  })
  const slow = tool({ name: 'slow.read', input: z.object({}), readOnly: true, run: () => held })
  const pay = tool({
    name: 'payments.pay',
    input: z.object({}),
    irreversible: true,
    approval: 'always',
    run: () => 'paid',
  })
  const model = scriptedModel([call('slow.read'), call('payments.pay'), say('done')])
  const world = await createWorld({ agents: { a: agent({ role: 'a', model, tools: [slow, pay] }) } })
  const run = await world.sw.runs.start({ agent: 'a', input: 'my secret wish' })
  const started = await world.until(run.sessionId, (r) => r.kind === 'turn.started')
  await world.until(run.sessionId, (r) => r.kind === 'tool.moved')
  const redact = () => world.sw.sessions.redact(run.sessionId, started.event_id, 'asked for')
  await expect(redact()).rejects.toMatchObject({ code: 'session_busy' })
  release()
  await world.sw.idle()

  await redact()
  const [waiting] = await world.sw.inbox.list()
  await world.sw.inbox.reply(waiting?.interaction_id ?? '', { reply: { decision: 'approve' } })
  expect(await run.result()).toMatchObject({ status: 'succeeded', result: 'done' })
  await world.end()
})

test.each(['memory', 'sqlite'] as const)(
  'redact: no model sees erased content, for every timing of a reply (%s)',
  async (store) => {
    const pay = tool({ name: 'payments.pay', input: z.object({}), approval: 'always', run: () => 'paid' })
    let erasedFirst = 0
    const moments = store === 'memory' ? 40 : 10
    for (let lag = 0; lag < moments; lag++) {
      const shown: string[] = []
      const model = scriptedModel((messages, said) => {
        shown.push(JSON.stringify(messages))
        return said === 0 ? call('payments.pay') : say('done')
      })
      const world = await createWorld({ store, agents: { a: agent({ role: 'a', model, tools: [pay] }) } })
      const run = await world.sw.runs.start({ agent: 'a', input: 'my secret wish' })
      await world.sw.idle()
      expect(shown.at(-1)).toContain('my secret wish')
      const [waiting] = await world.sw.inbox.list()
      const started = (await world.runes(run.sessionId)).find((r) => r.kind === 'turn.started')

      // The answer comes some moments after the redaction has begun, each time one later.
      let isErased = false
      const erased = world.sw.sessions.redact(run.sessionId, started?.event_id ?? 0, 'asked for').then(() => {
        isErased = true
      })
      for (let moment = 0; moment < lag; moment++) await null
      if (isErased) erasedFirst++
      await world.sw.inbox.reply(waiting?.interaction_id ?? '', { reply: { decision: 'approve' } })
      await erased
      await run.result()
      expect(shown.at(-1), `after ${lag} moments`).not.toContain('my secret wish')
      await world.end()
    }
    expect(erasedFirst).toBeLessThan(moments)
  },
)
