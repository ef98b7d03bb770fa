import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { zstdDecompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { backendOf } from '../../../src/app/backend.ts'
import { createStatewright } from '../../../src/app/statewright.ts'
import { keyOf } from '../../../src/app/store-key.ts'
import { note, planOf } from '../../scenarios/goal-cast.ts'
import { createBackendWorld } from '../../support/backend.ts'
import { createProject } from '../../support/cli-project.ts'
import { eventually } from '../../support/eventually.ts'
import { registryIn } from '../../support/goal-registry.ts'
import { keyedAgents } from '../../support/keyed-agents.ts'
import { freshDatabase } from '../../support/postgres.ts'
import { runCli } from '../../support/run-cli.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { startServer } from '../../support/server.ts'
import { startServerProcess } from '../../support/server-process.ts'

const scratch = scratchFolder('redaction')
const marker = 'MARKER-QZVWX-XYZ'

/** An agent that is told a marker, reads a long text with the marker at its end, and says it again. */
const telling = `
import { agent, defineConfig, tool } from 'statewright'
import { call, say, scriptedModel } from 'statewright/testing'
import { z } from 'zod'

const read = tool({
  name: 'files.read', input: z.object({}), readOnly: true, maxOutputBytes: 2_000,
  run: () => '${marker} ' + 'long text '.repeat(1_000) + '${marker}',
})
const reader = agent({
  role: 'reader', tools: [read],
  model: scriptedModel(({ messages }) => messages.at(-1).role === 'tool' ? say('It says ${marker}.') : call('files.read', {})),
})
`

/** Where the marker is found, in any file of the folder, unpacked where it is compressed. */
function foundIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) => {
    if (!entry.isFile() || entry.name === 'statewright.config.ts') return []
    const bytes = readFileSync(join(entry.parentPath, entry.name))
    const text = (entry.name.endsWith('.zst') ? zstdDecompressSync(bytes) : bytes).toString('latin1')
    // The index of words has its words apart, in small letters.
    return text.toLowerCase().includes('qzvwx') ? [entry.name] : []
  })
}

interface Found {
  readonly items: readonly { readonly event_id: number; readonly payload: object }[]
}

test('F-84 redaction: every copy is gone from the files of the store while a server has it open, and afterwards', async () => {
  // GIVEN a run whose output was too long for the log, and an archived session that ran the same
  const folder = scratch.fresh()
  const { config, store } = createProject(folder, '{ reader }', telling)
  const server = await startServerProcess(config, join(folder, 'statewright.db'))
  const start = async () => {
    const { json } = await server.ask('/api/runs', { body: { agent: 'reader', input: `read ${marker}` } })
    const { run_id, session_id } = json as { run_id: string; session_id: string }
    await eventually('the run is over', async () => {
      const { json: run } = await server.ask(`/api/runs/${run_id}`)
      return (run as { is_terminal: boolean }).is_terminal ? true : undefined
    })
    return session_id
  }
  const open = await start()
  const archived = await start()
  await server.ask(`/api/sessions/${archived}/close`, { body: {} })
  await server.ask(`/api/sessions/${archived}/archive`, { body: {} })
  const holders = foundIn(folder)
  expect(holders.some((name) => name.startsWith('blob_'))).toBe(true)
  expect(holders.some((name) => name.endsWith('.zst'))).toBe(true)
  const [ref = ''] = readdirSync(join(folder, 'statewright.db.blobs'))
  expect((await server.ask(`/api/outputs/${ref}`)).status).toBe(200)

  const search = async () => (await server.ask('/api/sessions?q=marker%20qzv')).json.items as readonly object[]
  expect(await search()).toMatchObject([{ session_id: archived }, { session_id: open }])

  // WHEN every event that holds it is redacted, through the server
  const holding = async (session_id: string) => {
    const { json } = await server.ask(`/api/sessions/${session_id}/runes?limit=1000`)
    return (json as Found).items.filter(({ payload }) => JSON.stringify(payload).includes(marker))
  }
  for (const session_id of [open, archived])
    for (const { event_id } of await holding(session_id)) {
      const path = `/api/sessions/${session_id}/runes/${event_id}/redact`
      expect((await server.ask(path, { body: { reason: 'asked for' } })).status).toBe(200)
    }

  // THEN it is nowhere, and the output is not answered any more
  expect((await server.ask(`/api/outputs/${ref}`)).status).toBe(404)
  expect(foundIn(folder)).toEqual([])
  expect(await search()).toEqual([])
  expect(JSON.stringify((await server.ask('/api/sessions')).json)).not.toContain(marker)
  expect(await server.kill('SIGTERM')).toBe(0)
  expect(foundIn(folder)).toEqual([])
  expect(await runCli(['verify', '--store', store])).toMatchObject({ exit: 0 })
})

