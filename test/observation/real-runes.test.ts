import { expect, test } from 'vitest'
import { z } from 'zod'
import type { RunStatus } from '../../src/machines/run.ts'
import { consequenceView, contractHistories } from '../../src/observation/contract.ts'
import { fcmpStream } from '../../src/observation/fcmp.ts'
import { checkFcmp } from '../../src/observation/fcmp-check.ts'
import { graphState } from '../../src/observation/graph-state.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import { auditRunes } from '../support/audit-runes.ts'
import { factOf } from '../support/fact-of.ts'
import { linesOf } from '../support/lines-of.ts'
import { stateAt } from '../support/state-at.ts'
import { createWorld } from '../support/world.ts'

const refund = tool({
  name: 'payments.refund',
  description: 'Pays money back.',
  input: z.object({ order: z.int() }),
  irreversible: true,
  approval: 'always',
  run: ({ order }) => ({ refunded: order }),
})

test('real runes: the views of a real log show asked, approved, done', async () => {
  const model = scriptedModel([call('payments.refund', { order: 42 }), say('Order 42 is refunded.')])
  const world = await createWorld({ agents: { support: agent({ role: 'support', model, tools: [refund] }) } })
  const run = await world.sw.runs.start({ agent: 'support', input: 'Refund order 42', mode: 'interactive' })
  const { sessionId, runId } = run

  const waits = await world.until(sessionId, (rune) => rune.to === 'waiting_user')
  const waiting = await world.runes(sessionId)
  const { interaction_id = '' } = waiting.find((rune) => rune.kind === 'interaction.opened') ?? {}
  expect(graphState(waiting)).toMatchObject({ status: 'suspended', expected_waiting: [expect.any(String)] })
  expect(linesOf(waiting).runLine(runId, waits.at)).toContain(interaction_id)

  await world.sw.inbox.reply(interaction_id, { reply: { decision: 'approve' } })
  await run.result()
  const runes = await world.runes(sessionId)
  expect(auditRunes(runes)).toEqual([])

  const stream = fcmpStream(runes, runId)
  const status = stateAt(runes).get(runId)?.state as RunStatus
  expect(checkFcmp(stream, { runId: runId, status })).toEqual([])
  expect(stream.at(-2)).toMatchObject({ type: 'assistant.message.final', data: { text: 'Order 42 is refunded.' } })
  expect(stream.find((event) => event.type === 'user.input.required')?.data).toMatchObject({ interaction_id })

  const graph = graphState(runes)
  expect(await world.sw.sessions.graphState(sessionId)).toEqual(graph)
  expect(await world.sw.sessions.graphState(sessionId, { atEventId: waits.event_id })).toEqual(graphState(waiting))
  await expect(world.sw.sessions.graphState('ses_none')).rejects.toMatchObject({ code: 'not_found' })
  expect(graph.status).toBe('idle')
  expect(graph.dialogue).toMatchObject([
    { role: 'user', content: 'Refund order 42' },
    { role: 'assistant', calls: [{ name: 'payments.refund', arguments: { order: 42 } }] },
    {
      role: 'tool',
      consequence: {
        consequence_label: 'SUCCESS',
        has_side_effects: true,
        was_suspended: true,
        result: { refunded: 42 },
      },
    },
    { role: 'assistant', text: 'Order 42 is refunded.', calls: [] },
  ])

  const [history] = contractHistories(runes).values()
  if (history === undefined) throw new Error('no contract was opened')
  expect(consequenceView(history).consequence_label).toBe('SUCCESS')
  const recorded = runes.find((rune) => rune.kind === 'memory.committed')
  expect(recorded?.payload).toEqual(factOf(history))
  await world.end()
})
