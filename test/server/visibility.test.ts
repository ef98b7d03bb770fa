import { afterEach, expect, test } from 'vitest'
import { z } from 'zod'
import { deskOn } from '../../src/desk-on.ts'
import type { Draft, Rune } from '../../src/runes/rune.ts'
import { agent } from '../../src/runtime/agents/define-agent.ts'
import { call, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import { operations } from '../../src/surface/operations/all.ts'
import { note, planOf, worker } from '../scenarios/goal-cast.ts'
import { move, opening } from '../support/drafts.ts'
import { registryIn } from '../support/goal-registry.ts'
import { scratchFolder } from '../support/scratch-folder.ts'
import { secretOf, startServer } from '../support/server.ts'
import { startStreams } from '../support/stream-server.ts'
import { createWorld, type World } from '../support/world.ts'

const registry = registryIn(scratchFolder('visibility').fresh())
const canary = 'canary-9b1c'

let world: World
afterEach(() => world?.end())

/** A server on a goal whose critic looks something up, and on a contract with a secret result. */
async function open() {
  const look = tool({
    name: 'ledger.look',
    input: z.looseObject({}),
    read_only: true,
    max_output_bytes: 1_000,
    run: () => `${canary} `.repeat(1_000),
  })
  const critique = { summary: 'Fine.', findings: [{ severity: 'info', title: canary }] }
  const script = [call('ledger.look', { of: canary }), say(JSON.stringify(critique))]
  const critic = agent({ role: 'critic', model: scriptedModel(script), tools: [look] })
  world = await createWorld({ agents: { worker: worker(), critic }, plans: { registry } })
  const { sw, hand } = world
  const goal = { goal: 'Review', auto: true, critic: 'critic', plan: planOf(note('ta')) }
  const { goal_id, session_id } = await sw.goals.start(goal)
  expect(await sw.goals.result(goal_id)).toMatchObject({ state: 'goal_met' })
  await sw.idle()
  await writeSecret(session_id)

  const key = { signer: () => ({ public_key: '00', sign: () => '11' }), publicKey: () => '00' }
  const desk = deskOn(sw, key, hand.clock.now)
  const server = await startServer(desk)
  const streams = await startStreams({ desk, timers: hand.timers, warn: console.error })
  return { ...server, read: streams.read, session_id, goal_id, runes: await world.runes(session_id) }
}

/** Two contracts: of one the result is secret, of the other only how it was opened. */
async function writeSecret(session_id: string) {
  const about = (execution_id: string, draft: Draft): Draft => ({ ...draft, execution_id })
  const secret = (draft: Draft): Draft => ({ ...draft, visibility: 'secret' })
  const start = (id: string) => about(id, move('contract', id, ['pending', 'start']))
  const done = (id: string) => about(id, move('contract', id, ['running', 'succeed'], { result: canary }))
  const opened = (id: string) => about(id, opening('contract', id, { action_summary: canary }))
  const runes = [opened('exe_late'), start('exe_late'), secret(done('exe_late'))]
  await world.sw.runelog.append({ session_id, runes })
  const more = [secret(opened('exe_early')), start('exe_early'), done('exe_early')]
  await world.sw.runelog.append({ session_id, runes: more })
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

test('F-11 visibility: no view, list or stream tells what a critic or a secret contract said, asked or got', async () => {
  // GIVEN a log that has it in runes of many kinds, and in a kept output
  const { ask, read, session_id, goal_id, runes } = await open()
  const telling = new Set(runes.filter((rune) => JSON.stringify(rune.payload).includes(canary)).map(({ kind }) => kind))
  const kinds = ['tool.call', 'tool.result', 'contract.opened', 'contract.moved', 'turn.completed', 'run.moved']
  expect([...telling]).toEqual(expect.arrayContaining([...kinds, 'plan.critique']))
  const ids = idsIn(runes, goal_id)
  expect(ids.ref?.length).toBeGreaterThan(0)

  // WHEN everything is asked for that the scope `read` may ask for
  const asked: string[] = []
  for (const { method, path, scope } of operations) {
    if (method !== 'GET' || scope !== 'read') continue
    const [, name] = /\{(\w+)\}/.exec(path) ?? []
    for (const id of name === undefined ? [''] : (ids[name] ?? [])) {
      const at = `${path.replace(/\{\w+\}/, id)}${path === '/api/subjects' ? '?prefix=exe_' : ''}`
      const { status, text } = await ask(at, { token: secretOf('read') })
      // THEN the answer does not tell it
      expect(status, at).toBeLessThan(500)
      expect(text, at).not.toContain(canary)
      asked.push(`${status} ${path}`)
    }
  }
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

  // AND the streams do not tell it; what was public before the secret came was told as it was
  const critic = runes.find((rune) => rune.kind === 'run.submitted' && rune.visibility === 'internal')?.run_id
  const both = [read(`/api/sessions/${session_id}/stream?after=0`), read(`/api/sessions/${session_id}/stream?runes=1`)]
  const late = runes.find(({ execution_id }) => execution_id === 'exe_late')?.event_id ?? 0
  for (const stream of both) await stream.upTo(late + 1)
  expect(JSON.stringify(both.map(({ heard }) => heard))).not.toContain('exe_early')
  const heard = both.flatMap(({ heard }) => heard).filter(({ data }) => JSON.parse(data).event_id < late)
  expect(JSON.stringify(heard)).not.toContain(canary)
  const run = read(`/api/runs/${critic}/events`)
  await run.answered()
  expect(run.heard).toEqual([])

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
