import { afterEach, expect, test } from 'vitest'
import { z } from 'zod'
import { backendOf } from '../../src/app/backend.ts'
import { accepted } from '../../src/faults/catalogue.ts'
import { checkFcmp } from '../../src/observation/fcmp-check.ts'
import type { Draft, Rune } from '../../src/runes/rune.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import { operations } from '../../src/surface/operations/all.ts'
import { note, planOf, worker } from '../scenarios/goal-cast.ts'
import { move, opening } from '../support/drafts.ts'
import { registryIn } from '../support/goal-registry.ts'
import { scratchFolder } from '../support/scratch-folder.ts'
import { type Served, secretOf, startServer } from '../support/server.ts'
import { startStreams } from '../support/stream-server.ts'
import { createWorld, type World } from '../support/world.ts'
import { writable } from '../support/writable.ts'

const registry = registryIn(scratchFolder('visibility').fresh())
const canary = 'canary-9b1c'

let world: World
afterEach(() => world?.end())

/** A server on a goal whose critic looks something up, and on a contract with a secret result. */
async function open() {
  const look = tool({
    name: 'ledger.look',
    input: z.looseObject({}),
    readOnly: true,
    maxOutputBytes: 1_000,
    run: () => `${canary} `.repeat(1_000),
  })
  const critique = { summary: 'Fine.', findings: [{ severity: 'info', title: canary }] }
  const script = [call('ledger.look', { of: canary }), say(JSON.stringify(critique))]
  const critic = agent({ role: 'critic', model: scriptedModel(script), tools: [look] })
  // The contracts that the test writes itself belong to no turn.
  world = await createWorld({ agents: { worker: worker(), critic }, plans: { registry }, isDamaged: true })
  const { sw } = world
  const goal = { goal: 'Review', auto: true, critic: 'critic', plan: planOf(note('ta')) }
  const { goalId, sessionId } = await sw.goals.start(goal)
  expect(await sw.goals.result(goalId)).toMatchObject({ state: 'goal_met' })
  await sw.idle()
  await writeSecret(sessionId)
  return { ...(await serve()), session_id: sessionId, goal_id: goalId, runes: await world.runes(sessionId) }
}

async function serve() {
  const { sw, hand } = world
  const key = { signer: () => ({ public_key: '00', sign: () => '11' }), publicKey: () => '00' }
  const backend = backendOf(sw, key, hand.clock.now)
  const server = await startServer(backend)
  const streams = await startStreams({ backend, timers: hand.timers, warn: console.error })
  return { ...server, read: streams.read }
}

/** Two contracts: of one the result is secret, of the other only how it was opened. */
async function writeSecret(session_id: string) {
  const about = (execution_id: string, draft: Draft): Draft => ({ ...draft, execution_id })
  const secret = (draft: Draft): Draft => ({ ...draft, visibility: 'secret' })
  const start = (id: string) => about(id, move('contract', id, ['pending', 'start']))
  const done = (id: string) => about(id, move('contract', id, ['running', 'succeed'], { result: canary }))
  const opened = (id: string) => about(id, opening('contract', id, { action_summary: canary }))
  const runes = [opened('exe_late'), start('exe_late'), secret(done('exe_late'))]
  accepted(await writable(world.sw).append({ session_id, runes }))
  const more = [secret(opened('exe_early')), start('exe_early'), done('exe_early')]
  accepted(await writable(world.sw).append({ session_id, runes: more }))
}

/** Every value that the log has for a parameter of a path. */
function idsIn(runes: readonly Rune[], goal_id: string): Readonly<Record<string, readonly string[]>> {
  const all = (name: 'run_id' | 'execution_id' | 'interaction_id') => [
    ...new Set(runes.flatMap((rune) => rune[name] ?? [])),
  ]
  return {
    session_id: [runes[0]?.session_id ?? ''],
    run_id: all('run_id'),
    execution_id: all('execution_id'),
    interaction_id: all('interaction_id'),
    goal_id: [goal_id],
    ref: runes.flatMap((rune) => (rune.kind === 'tool.result' ? (rune.payload.output_ref ?? []) : [])),
    name: ['contract'],
    coordination_id: ['none'],
  }
}

