import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { openFoldCache } from '../../../src/adapters/sqlite/fold-cache.ts'
import { openExisting } from '../../../src/app/open-store.ts'
import { createStatewright } from '../../../src/app/statewright.ts'
import { signerOf } from '../../../src/app/store-key.ts'
import { foldSession, newSessionState } from '../../../src/observation/fold-session.ts'
import { fromParts, toParts } from '../../../src/observation/session-parts.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { tool } from '../../../src/runtime/tools/define-tool.ts'
import { writable } from '../../support/writable.ts'

const folder = mkdtempSync(join(tmpdir(), 'statewright-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const steps = 500
const echo = tool({ name: 'echo.it', input: z.object({ n: z.int() }), readOnly: true, run: ({ n }) => `echo ${n}` })
const model = scriptedModel((_, n) => (n % (steps + 1) < steps ? call('echo.it', { n }) : say('done')))
const agents = { a: agent({ role: 'a', model, tools: [echo], maxRounds: steps + 1 }) }

async function aLongSession(name: string) {
  const path = join(folder, name)
  const sw = await createStatewright({ store: `sqlite:${path}`, agents })
  const { sessionId } = await sw.runs.start({ agent: 'a', input: 'begin' })
  await sw.idle()
  return { path, sw, session_id: sessionId }
}

test('fold cache: a cached session equals the session that is folded from its runes', async () => {
  const { path, sw, session_id } = await aLongSession('equal.db')
  const runes = await sw.runelog.read(session_id)
  await sw.close()

  const foldCache = openFoldCache(`${path}.cache`, signerOf(`sqlite:${path}`))
  const found = fromParts(session_id, foldCache.load(session_id) ?? new Map())
  foldCache.close()
  // It was really used for most of the way, and part by part.
  expect(found?.state.event_id).toBeGreaterThan(runes.length / 2)
  const state = found?.state ?? newSessionState(session_id)
  for (const rune of runes.slice(state.event_id)) foldSession(state, rune)
  const folded = newSessionState(session_id)
  for (const rune of runes) foldSession(folded, rune)
  expect(state).toEqual(folded)
})

test('fold cache: parts that are complete are not written again', async () => {
  const state = newSessionState('ses_1')
  const dialogue = {
    messages: Array.from({ length: 1_200 }, () => ({ role: 'user' as const, content: 'x' })),
    open: new Map(),
    calls: [],
    brief: null,
  }
  state.agents.set('agt_1', {
    agent_id: 'agt_1',
    agent: 'a',
    role: 'a',
    parent_id: null,
    parent_call_id: null,
    budget: null,
    used: { tokens: 0, tool_calls: 0, wall_time_ms: 0 },
    turn_id: null,
    dialogue,
    facts: [],
  })
  expect([...toParts(state, new Set(), 'h').keys()]).toEqual(['agt_1/0', 'agt_1/1', 'head'])
  expect([...toParts(state, new Set(['agt_1/0', 'agt_1/1']), 'h').keys()]).toEqual(['head'])
})

test('fold cache: runs that are long over are written once, and come back in their order', async () => {
  const path = join(folder, 'runs.db')
  const held = Promise.withResolvers<void>()
  const wait = tool({
    name: 'wait.for_it',
    input: z.object({}),
    readOnly: true,
    run: () => held.promise.then(() => 1),
  })
  const quick = agent({ role: 'quick', model: scriptedModel(() => say('yes')) })
  const lead = agent({
    role: 'lead',
    model: scriptedModel([call('delegate.quick', { task: 'one' }), say('done')]),
    delegates: ['quick'],
  })
  const slow = agent({ role: 'slow', model: scriptedModel([call('wait.for_it', {}), say('done')]), tools: [wait] })
  const sw = await createStatewright({ store: `sqlite:${path}`, agents: { quick, lead, slow } })
  const { sessionId } = await sw.sessions.create({ agent: 'quick' })
  const submit = (agent: string) => sw.runs.start({ agent, input: 'go', sessionId })

  // GIVEN three parts of runs, one of them with a run that is not over
  for (let n = 0; n < 500; n++) await (await submit('quick')).result()
  const open = await submit('slow')
  await (await submit('lead')).result()
  for (let n = 0; n < 997; n++) await (await submit('quick')).result()
  const runes = await sw.runelog.read(sessionId)
  const folded = newSessionState(sessionId)
  for (const rune of runes) foldSession(folded, rune)
  expect(folded.runs.size).toBe(1_500)
  expect([...folded.openRuns.keys()]).toEqual([open.runId])

  // WHEN it is written, and written again
  const hash = runes.at(-1)?.hash ?? ''
  const parts = toParts(folded, new Set(), hash)
  const again = toParts(folded, new Set(parts.keys()), hash)

  // THEN the complete parts are there once, and everything comes back as it was
  expect([...parts.keys()].filter((name) => name.startsWith('runs'))).toEqual(['runs/0', 'runs/2'])
  expect([...again.keys()]).toEqual(['head'])
  const read = (texts: Map<string, string>) =>
    new Map([...texts].map(([name, text]) => [name, text.split('\n').map((line) => JSON.parse(line))]))
  const state = fromParts(sessionId, read(new Map([...parts, ...again])))?.state
  expect(state?.subjects).toEqual(folded.subjects)
  expect(state?.runs).toEqual(folded.runs)
  expect(state?.openRuns).toEqual(folded.openRuns)
  expect([...(state?.openAgents.keys() ?? [])]).toEqual([...folded.openAgents.keys()])
  expect([...(state?.runs.keys() ?? [])]).toEqual([...folded.runs.keys()])
  expect(state?.openRuns.get(open.runId)).toBe(state?.runs.get(open.runId))
  parts.delete('runs/2')
  expect(fromParts(sessionId, read(parts))).toBeUndefined()

  // AND what an agent said that is over is in no part
  const over = [...folded.agents.values()].filter(
    ({ agent_id }) => folded.subjects.get(agent_id)?.state === 'terminated',
  )
  expect(over.map(({ dialogue }) => dialogue.messages)).toEqual([[]])
  held.resolve()
  await open.result()
  await sw.close()
})

test.each([
  ['damaged', "UPDATE fold SET body = CAST(replace(CAST(body AS TEXT), 'echo', 'evil') AS BLOB)"],
  ['of another log', `DELETE FROM fold WHERE name LIKE '%/0'`],
  ['no database at all', null],
])('fold cache: a cached session that is %s is not used', async (what, change) => {
  const { path, sw, session_id } = await aLongSession(`${what.replaceAll(' ', '-')}.db`)
  await sw.close()
  if (change === null) {
    const { writeFileSync } = await import('node:fs')
    writeFileSync(`${path}.cache`, 'this is no database, and long enough to be taken for one'.repeat(100))
  } else {
    const db = new DatabaseSync(`${path}.cache`)
    db.exec(change)
    db.close()
  }
  const again = await createStatewright({ store: `sqlite:${path}`, agents })
  const run = await again.runs.start({ agent: 'a', input: 'go on', sessionId: session_id })
  await again.idle()
  expect(await run.result()).toMatchObject({ status: 'succeeded', result: 'done' })
  const runes = await again.runelog.read(session_id)
  expect(JSON.stringify(runes)).not.toContain('evil')
  await again.close()
})

test('fold cache: redacted content is removed from it', async () => {
  const { path, sw, session_id } = await aLongSession('redacted.db')
  const result = (await sw.runelog.read(session_id)).find((r) => r.kind === 'tool.result')
  await sw.sessions.redact(session_id, result?.event_id ?? 0, 'asked for')
  const foldCache = openFoldCache(`${path}.cache`, signerOf(`sqlite:${path}`))
  expect(foldCache.load(session_id)).toBeUndefined()
  foldCache.close()
  await sw.close()
})

test('fold cache: content redacted from the command line is removed from it, too', async () => {
  const { path, sw, session_id } = await aLongSession('offline.db')
  const result = (await sw.runelog.read(session_id)).find((r) => r.kind === 'tool.result')
  await sw.close()
  const { runelog } = await openExisting(`sqlite:${path}`, 'change')
  await runelog.redact(session_id, result?.event_id ?? 0, 'asked for')
  await runelog.close()
  const foldCache = openFoldCache(`${path}.cache`, signerOf(`sqlite:${path}`))
  expect(foldCache.load(session_id)).toBeUndefined()
  foldCache.close()
})

test('fold cache: an entry from before a redaction is not used, since the process that erased may have died before it was dropped', async () => {
  const { path, sw, session_id } = await aLongSession('died.db')
  const said = (await sw.runelog.read(session_id)).filter((r) => /echo 0\b/.test(JSON.stringify(r.payload)))
  for (const { event_id } of said) await writable(sw).redact(session_id, event_id, 'asked for')
  await sw.close()
  const before = openFoldCache(`${path}.cache`, signerOf(`sqlite:${path}`))
  expect(JSON.stringify([...(before.load(session_id) ?? [])])).toContain('echo 0')
  before.close()

  const shown: string[] = []
  const looking = scriptedModel((request) => {
    shown.push(JSON.stringify(request))
    return say('done')
  })
  const again = await createStatewright({
    store: `sqlite:${path}`,
    agents: { a: agent({ role: 'a', model: looking, tools: [echo] }) },
  })
  const run = await again.runs.start({ agent: 'a', input: 'go on', sessionId: session_id })
  expect(await run.result()).toMatchObject({ status: 'succeeded' })
  expect(shown).toHaveLength(1)
  expect(shown[0]).toContain('echo 1"')
  expect(shown[0]).not.toMatch(/echo 0\b/)
  await again.close()
})
