import { expect, test } from 'vitest'
import { z } from 'zod'
import { createStatewright } from '../../../../src/app/statewright.ts'
import { agent } from '../../../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../../../src/runtime/scripted-model.ts'
import { tool } from '../../../../src/runtime/tools/define-tool.ts'
import { ask, emptyDatabase } from '../../../support/postgres.ts'

const pay = tool({
  name: 'pay.it',
  input: z.object({ order: z.int() }),
  idempotent: true,
  approval: 'always',
  run: ({ order }) => ({ paid: order }),
})
const model = scriptedModel((_, said) => (said === 0 ? call('pay.it', { order: 1 }) : say('paid')))
const agents = { payer: agent({ role: 'payer', model, tools: [pay] }) }

/** The transactions of a database in which two workers did these runs and left, without those that look at it here. */
async function transactions(runs: number): Promise<number> {
  const { url, drop } = await emptyDatabase()
  try {
    const workers = [
      await createStatewright({ store: url, agents, maxConcurrentRuns: 8 }),
      await createStatewright({ store: url, agents, maxConcurrentRuns: 8 }),
    ]
    const client = await createStatewright({ store: url, agents, maxConcurrentRuns: 0 })
    let looks = 0
    const keys = async (condition: string) => {
      looks += 1
      const found = await ask(url, `SELECT key FROM statewright.model_row WHERE ${condition}`)
      return (found as readonly { readonly key: string }[]).map(({ key }) => key)
    }
    const atOnce = async <T>(all: readonly T[], act: (one: T) => Promise<unknown>) => {
      const rest = all.values()
      await Promise.all(Array.from({ length: 16 }, () => Array.fromAsync(rest, act)))
    }
    await atOnce(Array(runs).fill('pay'), (input) => client.runs.start({ agent: 'payer', input }))
    const open = "model = 'open_interactions'"
    await expect.poll(async () => (await keys(open)).length).toBe(runs)
    await atOnce(await keys(open), (id) => client.inbox.reply(id, { reply: { decision: 'approve' } }))
    const succeeded = "model = 'subjects' AND tag = 'run:succeeded'"
    await expect.poll(async () => (await keys(succeeded)).length).toBe(runs)
    for (const each of [...workers, client]) await each.close()
    // A connection reports its transactions when it ends, at the latest.
    const others = 'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()'
    await expect.poll(async () => (await ask(url, others)).length).toBe(0)
    const sql = 'SELECT xact_commit::int AS done FROM pg_stat_database WHERE datname = current_database()'
    const [counted] = (await ask(url, sql)) as readonly { readonly done: number }[]
    return (counted?.done ?? 0) - looks
  } finally {
    await drop()
  }
}

test('PostgreSQL: a run that asks, waits, acts and ends takes few transactions, over all processes', async () => {
  const began = await transactions(1)
  const runs = 200
  const each = ((await transactions(runs + 1)) - began) / runs
  // Eight commits, many of which share one; reads of the session; jobs; and what each commit wakes.
  expect(each).toBeLessThanOrEqual(18)
  expect(each).toBeGreaterThan(1)
})
