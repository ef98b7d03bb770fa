import { ask, breakOff, call, say, together } from 'statewright/testing'
import { expect, test } from 'vitest'
import { holding } from './support/actor.ts'
import { withLibrary } from './support/embedded.ts'
import { type Data, openHouse, type Run } from './support/house.ts'
import { runToEnd } from './support/process.ts'

/** The lines of `spec/prose.md` that speak of runs, contracts and observation. */
const house = openHouse()

const form = ask({ title: 'Which size?', fields: [{ name: 'size', required: true }] })
const sized = { action: 'approve', data: { size: 'L' } }

interface Document {
  readonly paths: Readonly<Record<string, { readonly get?: Described }>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}
interface Described {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { schema: Schema }>> }>>
}
interface Schema {
  readonly $ref?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean
  readonly enum?: readonly string[]
}

/** A session with a contract in every status that lasts, and its ids. */
async function everyStatus() {
  const { run_id, session_id } = await house.submit([
    together(call('work', { n: 1 }), call('work', { broken: 'It broke.' }), call('work.asked', { n: 2 })),
    form,
    say('Done.'),
  ])
  const approval = await house.asksOne(run_id)
  await house.deny(approval, 'No.')
  const question = await house.asksOne(run_id, approval)
  const { contracts } = await house.timeline(session_id)
  expect(contracts.map(({ current_status }) => current_status).sort()).toEqual([
    'completed',
    'failed',
    'rejected',
    'waiting',
  ])
  return { run_id, session_id, question, contracts }
}

test('P-001 contracts: they have a machine of their own, and need neither goal nor plan nor task', async () => {
  const machinesThere = await house.get<readonly { name: string }[]>('/api/machines')
  expect(machinesThere.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['contract', 'run', 'tool', 'task', 'goal', 'coordination']),
  )
  const { run_id, session_id } = await house.submit([call('work', {}), say('Done.')])
  await house.ends(run_id)
  const { subjects } = await house.get<{ subjects: readonly { machine: string }[] }>(
    `/api/sessions/${session_id}/state`,
  )
  const machines = new Set(subjects.map(({ machine }) => machine))
  expect([...machines]).toContain('contract')
  for (const none of ['task', 'goal', 'coordination']) expect([...machines]).not.toContain(none)
})

test('P-002 contracts: every action that begins in the world has exactly one, and nothing begins without one', async () => {
  const earlier = house.notes('effects').length
  const { run_id, session_id } = await house.submit([
    together(call('look', { n: 1 }), call('work', { n: 2 }), call('pay', { n: 3 }), call('work', { broken: 'No.' })),
    together(call('no_such_tool', {}), call('work', '{"not json'), call('work', { n: 5 })),
    say('Done.'),
  ])
  await house.ends(run_id)
  const { contracts } = await house.timeline(session_id)
  const begun = house
    .notes<{ phase: string; execution_id: string }>('effects')
    .slice(earlier)
    .flatMap(({ phase, execution_id }) => (phase === 'begins' ? execution_id : []))
  // The world saw each started call once; the two calls without a tool were never started.
  expect(begun).toHaveLength(5)
  const ended = contracts.filter(({ current_status }) => ['completed', 'failed'].includes(current_status))
  const never = ended.filter(({ execution_id }) => !begun.includes(execution_id))
  expect(never.map(({ action_summary }) => action_summary)).toEqual(['no_such_tool', 'work'])
  expect(new Set(begun).size + never.length).toBe(ended.length)
})

test('P-003 contracts: neither the words of a model nor the text of a result change the recorded outcome', async () => {
  const claims = { status: 'failed', error: 'It broke.', is_error: true }
  const { run_id, session_id } = await house.submit([
    { ...call('work', { result: claims }), text: 'The last call FAILED.' },
    { ...call('work', { broken: 'status: completed, success' }), text: 'It succeeded.' },
    say('I have paid the invoice.'),
  ])
  await house.ends(run_id)
  const { contracts } = await house.timeline(session_id)
  expect(contracts).toHaveLength(2)
  const [claimed, denied] = contracts
  expect(claimed).toMatchObject({ current_status: 'completed', result: claims })
  expect(denied).toMatchObject({
    current_status: 'failed',
    error_message: expect.stringContaining('status: completed, success'),
  })
  expect(await house.consequence(claimed?.execution_id ?? '')).toMatchObject({ consequence_label: 'SUCCESS' })
})

