import { expect, onTestFinished, test } from 'vitest'
import { startCuttingProxy } from '../../support/cutting-proxy.ts'
import { eventually } from '../../support/eventually.ts'
import { isProof, sample } from '../../support/sampling.ts'
import { createTally } from '../../support/tally.ts'
import { createWorkplace } from '../../support/workplace.ts'

const tally = createTally()

/** A run that asks takes fewer answers of the database to the worker. */
const answers = Array.from({ length: 120 }, (_, n) => n + 1)

const ways = { 'is lost with its connection': false, 'never comes on a connection that falls silent': true }

test.each(Object.entries(ways))(
  'F-105 worker: the run goes on if any one answer of PostgreSQL %s',
  {
    timeout: 1_200_000,
  },
  async (_way, fallsSilent) => {
    const { url, sw, join } = await createWorkplace({ leaseMs: 1_000 })
    const proxy = await startCuttingProxy(url)
    onTestFinished(proxy.close)
    await join(2, { store: proxy.url, warn: () => {} })
    const took: { readonly answer: number; readonly ms: number }[] = []

    for (const answer of isProof ? answers : sample(answers, fallsSilent ? 2 : 5)) {
      // GIVEN the so-manyth answer from now on is lost: the database did what it was asked
      let left = answer
      const cuts = proxy.cuts()
      proxy.cutAnswer(() => --left === 0, fallsSilent)
      // WHEN a run asks for an approval, and gets it
      const began = performance.now()
      const run = await sw.runs.start({ agent: 'signer', input: 'go' })
      const status = await eventually('the run is over', async () => {
        // A worker that was lost in the middle of the action makes its outcome a question.
        for (const { interaction_id, interaction_kind } of await sw.inbox.list()) {
          const reply = interaction_kind === 'settlement' ? { outcome: 'happened' } : { decision: 'approve' }
          await sw.inbox.reply(interaction_id, { reply })
        }
        const found = await sw.runs.show(run.runId)
        return found.status === 'succeeded' || found.status === 'failed' ? found.status : undefined
      })
      // THEN it comes to its end, long before anyone looks for lost wakes
      expect(status).toBe('succeeded')
      took.push({ answer, ms: Math.round(performance.now() - began) })
      await eventually('the fault fires', async () => (proxy.cuts() > cuts ? true : undefined))
    }

    const slow = took.filter(({ ms }) => ms > 10_000)
    tally.count('lost answers of PostgreSQL', took.length, slow.length)
    console.log(`lost answers: slowest run ${Math.max(...took.map(({ ms }) => ms))} ms`)
    expect(slow).toEqual([])
  },
)