/** Asks for everything that the scope `read` may ask for. No answer may have the canary in it. */
async function readAll(ask: Served['ask'], ids: ReturnType<typeof idsIn>): Promise<readonly string[]> {
  const asked: string[] = []
  for (const { method, path, scope } of operations) {
    if (method !== 'GET' || scope !== 'read') continue
    const [, name] = /\{(\w+)\}/.exec(path) ?? []
    for (const id of name === undefined ? [''] : (ids[name] ?? [])) {
      const at = `${path.replace(/\{\w+\}/, id)}${path === '/api/subjects' ? '?prefix=exe_' : ''}`
      const { status, text } = await ask(at, { token: secretOf('read') })
      expect(status, at).toBeLessThan(500)
      expect(text, at).not.toContain(canary)
      asked.push(`${status} ${path}`)
    }
  }
  return asked
}

test('F-11 visibility: no view, list or stream tells what a critic or a secret contract said, asked or got', async () => {
  // GIVEN a log that has it in runes of many kinds, and in a kept output
  const { ask, read, session_id, goal_id, runes } = await open()
  const telling = new Set(runes.filter((rune) => JSON.stringify(rune.payload).includes(canary)).map(({ kind }) => kind))
  const kinds = ['tool.call', 'tool.result', 'contract.opened', 'contract.moved', 'turn.completed', 'run.moved']
  expect([...telling]).toEqual(expect.arrayContaining([...kinds, 'plan.critique']))
  const ids = idsIn(runes, goal_id)
  expect(ids.ref?.length).toBeGreaterThan(0)

  // WHEN everything is asked for that the scope `read` may ask for
  // THEN no answer tells it
  const asked = await readAll(ask, ids)
  for (const path of ['/api/execution/{session_id}/timeline', '/api/execution/{execution_id}/snapshot'])
    expect(asked).toContain(`200 ${path}`)
  for (const ref of ids.ref ?? []) expect((await ask(`/api/outputs/${ref}`)).status).toBe(404)

  // AND nothing at all of the secret contracts, in any view
  const { json: timeline } = await ask(`/api/execution/${session_id}/timeline`)
  const shown = timeline.contracts.map((contract: { execution_id: string }) => contract.execution_id)
  expect(shown).not.toEqual(expect.arrayContaining(['exe_late']))
  expect(shown).not.toEqual(expect.arrayContaining(['exe_early']))
  for (const id of ['exe_late', 'exe_early'])
    for (const view of ['snapshot', 'consequence', 'transitions'])
      expect((await ask(`/api/execution/${id}/${view}`)).status, `${id} ${view}`).toBe(404)
  expect((await ask('/api/subjects?prefix=exe_')).text).not.toMatch(/exe_(late|early)/)
  expect((await ask(`/api/sessions/${session_id}/runes?limit=1000`)).text).not.toMatch(/exe_(late|early)/)

  // AND the streams do not tell it; runes that were public before the secret came were shown unchanged
  const critic = runes.find((rune) => rune.kind === 'run.submitted' && rune.visibility === 'internal')?.run_id
  const both = [read(`/api/sessions/${session_id}/stream?after=0`), read(`/api/sessions/${session_id}/stream?runes=1`)]
  const late = runes.find(({ execution_id }) => execution_id === 'exe_late')?.event_id ?? 0
  for (const stream of both) await stream.upTo(late + 1)
  expect(JSON.stringify(both.map(({ heard }) => heard))).not.toContain('exe_early')
  const heard = both.flatMap(({ heard }) => heard).filter(({ data }) => JSON.parse(data).event_id < late)
  expect(JSON.stringify(heard)).not.toContain(canary)
  const run = read(`/api/runs/${critic}/events`)
  await run.closed()
  expect(JSON.stringify(run.heard)).not.toContain(canary)

  // AND where the critic stands is no secret, and its critique is there for an admin
  expect((await ask(`/api/runs/${critic}`, { token: secretOf('read') })).json).toMatchObject({
    status: 'succeeded',
    visibility: 'internal',
    input: null,
    result: null,
  })
  expect((await ask(`/api/goals/${goal_id}/critiques`)).text).toContain(canary)
  expect((await ask(`/api/goals/${goal_id}/critiques`, { token: secretOf('approve') })).status).toBe(403)
  expect((await ask(`/api/goals/${goal_id}`)).json).toMatchObject({ iterations: 1 })
})

