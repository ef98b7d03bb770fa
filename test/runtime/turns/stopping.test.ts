import { expect, test } from 'vitest'
import { agent } from '../../../src/runtime/define-agent.ts'
import type { Model, ModelEvent } from '../../../src/runtime/model.ts'
import { auditRunes } from '../../support/audit-runes.ts'
import { createWorld } from '../../support/world.ts'

const broken: ModelEvent = { type: 'error', errorType: 'overloaded', message: 'No.', retryable: false }
const calls: ModelEvent = { type: 'tool_call', name: 'no.such', arguments: {} }
const done: ModelEvent = { type: 'done', finish: 'stop' }

/** A model that is asked to stop, and whose last words are on their way already. */
function deaf(words: readonly ModelEvent[], turn: number, asked: () => Promise<unknown>): Model {
  let streams = 0
  return {
    id: 'deaf',
    async *stream() {
      yield { type: 'delta', channel: 'text', text: 'Well' }
      if (++streams === turn) await asked()
      for (const word of words) yield word
    },
  }
}

test.each([
  ['breaks', 'cancel', [broken], 1],
  ['breaks', 'interrupt', [broken], 1],
  ['makes one round of calls too many', 'cancel', [calls, done], 2],
  ['is through', 'interrupt', [done], 1],
] as const)(
  'stopping: a run whose model %s while a request to %s it is being recorded is canceled',
  async (_, by, words, turn) => {
    const asked = Promise.withResolvers<unknown>()
    // The request is under way and not recorded yet: the stream is not told to stop.
    const ask = async () => {
      asked.resolve(world.sw.runs[by](run.runId))
    }
    const model = deaf(words, turn, ask)
    const world = await createWorld({ agents: { worker: agent({ role: 'worker', model, maxRounds: 1 }) } })
    const run = await world.sw.runs.start({ agent: 'worker', input: 'go' })
    expect(await asked.promise).toMatchObject({ accepted: true })
    expect(await run.result()).toMatchObject({ status: 'canceled' })
    expect(auditRunes(await world.runes(run.sessionId))).toEqual([])
    await world.end()
  },
)
