import { expect, test } from 'vitest'
import { agent } from '../../src/runtime/define-agent.ts'
import type { RunHandle } from '../../src/runtime/run-handle.ts'
import { ask, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { createWorld } from '../support/world.ts'

async function heard(run: RunHandle, after?: number): Promise<readonly number[]> {
  const seen: number[] = []
  for await (const event of run.events(after === undefined ? {} : { after }))
    if (event.type === 'rune') seen.push(event.rune.event_id)
  return seen
}

test('run events: a client that resumes after any event of a finished run gets the rest, and then the end', async () => {
  const worker = agent({ role: 'worker', model: scriptedModel([say('one'), say('two')]) })
  const world = await createWorld({ agents: { worker } })
  const run = await world.sw.runs.start({ agent: 'worker', input: 1 })
  const all = await heard(run)
  const next = await world.sw.runs.start({ agent: 'worker', input: 2, sessionId: run.sessionId })
  await next.result()
  const head = await world.sw.runelog.head(run.sessionId)
  for (let after = 0; after <= (head?.event_id ?? 0); after++)
    expect(await heard(run, after)).toEqual(all.filter((event_id) => event_id > after))
  await world.end()
})

test('run.events: a cursor beyond the end of the session is refused, as over HTTP, while the run waits and after it', async () => {
  const worker = agent({
    role: 'worker',
    model: scriptedModel([ask({ type: 'confirmation', title: 'Ready?' }), say('Done.')]),
  })
  const world = await createWorld({ agents: { worker } })
  const run = await world.sw.runs.start({ agent: 'worker', input: 1 })
  await world.sw.idle()
  expect((await world.sw.runs.show(run.runId)).status).toBe('waiting_user')
  const ahead = { code: 'cursor_ahead', message: expect.stringContaining('cannot go on after 999') }
  await expect(heard(run, 999)).rejects.toMatchObject(ahead)
  await run.cancel()
  await run.result()
  await expect(heard(run, 999)).rejects.toMatchObject(ahead)
  await world.end()
})

test('run.events: a signal ends the events of a run that goes on, also one that had aborted before', async () => {
  const model = scriptedModel([ask({ type: 'confirmation', title: 'Ready?' }), say('Done.')])
  const world = await createWorld({ agents: { worker: agent({ role: 'worker', model }) } })
  const run = await world.sw.runs.start({ agent: 'worker', input: 1 })
  const leaving = new AbortController()
  for (const round of ['while it waits', 'at once']) {
    const seen: string[] = []
    for await (const event of run.events({ signal: leaving.signal })) {
      if (event.type !== 'rune') continue
      seen.push(event.rune.kind)
      if (event.rune.kind === 'interaction.opened') leaving.abort()
    }
    expect(seen.includes('interaction.opened')).toBe(round === 'while it waits')
  }
  expect((await world.sw.runs.show(run.runId)).status).toBe('waiting_user')
  await world.end()
})

test.each([
  ['a text', { after: '3' }, 'options/after: Invalid input: expected number, received string'],
  ['no number', { after: Number.NaN }, 'options/after: Invalid input: expected number, received NaN'],
  ['a broken number', { after: 1.5 }, 'options/after: Invalid input: expected int, received number'],
  ['a negative number', { after: -1 }, 'options/after: Too small: expected number to be >=0'],
  ['an object', { after: {} }, 'options/after: Invalid input: expected number, received object'],
  [
    'a misspelled field',
    { afterr: 3 },
    'options/afterr: Unknown field "afterr". Did you mean "after"? Known fields: after, signal.',
  ],
  ['null for the options', null, 'options: Invalid input: expected object, received null'],
])('run.events: %s is refused when the first event is asked for', async (_, options, problem) => {
  const world = await createWorld({
    agents: { worker: agent({ role: 'worker', model: scriptedModel([say('Done.')]) }) },
  })
  const run = await world.sw.runs.start({ agent: 'worker', input: 1 })
  const first = run
    .events(options as never)
    [Symbol.asyncIterator]()
    .next()
  const message = `run.events was refused: ${problem}`
  await expect(first).rejects.toMatchObject({ code: 'bad_request', message })
  await world.end()
})

test('goals.watch: an id and a signal that are none are refused when the first report is asked for', async () => {
  const world = await createWorld({
    agents: { worker: agent({ role: 'worker', model: scriptedModel([say('Done.')]) }) },
  })
  for (const args of [[], [5], ['goal_1', { aborted: false }]]) {
    const reports = (world.sw.goals.watch as (...args: unknown[]) => AsyncIterable<unknown>)(...args)
    await expect(reports[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'bad_request' })
  }
  await world.end()
})
