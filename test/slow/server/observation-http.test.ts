import { expect } from 'vitest'
import { topology } from '../../../src/kernel/topology.ts'
import { contractMachine } from '../../../src/machines/contract.ts'
import { say } from '../../../src/runtime/scripted-model.ts'
import { createBackendWorld, form, refund, supportAgent } from '../../support/backend.ts'
import { type Play, scenario } from '../../support/scenario.ts'
import { startServer } from '../../support/server.ts'

type Scene = Awaited<ReturnType<typeof open>>

async function open() {
  const { world, backend } = await createBackendWorld(
    { support: supportAgent([refund, form, say('Done.')]) },
    { store: 'sqlite' },
  )
  return { world, ...(await startServer(backend)) }
}

/** A session that refunded an order with approval, and now waits for a form. */
async function played({ world, ask }: Scene) {
  const { json } = await ask('/api/runs', { body: { agent: 'support', input: 'Refund order 42.' } })
  await world.sw.idle()
  const [{ interaction_id }] = (await ask('/api/inbox')).json.items
  const { digest } = (await ask(`/api/interactions/${interaction_id}`)).json
  await ask(`/api/interactions/${interaction_id}/approve`, { body: { digest } })
  await world.sw.idle()
  return json as { session_id: string; run_id: string }
}

const on =
  (act: (scene: Scene) => Promise<void>): Play =>
  async ({ record }) => {
    const scene = await open()
    await act(scene)
    for (const { session_id } of await scene.world.sw.sessions.list()) record(await scene.world.runes(session_id))
    await scene.close()
    await scene.world.end()
  }

scenario(
  'OB-13',
  'Full session timeline (v2)',
  on(async (scene) => {
    // GIVEN a session with two contracts: a tool call that completed, and a step that waits for a person
    const { session_id } = await played(scene)
    // WHEN its timeline is asked for over HTTP
    const { status, json } = await scene.ask(`/api/execution/${session_id}/timeline`)
    // THEN both are in it by the time they were created, with all their moves merged by time, and counted
    expect(status).toBe(200)
    expect(json).toMatchObject({
      session_id,
      contracts: [
        { action_type: 'tool_call', current_status: 'completed', irreversible: true },
        { action_type: 'ecs_request', current_status: 'waiting' },
      ],
      total_contracts: 2,
      terminal_contracts: 1,
      active_contracts: 1,
      has_suspended: true,
      has_irreversible_completed: true,
      ended_at: null,
    })
    const times = json.transitions.map(({ timestamp }: { timestamp: number }) => timestamp)
    expect(times).toEqual(times.toSorted((a: number, b: number) => a - b))
    expect(json.transitions.map(({ trigger }: { trigger: string }) => trigger)).toEqual([
      ...['start', 'suspend', 'resume', 'succeed', 'start', 'suspend'],
    ])
    expect(new Set(json.transitions.map((t: { execution_id: string }) => t.execution_id)).size).toBe(2)
  }),
)

scenario(
  'OB-16',
  'HTTP API exposure (v2)',
  on(async ({ ask }) => {
    // WHEN the topology is asked for
    const first = await ask('/api/execution/topology')
    // THEN it is the declared machine, whole
    expect(first.status).toBe(200)
    expect(first.json).toEqual(JSON.parse(JSON.stringify(topology(contractMachine))))
    // AND caches may keep it: it has a name for its content, and a client that has that content gets an answer without a body
    expect(first.headers.get('cache-control')).toBe('private, max-age=3600')
    const etag = first.headers.get('etag') ?? ''
    expect(etag).toMatch(/^"[0-9a-f]{32}"$/)
    const second = await ask('/api/execution/topology', { headers: { 'if-none-match': `"other", ${etag}` } })
    expect({ status: second.status, text: second.text }).toEqual({ status: 304, text: '' })
    expect(second.headers.get('etag')).toBe(etag)
    expect((await ask('/api/execution/topology', { headers: { 'if-none-match': '"other"' } })).status).toBe(200)
  }),
)