test('F-38 visibility: a reader sees neither the question of a critic nor the answer; a person who may answer does', async () => {
  // GIVEN a critic that asks a person
  const fields = [{ name: 'choice', label: canary, required: true }]
  const script = [call('ask_person', { type: 'form', title: canary, fields }), say(JSON.stringify({ findings: [] }))]
  const critic = agent({ role: 'critic', model: scriptedModel(script) })
  world = await createWorld({ agents: { worker: worker(), critic }, plans: { registry } })
  const { sw } = world
  const { ask, read } = await serve()
  const list = read('/api/summaries/stream')
  await list.answered()
  const goal = { goal: 'Review', auto: true, critic: 'critic', plan: planOf(note('ta')) }
  const { goalId, sessionId } = await sw.goals.start(goal)
  const { run_id = '' } = await world.until(sessionId, (rune) => rune.to === 'waiting_user')
  const streams = [
    list,
    read(`/api/sessions/${sessionId}/stream?after=0`),
    read(`/api/sessions/${sessionId}/stream?runes=1&after=0`),
    read(`/api/runs/${run_id}/events`),
  ]
  const runes = await world.runes(sessionId)
  const ids = idsIn(runes, goalId)
  const [interaction_id = ''] = ids.interaction_id ?? []

  // THEN a reader learns that it waits, and for how long, and not for what
  const asked = await readAll(ask, ids)
  for (const path of ['/api/inbox', '/api/interactions/{interaction_id}', '/api/runs/{run_id}/interaction'])
    expect(asked).toContain(`200 ${path}`)
  const one = `/api/interactions/${interaction_id}`
  const unseen = { prompt: '(not public)', interaction_kind: 'ecs', request: {}, arguments: null, deadline: null }
  expect((await ask(one, { token: secretOf('operate') })).json).toMatchObject({ ...unseen, state: 'open', run_id })
  expect((await ask('/api/inbox', { token: secretOf('read') })).json.items).toMatchObject([
    { interaction_id, prompt: '(not public)', visibility: 'internal' },
  ])
  expect((await ask(`/api/runs/${run_id}`, { token: secretOf('read') })).json).toMatchObject({
    status: 'waiting_user',
    pending_interaction_ids: [interaction_id],
  })

  // AND a person who may answer sees all of it, and answers
  const token = secretOf('approve')
  const seen = { prompt: canary, request: { title: canary, fields } }
  expect((await ask(one, { token })).json).toMatchObject(seen)
  expect((await ask('/api/inbox', { token })).json.items).toMatchObject([{ interaction_id, prompt: canary }])
  expect((await ask(`/api/runs/${run_id}/interaction`, { token })).json.interactions).toMatchObject([seen])
  const reply = { action: 'approve', data: { choice: canary } }
  expect((await ask(`${one}/answer`, { token, body: { reply } })).status).toBe(200)
  expect(await sw.goals.result(goalId)).toMatchObject({ state: 'goal_met' })
  await sw.idle()

  // AND a reader does not see the answer either, in any answer or stream
  await readAll(ask, idsIn(await world.runes(sessionId), goalId))
  expect((await ask(one, { token: secretOf('read') })).json).toMatchObject({
    ...unseen,
    state: 'answered',
    reply: null,
  })
  expect((await ask(one, { token })).json).toMatchObject({ ...seen, state: 'answered', reply })
  const met = await world.until(sessionId, (rune) => rune.kind === 'plan.goal_met')
  await streams[1]?.upTo(met.event_id)
  await streams[2]?.upTo(met.event_id)
  await streams[3]?.closed()
  await list.until('a summary', () => list.heard.some(({ data }) => data.includes(sessionId)))
  for (const { heard } of streams) expect(JSON.stringify(heard)).not.toContain(canary)

  // AND the stream of its run tells where it stands, without content
  const { items } = (await ask(`/api/runs/${run_id}/events/history`, { token: secretOf('read') })).json
  expect(checkFcmp(items, { runId: run_id, status: 'succeeded' })).toEqual([])
  expect(streams[3]?.heard.map(({ data }) => JSON.parse(data))).toEqual(items)
  const moves = items.flatMap(({ data }: { data: { to?: string } }) => data.to ?? [])
  expect([...new Set(moves)]).toEqual(['running', 'waiting_user', 'queued', 'succeeded'])
  expect(items[1]).toMatchObject({ type: 'user.input.required', data: { kind: 'open_text', prompt: '(not public)' } })
})
