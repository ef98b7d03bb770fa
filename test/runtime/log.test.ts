import { expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../../src/runtime/define-agent.ts'
import type { Model, ModelRequest } from '../../src/runtime/model.ts'
import { call, say, scriptedModel, together } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import { createWorld } from '../support/world.ts'

const secret = 'hunter2-hunter2'

function breaksDeepInside() {
  throw new Error(`The bank refused ${secret}`, { cause: refusedByBank() })
}
function refusedByBank() {
  return new TypeError('The till is closed')
}

const broken = tool({ name: 'till.open', input: z.object({}), run: () => breaksDeepInside() as never })
const declined = tool({
  name: 'till.pay',
  input: z.object({}),
  irreversible: true,
  probe: () => Promise.reject(new RangeError('The probe fell off')),
  run: () => Promise.reject(new Error('The line went dead')),
})

interface Line {
  readonly level: 'info' | 'debug'
  readonly message: string
  readonly details: Readonly<Record<string, unknown>>
}

async function play() {
  const lines: Line[] = []
  const write = (level: Line['level']) => (message: string, details: object) => {
    lines.push({ level, message, details: details as Line['details'] })
    // An error of the developer's own function does not affect the run.
    throw new Error('the log is full')
  }
  const requests: ModelRequest[] = []
  const model = scriptedModel((request, answered) => {
    requests.push(structuredClone({ ...request, tools: [] }))
    return answered === 0 ? together(call('till.open'), call('till.pay')) : say('Done.')
  })
  const cut: Model = {
    id: 'cut',
    // biome-ignore lint/correctness/useYield: it breaks before it says anything
    async *stream() {
      throw Object.assign(new SyntaxError('The stream fell over'), { retryable: false })
    },
  }
  const world = await createWorld({
    agents: {
      main: agent({ role: 'main', model, tools: [broken, declined] }),
      cut: agent({ role: 'cut', model: cut }),
      unfit: agent({ role: 'unfit', model, prepare: () => Promise.reject(new Error('There is no room')) }),
    },
    secrets: { bank: secret },
    policy: { mode: 'full_access' },
    log: { info: write('info'), debug: write('debug') },
  })
  return { world, lines, requests }
}

test('F-31 log: errors of tools, probes, models and prepare are logged with their stacks, without secrets', async () => {
  const { world, lines, requests } = await play()
  const run = await world.sw.runs.start({ agent: 'main', input: 'Pay.' })
  await world.until(run.sessionId, (rune) => rune.to === 'waiting_user')
  const other = await world.sw.runs.start({ agent: 'cut', input: 'Say.' })
  expect(await other.result()).toMatchObject({ status: 'failed' })
  await world.sw.agents.spawn(run.sessionId, 'unfit').catch(() => undefined)

  const told = Object.fromEntries(
    lines.flatMap(({ level, message, details }) =>
      level === 'info' ? [[`${message} ${details.tool ?? details.model ?? details.agent}`, String(details.error)]] : [],
    ),
  )
  expect(Object.keys(told).toSorted()).toEqual([
    ...['a model threw cut', 'a probe threw till.pay', 'a tool threw till.open', 'a tool threw till.pay'],
    'an agent could not be set up unfit',
  ])
  expect(told['a tool threw till.open']).toMatch(
    /^Error: The bank refused \[secret:bank\]\n +at breaksDeepInside .*log\.test\.ts[\s\S]*\ncaused by TypeError: The till is closed\n +at refusedByBank/,
  )
  expect(told['a probe threw till.pay']).toContain('RangeError: The probe fell off')
  expect(told['a model threw cut']).toMatch(/SyntaxError: The stream fell over\n +at .*log\.test\.ts/)
  const [line] = lines.filter(({ message }) => message === 'a tool threw')
  const { sessionId, runId } = run
  expect(line?.details).toMatchObject({
    session_id: sessionId,
    run_id: runId,
    call_id: expect.any(String),
    execution_id: expect.any(String),
  })
  expect(JSON.stringify(lines)).not.toContain(secret)

  // Neither the record nor the model gets the stack.
  const [{ interaction_id } = { interaction_id: '' }] = await world.sw.inbox.list()
  await world.sw.inbox.reply(interaction_id, { reply: { outcome: 'happened' } })
  await run.result()
  const runes = await world.runes(sessionId)
  expect(JSON.stringify(requests)).toContain('The bank refused')
  for (const shown of [JSON.stringify(requests), JSON.stringify(runes)])
    expect(shown).not.toMatch(/breaksDeepInside|log\.test/)
  await world.end()
})

test('F-31 log: debug names each step, without messages and results', async () => {
  const { world, lines } = await play()
  const run = await world.sw.runs.start({ agent: 'main', input: 'Pay with words.' })
  await world.until(run.sessionId, (rune) => rune.to === 'waiting_user')
  await world.sw.idle()
  const steps = lines.flatMap(({ level, message }) => (level === 'debug' ? [message] : []))
  expect(steps).toEqual(
    expect.arrayContaining([
      'a run is taken',
      'a model is asked',
      'a model answered',
      'a tool is called',
      'a tool ended',
      'a run is let go',
    ]),
  )
  const debug = JSON.stringify(lines.filter(({ level }) => level === 'debug'))
  for (const content of ['Pay with words', 'refused', 'dead']) expect(debug).not.toContain(content)
  await world.end()
})
