import { expect, onTestFinished, test } from 'vitest'
import { drained } from '../../../src/adapters/system/testing.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import type { Model, ModelEvent } from '../../../src/runtime/model.ts'
import type { BudgetOptions } from '../../../src/runtime/options.ts'
import { auditRunes } from '../../support/audit-runes.ts'
import { createWorld } from '../../support/world.ts'

/** Says a word each time it is let, and never ends. */
function endless(word = 'word ') {
  const gate = { open: Promise.withResolvers<void>(), stopped: false }
  const model: Model = {
    id: 'endless',
    async *stream(_, signal): AsyncGenerator<ModelEvent> {
      signal.addEventListener('abort', () => {
        gate.stopped = true
      })
      for (;;) {
        await gate.open.promise
        gate.open = Promise.withResolvers()
        yield { type: 'delta', channel: 'text', text: word }
      }
    },
  }
  const speak = async () => {
    gate.open.resolve()
    await drained()
  }
  return { model, gate, speak }
}

const scopes = ['run', 'agent', 'session'] as const

/** An agent declares its budget in camelCase. */
async function start(scope: (typeof scopes)[number], budget: BudgetOptions, more = {}) {
  const { model, gate, speak } = endless()
  const talker = agent({ role: 'talker', model, ...(scope === 'agent' ? { budget } : {}), ...more })
  const world = await createWorld({ agents: { talker } })
  onTestFinished(() => world.end())
  const run = await world.sw.runs.start({
    agent: 'talker',
    input: 'talk',
    ...(scope === 'run' ? { budget } : {}),
    ...(scope === 'session' ? { sessionBudget: budget } : {}),
  })
  await world.until(run.sessionId, (rune) => rune.kind === 'turn.started')
  await speak()
  return { world, run, gate, speak }
}

type Started = Awaited<ReturnType<typeof start>>

/** The outcome of the run; its text until then is recorded. */
async function ending({ world, run, gate }: Started, scope: string) {
  const kinds = scope === 'run' ? ['turn.error'] : ['turn.interrupted']
  const last = await world.until(run.sessionId, (rune) => kinds.includes(rune.kind))
  await world.sw.idle()
  const runes = await world.runes(run.sessionId)
  expect(gate.stopped).toBe(true)
  expect(last.payload).toMatchObject({ partial_output: expect.stringMatching(/^word /) })
  expect(auditRunes(runes)).toEqual([])
  const { status, error_code } = await world.sw.runs.show(run.runId)
  if (scope === 'session') {
    expect(status).toBe('queued')
    expect(runes.find((rune) => rune.kind === 'session.suspended')?.trigger).toBe('budget_exhausted')
  } else expect({ status, error_code }).toEqual({ status: 'failed', error_code: 'BUDGET_EXHAUSTED' })
  return last.payload
}

test.each(scopes)('F-94 budgets: the wall time of the %s cuts a stream in the middle', async (scope) => {
  const started = await start(scope, { wallTimeMs: 1_000 })
  await started.world.hand.advance(900)
  expect(started.gate.stopped).toBe(false)
  await started.world.hand.advance(200)
  await ending(started, scope)
})

test.each(scopes)('F-94 budgets: the tokens of the %s cut a stream in the middle, by an estimate', async (scope) => {
  const started = await start(scope, { tokens: 5 })
  for (let i = 0; i < 10 && !started.gate.stopped; i++) await started.speak()
  expect(await ending(started, scope)).toMatchObject({
    partial_output: 'word word word word word ',
    usage: { input_tokens: 0, output_tokens: 6 },
  })
})

test('F-94 budgets: the cost of a run cuts a stream in the middle', async () => {
  const price = { inputUsdPerMillion: 0, outputUsdPerMillion: 1_000_000 }
  const started = await start('run', { costUsd: 5 }, { price })
  for (let i = 0; i < 10 && !started.gate.stopped; i++) await started.speak()
  expect(await ending(started, 'run')).toMatchObject({ usage: { output_tokens: 6, cost_usd: 6 } })
})