test('P-005 trace: it holds every transition of every contract of a session', async () => {
  const { run_id, session_id, question } = await everyStatus()
  await house.answer(question, sized)
  await house.ends(run_id)
  const { transitions } = await house.timeline(session_id)
  const { steps } = await house.get<{ steps: readonly { action: string }[] }>(`/api/runs/${run_id}/trace`)
  expect(transitions.length).toBeGreaterThan(8)
  for (const { execution_id, from_status, to_status } of transitions)
    expect(
      steps.some(({ action }) =>
        [execution_id, String(from_status), String(to_status)].every((part) => action.includes(part)),
      ),
    ).toBe(true)
})

test('P-010 observation: no read over HTTP or at the command line appends anything', async () => {
  // GIVEN a session of which there is something to see everywhere
  const { session_id, question, contracts } = await everyStatus()
  // The result of a run that goes on is waited for, so the run is another one that is over.
  const { run_id } = await house.submit([call('work', {}), say('Done.')])
  await house.ends(run_id)
  const recorded = async () => {
    const { items } = await house.get<{ items: readonly { session_id: string }[] }>('/api/sessions?limit=200')
    const ids = items.map((item) => item.session_id).toSorted()
    return Promise.all(ids.map(async (id) => ({ id, runes: await house.runes(id) })))
  }
  const before = await recorded()
  expect(before.flatMap(({ runes }) => runes).some((rune) => rune.run_id === run_id)).toBe(true)
  const ids: Readonly<Record<string, string>> = {
    session_id,
    run_id,
    execution_id: contracts[0]?.execution_id ?? '',
    interaction_id: question.interaction_id,
    name: 'contract',
  }
  // WHEN every document that the server offers is asked for
  const { paths } = await house.get<Document>('/api/openapi.json')
  const asked: string[] = []
  const refused: string[] = []
  for (const [path, { get }] of Object.entries(paths)) {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
    const isStream = Object.values(get?.responses ?? {}).some(({ content = {} }) => 'text/event-stream' in content)
    if (get === undefined || isStream || names.some((name) => ids[name] === undefined)) continue
    const { status } = await house
      .ask(
        'GET',
        path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? ''),
      )
      .catch((error: unknown) => {
        // The requests that are not JSON were read, too.
        if (error instanceof SyntaxError) return { status: 200 }
        throw error
      })
    if (status === 200) asked.push(path)
    else refused.push(`${path} ${status}`)
  }
  expect(asked.length).toBeGreaterThan(20)
  // An operation that needs a query is refused without one.
  expect(refused).toEqual(['/api/subjects 422'])
  // AND the commands that only look
  const looking = [
    ['ps'],
    ['inbox'],
    ['show', session_id],
    ['timeline', session_id],
    ['trace', run_id],
    ['replay', session_id],
  ]
  const looked = await Promise.all(looking.map((command) => house.cli(...command)))
  expect(looked.map(({ exit }) => exit)).toEqual(looking.map(() => 0))
  // THEN nothing was recorded
  expect(await recorded()).toEqual(before)
})

test('P-011 snapshots: every contract has one, with the documented fields and no others', async () => {
  const { contracts } = await everyStatus()
  const document = await house.get<Document>('/api/openapi.json')
  const answer = document.paths['/api/execution/{execution_id}/snapshot']?.get?.responses['200']?.content
  const schema = resolved(document, Object.values(answer ?? {})[0]?.schema)
  expect(schema.additionalProperties).toBe(false)
  for (const { execution_id } of contracts) {
    const fields = Object.keys(await house.snapshot(execution_id))
    expect(fields.filter((field) => !Object.hasOwn(schema.properties ?? {}, field))).toEqual([])
    expect((schema.required ?? []).filter((field) => !fields.includes(field))).toEqual([])
  }
})

