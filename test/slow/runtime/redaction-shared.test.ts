import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { closeStore, openStore, type Store } from '../../../src/app/open-store.ts'
import { createStatewright, type StatewrightOptions } from '../../../src/app/statewright.ts'
import { Fault } from '../../../src/faults/fault.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { tool } from '../../../src/runtime/tools/define-tool.ts'
import { eventually } from '../../support/eventually.ts'
import { freshDatabase } from '../../support/postgres.ts'
import { storeWith } from '../../support/store-with.ts'

const wish = 'my secret wish'
const settings = { leaseMs: 30_000 }

/** A worker, and someone who only gives commands: they share the database and nothing else. */
async function createOffice(options: Pick<StatewrightOptions, 'agents'>) {
  const store = await freshDatabase()
  const backend = await createStatewright({ ...options, store, settings, maxConcurrentRuns: 0 })
  const worker = await createStatewright({ ...options, store, settings })
  const waiting = async () => (await backend.inbox.list())[0]?.interaction_id
  return {
    backend,
    worker,
    /** The question that the run of the worker has open. */
    question: () => eventually('it asks', waiting),
    started: (session_id: string) =>
      eventually('it began', async () =>
        (await backend.runelog.read(session_id)).find((r) => r.kind === 'turn.started' && r.payload.input === wish),
      ),
    async close() {
      await worker.close()
      await backend.close()
    },
  }
}

const pay = tool({ name: 'payments.pay', input: z.object({}), approval: 'always', run: () => 'paid' })

/** Pays with permission, and then speaks. Keeps what it was shown. */
function payer(shown: string[]) {
  const model = scriptedModel((messages, said) => {
    shown.push(JSON.stringify(messages))
    return said === 0 ? call('payments.pay') : say('done')
  })
  return agent({ role: 'payer', model, tools: [pay] })
}

test('redaction shared: a redaction is refused while a worker of another process holds a run of the session', async () => {
  const gate = Promise.withResolvers<string>()
  const slow = tool({ name: 'slow.read', input: z.object({}), readOnly: true, run: () => gate.promise })
  const model = scriptedModel([call('slow.read'), call('payments.pay'), say('done')])
  const office = await createOffice({ agents: { a: agent({ role: 'a', model, tools: [slow, pay] }) } })
  const run = await office.backend.runs.start({ agent: 'a', input: wish })
  const { event_id } = await office.started(run.sessionId)
  const redact = () => office.backend.sessions.redact(run.sessionId, event_id, 'asked for')
  await expect(redact()).rejects.toMatchObject({ code: 'session_busy', details: { run_id: run.runId } })
  gate.resolve('read')
  const question = await office.question()
  await redact()
  await office.backend.inbox.reply(question, { reply: { decision: 'approve' } })
  expect(await run.result()).toMatchObject({ status: 'succeeded', result: 'done' })
  await office.close()
})

test('redaction: nothing is erased while a run can be taken, since a worker may have read the session already', async () => {
  const office = await createOffice({ agents: { a: payer([]) } })
  await office.worker.close()
  const { sessionId, runId } = await office.backend.runs.start({ agent: 'a', input: wish })
  const { event_id } = (await office.backend.runelog.read(sessionId)).find((r) => r.kind === 'run.submitted') ?? {}
  const redact = () => office.backend.sessions.redact(sessionId, event_id ?? 0, 'asked for')
  await expect(redact()).rejects.toMatchObject({ code: 'session_busy' })
  await office.backend.sessions.pause(sessionId)
  await expect(redact()).rejects.toMatchObject({ code: 'content_in_use', details: { what: 'run', id: runId } })
  await office.backend.runs.cancel(runId)
  await redact()
  await office.backend.close()
})

/** A program that takes the runs of every worker away. */
const loseAll = (url: string) => `import pg from 'pg'
  const client = new pg.Client(${JSON.stringify(url)})
  await client.connect()
  await client.query('UPDATE statewright.worker SET is_lost = true')
  await client.end()`

test('redaction shared: a worker that slept past its lease asks no model with content that may be erased', async () => {
  const url = await freshDatabase()
  const lease_ms = 600
  let asked = 0
  const read = tool({ name: 'page.read', input: z.object({}), readOnly: true, run: () => 'read' })
  const model = scriptedModel((_, said) => {
    asked++
    return said === 0 ? call('page.read') : say('done')
  })
  const store = await openStore(url, { leaseMs: lease_ms, warn: () => {} })
  let slept = 0
  const append: Store['runelog']['append'] = async (batch) => {
    const runes = await store.runelog.append(batch)
    if (!(runes instanceof Fault) && runes.some((r) => r.kind === 'turn.tools_finished') && slept++ === 0) {
      // Its heartbeat sleeps, too, as far as the others can see.
      execFileSync(process.execPath, ['--input-type=module', '--eval', loseAll(url)], { cwd: import.meta.dirname })
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * lease_ms)
    }
    return runes
  }
  const sw = await createStatewright({
    store: storeWith(store, { runelog: { ...store.runelog, append } }),
    agents: { a: agent({ role: 'a', model, tools: [read] }) },
    settings: { leaseMs: lease_ms },
    warn: () => {},
  })
  const run = await sw.runs.start({ agent: 'a', input: wish })
  expect(await run.result()).toMatchObject({ status: 'succeeded', result: 'done' })
  const log = await sw.runelog.read(run.sessionId)
  expect(slept).toBe(1)
  expect(log.filter((r) => r.trigger === 'restart.requeued')).toHaveLength(1)
  // Once before it slept, and once by the worker that took the run after that.
  expect(asked).toBe(2)
  await sw.close()
  await closeStore(store)
})

test('redaction shared: a worker with the session in memory forgets the content that another process erased', async () => {
  const shown: string[] = []
  const office = await createOffice({ agents: { a: payer(shown) } })
  const run = await office.backend.runs.start({ agent: 'a', input: wish })
  const question = await office.question()
  expect(shown.at(-1)).toContain(wish)
  const { event_id } = await office.started(run.sessionId)
  await office.backend.sessions.redact(run.sessionId, event_id, 'asked for')
  await office.backend.inbox.reply(question, { reply: { decision: 'approve' } })
  expect(await run.result()).toMatchObject({ status: 'succeeded' })
  expect(shown).toHaveLength(2)
  expect(shown.at(-1)).not.toContain(wish)
  await office.close()
})

test('F-84 redaction: the whole output that an event refers to goes from the database with it', async () => {
  const read = tool({
    name: 'long.read',
    input: z.object({}),
    readOnly: true,
    maxOutputBytes: 1_000,
    run: () => wish.repeat(500),
  })
  const model = scriptedModel([call('long.read'), say('done')])
  const office = await createOffice({ agents: { a: agent({ role: 'a', model, tools: [read] }) } })
  const { sessionId, result } = await office.backend.runs.start({ agent: 'a', input: 'go' })
  await result()
  const runes = await office.backend.runelog.read(sessionId)
  const kept = runes.flatMap((r) => (r.kind === 'tool.result' ? [[r.event_id, r.payload.output_ref] as const] : []))
  const [[event_id, ref = ''] = [0]] = kept
  expect(await office.backend.output(ref)).toContain(wish)
  await office.backend.sessions.redact(sessionId, event_id, 'asked for')
  expect(await office.backend.output(ref)).toBeUndefined()
  await office.close()
})
