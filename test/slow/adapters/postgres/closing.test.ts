import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { createStatewright } from '../../../../src/app/statewright.ts'
import { agent } from '../../../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../../../src/runtime/scripted-model.ts'
import { tool } from '../../../../src/runtime/tools/define-tool.ts'
import { eventually } from '../../../support/eventually.ts'
import { freshDatabase } from '../../../support/postgres.ts'

const pay = tool({ name: 'money.pay', input: z.object({}), irreversible: true, run: () => 'paid' })

test('library: on PostgreSQL, reads that close() overtakes are refused with a fault, and no rejection is lost', async () => {
  const lost: unknown[] = []
  const hear = (reason: unknown) => void lost.push(reason)
  process.on('unhandledRejection', hear)
  onTestFinished(() => void process.off('unhandledRejection', hear))
  const store = await freshDatabase()
  const answers = new Set<string>()
  for (let turns = 0; turns < 30; turns += 4) {
    // GIVEN a question, and many reads of it under way
    const model = scriptedModel([call('money.pay'), say('done')])
    const sw = await createStatewright({ store, agents: { payer: agent({ role: 'payer', tools: [pay], model }) } })
    const { runId, sessionId } = await sw.runs.start({ agent: 'payer', input: 'pay' })
    const question = await eventually('it asks', async () =>
      (await sw.inbox.list()).find(({ run_id }) => run_id === runId),
    )
    const reads = [
      () => sw.inbox.get(question.interaction_id),
      () => sw.inbox.list(),
      () => sw.runs.show(runId),
      () => sw.sessions.get(sessionId),
      () => sw.sessions.timeline(sessionId),
      () => sw.runelog.read(sessionId),
    ]
    const underWay = Array.from({ length: 60 }, (_, i) =>
      (reads[i % reads.length] as (typeof reads)[number])().then(
        () => 'answered',
        (error: { code?: string }) => error.code ?? String(error),
      ),
    )
    // WHEN the program closes
    for (let turn = 0; turn < turns; turn++) await setImmediate()
    await sw.close()
    for (const answer of await Promise.all(underWay)) answers.add(answer)
  }
  // THEN each read was answered or refused, and the program could catch every refusal
  expect([...answers].filter((answer) => answer !== 'answered' && answer !== 'store_closed')).toEqual([])
  expect(answers).toContain('store_closed')
  expect(lost).toEqual([])
})