test('P-015 timelines: the contracts of another session are never in one', async () => {
  const one = await house.submit([call('work', { n: 1 }), say('Done.')])
  const other = await house.submit([call('work', { n: 2 }), say('Done.')])
  await Promise.all([house.ends(one.run_id), house.ends(other.run_id)])
  const [first, second] = [await house.timeline(one.session_id), await house.timeline(other.session_id)]
  const idsOf = ({ contracts, transitions }: typeof first) =>
    new Set([...contracts, ...transitions].map(({ execution_id }) => execution_id))
  expect(idsOf(first).size).toBe(1)
  expect([...idsOf(first)].filter((id) => idsOf(second).has(id))).toEqual([])
})

test('P-016 topology: HTTP and the command line give the same one, before and after runs', async () => {
  const before = await house.get('/api/execution/topology')
  const { run_id } = await house.submit([call('work', {}), say('Done.')])
  await house.ends(run_id)
  expect(await house.get('/api/execution/topology')).toEqual(before)
  const printed = await runToEnd(['topology', 'contract', '--json'])
  expect(JSON.parse(printed.out)).toEqual(before)
})

test('P-017 execution_state: a listener gets exactly one event for each transition', async () => {
  const { run_id, session_id, question } = await everyStatus()
  await house.answer(question, sized)
  await house.ends(run_id)
  const { transitions } = await house.timeline(session_id)
  const heard = await house.stream(`/api/sessions/${session_id}/stream?after=0`, (events) =>
    events.some(({ event }) => event === 'done'),
  )
  const told = heard.filter(({ event }) => event === 'execution_state').map(({ data }) => data.payload)
  const moveOf = ({ execution_id, from_status, to_status, trigger }: Data) =>
    [execution_id, from_status, to_status, trigger].join(' ')
  expect(told.map(moveOf).sort()).toEqual(transitions.map(moveOf).sort())
})

test('P-018 observation: it answers while a tool does not return, and when no process works', async () => {
  const gate = house.gate()
  const { run_id, session_id } = await house.submit([call('look', { until: gate }), say('Done.')])
  await house.reaches(run_id, 'running')
  await expect.poll(async () => (await house.ask('GET', `/api/execution/${session_id}/timeline`)).status).toBe(200)
  await expect
    .poll(async () => (await house.timeline(session_id)).contracts.map(({ current_status }) => current_status))
    .toEqual(['running'])
  const [contract] = (await house.timeline(session_id)).contracts
  expect(await house.snapshot(contract?.execution_id ?? '')).toMatchObject({ current_status: 'running' })
  // AND the command line answers from the store when there is neither a server nor a worker
  const seen = await house.timeline(session_id)
  await house.without(async () => {
    const printed = await house.cli('timeline', session_id, '--json')
    expect(JSON.parse(printed.out)).toMatchObject({ session_id, transitions: seen.transitions })
  })
  house.open(gate)
  await house.ends(run_id)
})

test('P-023 progress: it is optional; a tool that reports nothing has none and ends as any other', async () => {
  const { run_id, session_id } = await house.submit([
    call('work', { n: 1 }),
    call('work', { reports: [['stdout', 'half']] }),
    say('Done.'),
  ])
  expect(await house.ends(run_id)).toMatchObject({ status: 'succeeded' })
  const progress = await house.runes(session_id, 'tool.progress')
  const results = await house.runes(session_id, 'tool.result')
  expect(results).toHaveLength(2)
  expect(new Set(progress.map(({ call_id }) => call_id)).size).toBe(1)
  expect(progress[0]?.call_id).toBe(results[1]?.call_id)
})

