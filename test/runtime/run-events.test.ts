import { expect, test } from 'vitest'
import { agent } from '../../src/runtime/agents/define-agent.ts'
import type { RunHandle } from '../../src/runtime/run-handle.ts'
import { say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { createWorld } from '../support/world.ts'

async function heard(run: RunHandle, after?: number): Promise<readonly number[]> {
  const seen: number[] = []
  for await (const event of run.events(after === undefined ? {} : { after }))
    if (event.type === 'rune') seen.push(event.rune.event_id)
  return seen
}

test('whoever comes back after any event of a run that is over gets the rest of it, and then the end', async () => {
  const worker = agent({ role: 'worker', model: scriptedModel([say('one'), say('two')]) })
  const world = await createWorld({ agents: { worker } })
  const run = await world.sw.submit({ agent: 'worker', input: 1 })
  const all = await heard(run)
  const next = await world.sw.submit({ agent: 'worker', input: 2, session_id: run.session_id })
  await next.result()
  const head = await world.sw.runelog.head(run.session_id)
  for (let after = 0; after <= (head?.event_id ?? 0); after++)
    expect(await heard(run, after)).toEqual(all.filter((event_id) => event_id > after))
  await world.end()
})
