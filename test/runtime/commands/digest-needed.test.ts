import { afterEach, expect, test } from 'vitest'
import { z } from 'zod'
import { backendOf } from '../../../src/app/backend.ts'
import { createStatewright } from '../../../src/app/statewright.ts'
import type { Json } from '../../../src/kernel/json.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { tool } from '../../../src/runtime/tools/define-tool.ts'
import { approve, getInteraction } from '../../../src/surface/operations/inbox.ts'
import { replyRun } from '../../../src/surface/operations/runs.ts'
import { remoteClient } from '../../../src/surface/remote-client.ts'
import { runCli } from '../../support/run-cli.ts'
import { secretOf, startServer } from '../../support/server.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** A run that waits for the approval of a refund. Nothing stands between the test and the library. */
async function asking(irreversible = true, store = 'memory:') {
  const ran: Json[] = []
  const refund = tool({
    name: 'payments.refund',
    input: z.object({ order: z.int() }),
    irreversible,
    approval: 'always',
    run: (args) => {
      ran.push(args)
      return 'refunded'
    },
  })
  const model = scriptedModel([call('payments.refund', { order: 42 }), say('done')])
  const sw = await createStatewright({ store, agents: { support: agent({ role: 'support', model, tools: [refund] }) } })
  const run = await sw.runs.start({ agent: 'support', input: 'refund' })
  await sw.idle()
  const [{ interaction_id } = { interaction_id: '' }] = await sw.inbox.list()
  const { digest } = await sw.inbox.get(interaction_id)
  if (digest === null) throw new Error('An approval has a digest.')
  return { sw, run, interaction_id, digest, ran }
}

const wrong = '0'.repeat(64)
const toldBy = (error: unknown) => JSON.stringify([String(error), error, Object(error).details])

test('F-06 approval: an irreversible action needs the digest, and no refusal reveals it', async () => {
  const { sw, run, interaction_id, digest, ran } = await asking()
  for (const reply of [{ decision: 'approve' }, { decision: 'approve', digest: wrong }]) {
    const refused = await sw.inbox.reply(interaction_id, { reply }).catch((error) => error)
    expect(refused).toMatchObject({ code: 'reply_unfit', details: { problems: [{ pointer: '/digest' }] } })
    expect(toldBy(refused)).not.toContain(digest)
  }
  await sw.idle()
  expect(ran).toEqual([])
  await sw.inbox.reply(interaction_id, { reply: { decision: 'approve', digest } })
  expect(await run.result()).toMatchObject({ status: 'succeeded' })
  expect(ran).toEqual([{ order: 42 }])
  await sw.close()
})

test('F-06 approval: a reversible action needs no digest, and neither does a denial', async () => {
  const undoable = await asking(false)
  await undoable.sw.inbox.reply(undoable.interaction_id, { reply: { decision: 'approve' } })
  expect(await undoable.run.result()).toMatchObject({ status: 'succeeded' })
  expect(undoable.ran).toHaveLength(1)
  await undoable.sw.close()

  const denied = await asking()
  await denied.sw.inbox.reply(denied.interaction_id, { reply: { decision: 'deny' } })
  expect(await denied.run.result()).toMatchObject({ status: 'succeeded' })
  expect(denied.ran).toEqual([])
  await denied.sw.close()
})

test('F-06 approval over HTTP: approve and reply need the digest of an irreversible action', async () => {
  const { sw, run, interaction_id, digest, ran } = await asking()
  const key = { signer: () => ({ public_key: '00', sign: () => '11' }), publicKey: () => '00' }
  const server = await startServer(backendOf(sw, key, Date.now))
  closing.push(sw.close, server.close)
  const client = remoteClient({ url: server.url, token: secretOf('admin'), fetch, pause: async () => {} })
  const params = { interaction_id }
  for (const body of [{}, { digest: wrong }])
    for (const ask of [
      () => client.call(approve, { params, body }),
      () => client.call(replyRun, { params: { run_id: run.runId }, body: { reply: { decision: 'approve', ...body } } }),
    ]) {
      const refused = await ask().catch((error) => error)
      expect(refused).toMatchObject({ code: 'reply_unfit' })
      expect(toldBy(refused)).not.toContain(digest)
    }
  expect(ran).toEqual([])
  // The card is where a person sees the digest, with all that it stands for.
  const card = await client.call(getInteraction, { params })
  const accepted = await client.call(approve, { params, body: { digest: card.digest ?? '' } })
  expect(accepted).toMatchObject({ is_aligned: true, snapshot: { current_status: 'waiting' } })
  expect(await run.result()).toMatchObject({ status: 'succeeded' })
})

test('F-06 approve command: a wrong or missing digest is refused, and the right one is not shown', async () => {
  const store = `sqlite:${temporaryFolder()}/world.db`
  const { sw, interaction_id, digest } = await asking(true, store)
  await sw.close()
  for (const words of [[], ['--yes'], ['--yes', '--digest', wrong], ['--digest', wrong]]) {
    const { exit, out, err } = await runCli(['approve', interaction_id, ...words, '--store', store])
    expect(exit).not.toBe(0)
    expect(`${out}${err}`).not.toContain(digest)
  }
  expect((await runCli(['inbox', interaction_id, '--store', store])).out).toContain(digest)
  const approved = await runCli(['approve', interaction_id, '--yes', '--digest', digest, '--store', store])
  expect(approved).toMatchObject({ exit: 0 })
})