scenario(
  'OB-19',
  'Query session timeline',
  on(async (scene) => {
    // GIVEN a session with executions
    const { session_id } = await played(scene)
    // WHEN its timeline is asked for, THEN it is one
    const { status, headers, json } = await scene.ask(`/api/execution/${session_id}/timeline`)
    expect({ status, type: headers.get('content-type') }).toEqual({
      status: 200,
      type: 'application/json; charset=utf-8',
    })
    expect(Object.keys(json).sort()).toEqual([
      ...['active_contracts', 'contracts', 'ended_at', 'has_irreversible_completed', 'has_suspended', 'session_id'],
      ...['started_at', 'terminal_contracts', 'total_contracts', 'transitions'],
    ])
  }),
)

scenario(
  'OB-20',
  'Query single contract snapshot',
  on(async (scene) => {
    // GIVEN an execution that completed
    const { session_id } = await played(scene)
    const [{ execution_id }] = (await scene.ask(`/api/execution/${session_id}/timeline`)).json.contracts
    // WHEN its snapshot is asked for
    const path = `/api/execution/${execution_id}/snapshot`
    const { status, json, headers } = await scene.ask(path)
    // THEN it is one
    expect(status).toBe(200)
    expect(json).toMatchObject({
      execution_id,
      current_status: 'completed',
      result: { refund: 'r-42' },
      is_terminal: true,
    })
    // AND while nothing happens to it, a client that has it gets 304
    const etag = headers.get('etag') ?? ''
    expect((await scene.ask(path, { headers: { 'if-none-match': etag } })).status).toBe(304)
    // AND the views of the same execution agree with it
    expect((await scene.ask(`/api/execution/${execution_id}/consequence`)).json).toMatchObject({
      consequence_label: 'SUCCESS',
      has_side_effects: true,
      was_suspended: true,
    })
    expect((await scene.ask(`/api/execution/${execution_id}/transitions`)).json.transitions).toHaveLength(4)
  }),
)

scenario(
  'OB-20',
  'a snapshot whose contract moved has another name',
  on(async (scene) => {
    // GIVEN the snapshot of a contract that waits
    const { session_id, run_id } = await played(scene)
    const [, { execution_id }] = (await scene.ask(`/api/execution/${session_id}/timeline`)).json.contracts
    const path = `/api/execution/${execution_id}/snapshot`
    const etag = (await scene.ask(path)).headers.get('etag') ?? ''
    // WHEN it is answered
    const reply = { action: 'approve', data: { choice: 'red' } }
    expect((await scene.ask(`/api/runs/${run_id}/interaction/reply`, { body: { reply } })).status).toBe(200)
    await scene.world.sw.idle()
    // THEN who had the old one gets the new one
    const now = await scene.ask(path, { headers: { 'if-none-match': etag } })
    expect(now).toMatchObject({ status: 200, json: { current_status: 'completed' } })
    expect(now.headers.get('etag')).not.toBe(etag)
  }),
)

scenario(
  'OB-21',
  'Query for non-existent session',
  on(async ({ ask, world }) => {
    // GIVEN a session without executions, and one that does not exist
    const { json } = await ask('/api/sessions', { body: { agent: 'support' } })
    // WHEN their timelines are asked for
    for (const session_id of [json.session_id, 'ses_nobody']) {
      const { status, json: problem } = await ask(`/api/execution/${session_id}/timeline`)
      // THEN there is none, and the answer says so in words
      expect(status).toBe(404)
      expect(problem).toMatchObject({ code: 'not_found', status: 404, outcome: 'not_applied' })
      expect(problem.detail).toContain(session_id)
    }
    expect(await ask('/api/execution/exe_nobody/snapshot')).toMatchObject({ status: 404, json: { code: 'not_found' } })
    expect(await world.sw.sessions.list()).toHaveLength(1)
  }),
)