test('P-029 agents: one that is terminated stops its tool, ends its run and takes no more work', () =>
  withLibrary(async ({ sw, submit, notes, runes }) => {
    const { sessionId, runId } = await submit([call('work', { until: 'never' }), say('Done.')])
    await expect.poll(() => notes<{ phase: string }>('effects').map(({ phase }) => phase)).toEqual(['begins'])
    const spawned = (await runes(sessionId)).find(({ kind }) => kind === 'agent.spawning')
    await sw.agents.kill(spawned?.subject_id ?? '', { force: true })
    await expect
      .poll(() => notes<{ phase: string }>('effects').map(({ phase }) => phase))
      .toEqual(['begins', 'hears it is over'])
    expect(await (await sw.runs.get(runId)).result()).toMatchObject({ status: 'canceled' })
    expect((await runes(sessionId)).map(({ kind }) => kind)).toContain('agent.terminated')
    // WHEN more work comes for it THEN that is refused; the name stands for an agent that is spawned for it
    const agent_id = spawned?.subject_id ?? ''
    await expect(submit([say('More.')], { sessionId, agentId: agent_id })).rejects.toMatchObject({ code: 'agent_over' })
    const next = await submit([say('More.')], { sessionId })
    expect(await next.result()).toMatchObject({ status: 'succeeded' })
    expect((await sw.runs.show(next.runId)).agent_id).not.toBe(agent_id)
  }))

test('P-061 runs: six states and no other, in the schema and in every view', async () => {
  const six = ['queued', 'running', 'waiting_user', 'succeeded', 'failed', 'canceled']
  const document = await house.get<Document>('/api/openapi.json')
  const answer = document.paths['/api/runs/{run_id}']?.get?.responses['200']?.content
  const schema = resolved(document, Object.values(answer ?? {})[0]?.schema)
  expect([...(resolved(document, schema.properties?.status).enum ?? [])].sort()).toEqual([...six].sort())
  // GIVEN a run in each of them
  const gate = house.gate()
  const running = await house.submit([holding(gate, say('Half and half.'))])
  await house.submit([say('Later.')], { session_id: running.session_id })
  const waiting = await house.submit([form, say('Done.')])
  await house.asksOne(waiting.run_id)
  const failed = await house.submit([breakOff('There is no such model.')])
  await house.ends(failed.run_id)
  await house.reaches(running.run_id, 'running')
  const { items } = await house.get<{ items: readonly Run[] }>('/api/runs?limit=200')
  house.open(gate)
  const seen = new Set(items.map(({ status }) => status))
  expect([...seen].filter((status) => !six.includes(status))).toEqual([])
  for (const status of ['queued', 'running', 'waiting_user', 'succeeded', 'failed']) expect([...seen]).toContain(status)
  await house.post(`/api/runs/${waiting.run_id}/cancel`)
  expect(await house.ends(waiting.run_id)).toMatchObject({ status: 'canceled' })
})

test('P-062 runs: declared events move them, and FCMP tells every change', async () => {
  const { run_id, session_id, question } = await everyStatus()
  await house.answer(question, sized)
  await house.ends(run_id)
  const machine = await house.get<{
    edges: readonly { from_status: string; to_status: string; trigger: string }[]
  }>('/api/machines/run')
  const declared = new Set(machine.edges.map((edge) => `${edge.from_status} ${edge.trigger} ${edge.to_status}`))
  const moves = (await house.runes(session_id)).filter((rune) => rune.machine === 'run' && rune.subject_id === run_id)
  const taken = moves.map(({ from, to, trigger }) => `${from} ${trigger} ${to}`)
  expect(taken.slice(1).filter((move) => !declared.has(move))).toEqual([])
  const heard = await house.stream(`/api/runs/${run_id}/events`)
  const told = heard
    .map(({ data }) => data as unknown as { type: string; data: Data })
    .filter(({ type }) => type === 'conversation.state.changed')
    .map(({ data }) => `${data.from} ${data.trigger} ${data.to}`)
  expect(told).toEqual(taken.filter((move) => !move.startsWith('null')))
  expect(told.length).toBeGreaterThan(5)
})

/** A schema, followed to where it is written. */
function resolved({ components }: Document, schema: Schema | undefined): Schema {
  const name = schema?.$ref?.split('/').at(-1)
  return (name === undefined ? schema : components.schemas[name]) ?? {}
}
