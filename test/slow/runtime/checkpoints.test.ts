import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { openCheckpoints } from '../../../src/adapters/sqlite/checkpoints.ts'
import { foldSession, newSessionState } from '../../../src/observation/fold-session.ts'
import { fromParts, toParts } from '../../../src/observation/session-parts.ts'
import { agent } from '../../../src/runtime/agents/define-agent.ts'
import { call, say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { tool } from '../../../src/runtime/tools/define-tool.ts'
import { createStatewright } from '../../../src/statewright.ts'

const folder = mkdtempSync(join(tmpdir(), 'statewright-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const steps = 500
const echo = tool({ name: 'echo.it', input: z.object({ n: z.int() }), read_only: true, run: ({ n }) => `echo ${n}` })
const model = scriptedModel((_, n) => (n % (steps + 1) < steps ? call('echo.it', { n }) : say('done')))
const agents = { a: agent({ role: 'a', model, tools: [echo], max_rounds: steps + 1 }) }

async function aLongSession(name: string) {
  const path = join(folder, name)
  const sw = await createStatewright({ store: `sqlite:${path}`, agents })
  const { session_id } = await sw.submit({ agent: 'a', input: 'begin' })
  await sw.idle()
  return { path, sw, session_id }
}

test('a session comes back from its checkpoint as it comes back from its runes', async () => {
  const { path, sw, session_id } = await aLongSession('equal.db')
  const runes = await sw.runelog.read(session_id)
  await sw.close()

  const checkpoints = openCheckpoints(`${path}.cache`)
  const found = fromParts(session_id, checkpoints.load(session_id) ?? new Map())
  checkpoints.close()
  // It was really used for most of the way, and part by part.
  expect(found?.state.event_id).toBeGreaterThan(runes.length / 2)
  const state = found?.state ?? newSessionState(session_id)
  for (const rune of runes.slice(state.event_id)) foldSession(state, rune)
  const folded = newSessionState(session_id)
  for (const rune of runes) foldSession(folded, rune)
  expect(state).toEqual(folded)
})

test('parts that are complete are not written again', async () => {
  const state = newSessionState('ses_1')
  const dialogue = {
    messages: Array.from({ length: 1_200 }, () => ({ role: 'user' as const, content: 'x' })),
    open: new Map(),
    calls: [],
  }
  state.agents.set('agt_1', {
    agent_id: 'agt_1',
    agent: 'a',
    role: 'a',
    parent_id: null,
    budget: null,
    used: { tokens: 0, tool_calls: 0, wall_time_ms: 0 },
    turn_id: null,
    dialogue,
    facts: [],
  })
  expect([...toParts(state, new Set(), 'h').keys()]).toEqual(['agt_1/0', 'agt_1/1', 'head'])
  expect([...toParts(state, new Set(['agt_1/0', 'agt_1/1']), 'h').keys()]).toEqual(['head'])
})

test.each([
  ['damaged', "UPDATE part SET body = replace(body, 'echo', 'evil')"],
  ['of another log', `UPDATE part SET body = body WHERE 0; DELETE FROM part WHERE name LIKE '%/0'`],
  ['no database at all', null],
])('a checkpoint that is %s is not used', async (what, change) => {
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
  const run = await again.submit({ agent: 'a', input: 'go on', session_id })
  await again.idle()
  expect(await run.result()).toMatchObject({ status: 'succeeded', result: 'done' })
  const runes = await again.runelog.read(session_id)
  expect(JSON.stringify(runes)).not.toContain('evil')
  await again.close()
})

test('what was redacted does not live on in a checkpoint', async () => {
  const { path, sw, session_id } = await aLongSession('redacted.db')
  const result = (await sw.runelog.read(session_id)).find((r) => r.kind === 'tool.result')
  await sw.redact(session_id, result?.event_id ?? 0, 'asked for')
  const checkpoints = openCheckpoints(`${path}.cache`)
  expect(checkpoints.load(session_id)).toBeUndefined()
  checkpoints.close()
  await sw.close()
})
