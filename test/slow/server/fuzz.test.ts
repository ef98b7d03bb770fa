import fc from 'fast-check'
import { expect, test } from 'vitest'
import { call, say } from '../../../src/runtime/scripted-model.ts'
import { operations } from '../../../src/surface/operations/all.ts'
import { createBackendWorld, form, refund, supportAgent } from '../../support/backend.ts'
import { facts } from '../../support/coordinator.ts'
import { type Generated, requestsFrom } from '../../support/openapi-requests.ts'
import { exampleIntent, exampleQuestion, exampleRegistry } from '../../support/plans.ts'
import { isProof, seed } from '../../support/sampling.ts'
import { startServer } from '../../support/server.ts'
import { isFurnished } from '../../support/valid-requests.ts'

const runs = isProof ? 20_000 : 4_000

/** How long a request may take on a machine that has other things to do. */
const patience_ms = 10_000

test(`fuzz: of ${runs} generated requests none breaks the server, none hangs, and none that is refused changes anything`, async () => {
  const { world, backend } = await createBackendWorld(
    {
      support: supportAgent([refund, form, say('Done.')]),
      long: supportAgent([call('orders.find', {}), say('All.')]),
    },
    { plans: { registry: exampleRegistry } },
  )
  const server = await startServer(backend, { newId: () => 'req' })
  const { sw } = world
  let commits = 0
  sw.runelog.watch(() => {
    commits += 1
  })
  const ids = await collector(sw)
  const document = (await server.ask('/api/openapi.json')).json
  const seen = new Map<string, number>()
  const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1)

  async function hold({ method, path, headers, raw, name }: Generated) {
    const before = commits
    const begun = performance.now()
    const answer = await server.ask(path, { method, headers, ...(raw !== undefined && { raw }) })
    const took = performance.now() - begun
    await sw.idle()
    const what = { method, path, raw, status: answer.status, text: answer.text.slice(0, 500) }
    expect(answer.status, JSON.stringify(what)).toBeLessThan(500)
    expect(took, JSON.stringify(what)).toBeLessThan(patience_ms)
    if (answer.status >= 400) {
      expect(commits, `it was refused and yet something was recorded: ${JSON.stringify(what)}`).toBe(before)
      expect(answer.headers.get('content-type'), JSON.stringify(what)).toContain('application/problem+json')
      count(answer.json.code)
    }
    count(`${name} ${answer.status < 400 ? 'answered' : 'refused'}`)
    if (method === 'POST' && answer.status === 200) await ids.learn()
  }

  console.log(`fuzz: seed ${seed}; repeat with STATEWRIGHT_SEED=${seed}`)
  await fc.assert(fc.asyncProperty(requestsFrom(document, ids.known), hold), {
    numRuns: runs,
    seed,
    endOnFailure: true,
  })

  // THEN the requests were such that much of it was really asked for, and in many ways refused.
  const reached = [
    ...reads,
    'create_session',
    'submit_run',
    'send_message',
    'pause_session',
    'close_session',
    'submit_plan',
  ]
  expect(reached.filter((name) => !seen.has(`${name} answered`))).toEqual([])
  expect(['approve', 'deny', 'answer', 'reply_run'].filter((name) => seen.has(`${name} answered`))).not.toEqual([])
  expect([...seen.keys()]).toEqual(
    expect.arrayContaining(['bad_request', 'json_refused', 'not_found', 'transition_refused']),
  )
  for (const session_id of await sw.runelog.sessionIds())
    expect((await server.ask(`/api/sessions/${session_id}/audit`)).json.is_sound, session_id).toBe(true)
  expect(({} as Record<string, unknown>).constructor).toBe(Object)
  await server.close()
  await world.end()
})

/** The GET operations of sessions, runs, questions and contracts. */
const reads = operations.flatMap((o) =>
  o.method === 'GET' && o.name !== 'get_output' && isFurnished(o) ? [o.name] : [],
)

/** Ids of what is there, so that requests find something to act on: the newest, since old sessions are over. */
async function collector(sw: Awaited<ReturnType<typeof createBackendWorld>>['world']['sw']) {
  const found = new Map<string, string[]>()
  const add = (name: string, id: string) => {
    const ids = (found.get(name) ?? []).filter((other) => other !== id)
    found.set(name, [id, ...ids].slice(0, 8))
  }
  async function learn() {
    const sessions = await sw.sessions.list({ backward: true, limit: 6 })
    for (const { session_id } of sessions.toReversed()) {
      add('session_id', session_id)
      for (const rune of await sw.runelog.read(session_id, { backward: true, limit: 30 }))
        for (const name of ['run_id', 'execution_id', 'interaction_id', 'agent_id'] as const)
          if (rune[name] !== undefined) add(name, rune[name])
    }
    // There is always someone to answer, and a session that is paused.
    while ((await sw.inbox.list()).length < 3) await begin()
    for (const { interaction_id, session_id, run_id } of (await sw.inbox.list()).slice(-3)) {
      add('interaction_id', interaction_id)
      add('session_id', session_id)
      if (run_id !== null) add('run_id', run_id)
    }
    const [paused] = await sw.sessions.list({ state: 'paused', limit: 1 })
    if (paused === undefined) await sw.sessions.pause((await begin()).sessionId)
    else for (let n = 0; n < 4; n++) add('session_id', paused.session_id)
  }
  for (const agent of ['support', 'long']) add('agent', agent)
  for (const intent of [exampleIntent(), exampleQuestion])
    add('coordination_id', (await sw.plans.submit({ intent, facts })).coordination_id)
  for (const name of ['run', 'contract', 'none']) add('name', name)
  for (const n of [1, 2, 3, 5]) add('event_id', `${n}`)
  async function begin() {
    const run = await sw.runs.start({ agent: 'support', input: 'Begin.' })
    await sw.idle()
    return run
  }
  await learn()
  return { learn, known: (name: string) => found.get(name) ?? [] }
}
