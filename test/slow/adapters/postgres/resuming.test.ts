import { expect, test } from 'vitest'
import { z } from 'zod'
import { createStatewright } from '../../../../src/app/statewright.ts'
import { agent } from '../../../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../../../src/runtime/scripted-model.ts'
import { tool } from '../../../../src/runtime/tools/define-tool.ts'
import { ask, freshDatabase } from '../../../support/postgres.ts'

const url = await freshDatabase()
/** The rows of the effects at work, as each call of the tool finds them, and the transactions since the commit before. */
const found: unknown[] = []
const pay = tool({
  name: 'pay.it',
  input: z.object({ order: z.int() }),
  irreversible: true,
  approval: 'always',
  async run(_, { executionId }) {
    const sql = `SELECT e.worker = l.worker AND e.xmin = s.xmin AS is_of_commit FROM statewright.effect e, statewright.lease l,
      statewright.session s WHERE e.execution_id = $1 AND s.session_id = (SELECT value::json ->> 'session_id'
        FROM statewright.model_row WHERE model = 'subjects' AND key = $1) AND l.run_id IN (SELECT key
        FROM statewright.model_row WHERE model = 'subjects' AND tag = 'run:running')`
    found.push(...(await ask(url, sql, [executionId])))
    return 'paid'
  },
})
const model = scriptedModel((_, said) => (said === 0 ? call('pay.it', { order: 1 }) : say('paid')))
const agents = { payer: agent({ role: 'payer', model, tools: [pay] }) }
const open = (worker: string, maxConcurrentRuns: number) =>
  createStatewright({ store: url, agents, maxConcurrentRuns, settings: { worker } })

test.each([
  ['that waits without limit', true],
  ['that waits until a deadline', false],
])(
  'PostgreSQL: the worker that parked a run %s resumes it without its job, with the effect in the same commit',
  async (_, strict) => {
    const workers = [await open('alpha', 4), await open('beta', 4)]
    const client = await open('gamma', 0)
    for (let i = 0; i < 8; i++) {
      const run = await client.runs.start({ agent: 'payer', input: 'pay', interactiveRequireUserReply: strict })
      await expect.poll(async () => (await client.inbox.list()).length).toBe(1)
      const [{ interaction_id } = { interaction_id: '' }] = await client.inbox.list()
      const { digest, deadline } = await client.inbox.get(interaction_id)
      expect(deadline === null).toBe(strict)
      await client.inbox.approve(interaction_id, { digest: digest ?? '' })
      expect(await run.result()).toMatchObject({ status: 'succeeded' })
      const runes = await client.runelog.read(run.sessionId)
      const takers = runes.flatMap(({ kind, payload }) =>
        kind === 'run.moved' && 'worker' in payload ? [payload.worker] : [],
      )
      expect(takers).toEqual([takers[0], takers[0]])
      expect(found.splice(0)).toEqual([{ is_of_commit: true }])
      expect(await ask(url, 'SELECT 1 FROM statewright_jobs.jobs WHERE key = $1', [run.runId])).toEqual([])
    }
    for (const each of [...workers, client]) await each.close()
  },
)

test('PostgreSQL: a run whose worker is gone is resumed by another one', async () => {
  const first = await open('delta', 4)
  const client = await open('epsilon', 0)
  const run = await client.runs.start({ agent: 'payer', input: 'pay' })
  await expect.poll(async () => (await client.inbox.list()).length).toBe(1)
  await first.close()
  const second = await open('zeta', 4)
  const [{ interaction_id } = { interaction_id: '' }] = await client.inbox.list()
  const { digest } = await client.inbox.get(interaction_id)
  await client.inbox.approve(interaction_id, { digest: digest ?? '' })
  expect(await run.result()).toMatchObject({ status: 'succeeded' })
  for (const each of [second, client]) await each.close()
})