test('F-84 redaction: an answer that was kept for an idempotency key is not given again', async () => {
  // GIVEN an answer that repeats the goal, and is given word for word to those who ask again
  const registry = registryIn(scratch.fresh())
  const { world, backend } = await createBackendWorld(keyedAgents, { store: 'sqlite', plans: { registry } })
  const { ask, close } = await startServer(backend)
  const body = { goal: `Write about ${marker}`, plan: planOf(note('ta')) }
  const { goal_id, session_id } = (await ask('/api/goals', { body })).json
  const cancel = () => ask(`/api/goals/${goal_id}/cancel`, { body: {}, headers: { 'idempotency-key': 'k' } })
  const first = await cancel()
  expect(first.text).toContain(marker)
  expect((await cancel()).text).toBe(first.text)
  await world.sw.idle()

  // WHEN every event that holds the marker is redacted
  const { items } = (await ask(`/api/sessions/${session_id}/runes?limit=1000`)).json as Found
  for (const { event_id, payload } of items)
    if (JSON.stringify(payload).includes(marker)) {
      const path = `/api/sessions/${session_id}/runes/${event_id}/redact`
      expect(await ask(path, { body: { reason: 'asked for' } })).toMatchObject({ status: 200 })
    }

  // THEN the same request is answered from the record, which does not have it
  const again = await cancel()
  expect(again).toMatchObject({ status: 200, json: { accepted: true, goal: { goal_id } } })
  expect(again.headers.get('idempotency-replayed')).toBe('true')
  expect(again.text).not.toContain(marker)
  await close()
  await world.end()
})

test('F-84 redaction: a server gives no answer again whose content was erased through another server', async () => {
  // GIVEN two servers on one PostgreSQL, and an answer that one of them gave for an idempotency key
  const plans = { registry: registryIn(scratch.fresh()) }
  const store = await freshDatabase()
  const open = async (max_concurrent_runs: number) => {
    const sw = await createStatewright({ store, agents: keyedAgents, plans, maxConcurrentRuns: max_concurrent_runs })
    return { sw, ...(await startServer(backendOf(sw, keyOf(store)))) }
  }
  const here = await open(4)
  const there = await open(0)
  const body = { goal: `Write about ${marker}`, plan: planOf(note('ta')) }
  const { goal_id, session_id } = (await here.ask('/api/goals', { body })).json
  const cancel = () => here.ask(`/api/goals/${goal_id}/cancel`, { body: {}, headers: { 'idempotency-key': 'k' } })
  expect((await cancel()).text).toContain(marker)
  await here.sw.idle()

  // WHEN every event that holds the marker is redacted through the other one
  const { items } = (await there.ask(`/api/sessions/${session_id}/runes?limit=1000`)).json as Found
  for (const { event_id, payload } of items)
    if (JSON.stringify(payload).includes(marker)) {
      const path = `/api/sessions/${session_id}/runes/${event_id}/redact`
      expect(await there.ask(path, { body: { reason: 'asked for' } })).toMatchObject({ status: 200 })
    }

  // THEN the first one has it neither in the answer nor in any view
  const again = await cancel()
  expect(again).toMatchObject({ status: 200, json: { accepted: true, goal: { goal_id } } })
  expect(again.headers.get('idempotency-replayed')).toBe('true')
  const session = `/api/sessions/${session_id}`
  const views = [session, `${session}/runes?limit=1000`, `${session}/timeline`, '/api/sessions', '/api/goals']
  const texts = await Promise.all([...views, `/api/goals/${goal_id}`].map(async (path) => (await here.ask(path)).text))
  for (const text of [again.text, ...texts]) expect(text).not.toContain(marker)
  for (const { sw, close } of [here, there]) {
    await close()
    await sw.close()
  }
})
