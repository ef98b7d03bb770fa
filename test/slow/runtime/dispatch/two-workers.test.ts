import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Statewright } from '../../../../src/app/statewright.ts'
import { isFault } from '../../../../src/faults/catalogue.ts'
import type { Rune } from '../../../../src/runes/rune.ts'
import { readWitness } from '../../../support/worker-agents.ts'
import type { WorkerProcess } from '../../../support/worker-process.ts'
import type { Said } from '../../../support/worker-program.ts'
import { createWorkplace } from '../../../support/workplace.ts'

const lease_ms = 1_000

/** Answers every question about a payment with what the world outside knows, as soon as that may be said. */
async function settleTruthfully(sw: Statewright, witness: string, answers: Map<string, number>) {
  for (const { interaction_id, call_id, session_id } of await sw.inbox.list()) {
    const contract = (await sw.runelog.read(session_id)).find(
      (r) => r.kind === 'contract.opened' && r.call_id === call_id,
    )
    const execution_id = contract?.execution_id ?? ''
    const happened = readWitness(witness).some((effect) => effect.execution_id === execution_id)
    const reply = happened ? { outcome: 'happened' } : { outcome: 'did_not', reason: 'the bank knows of none' }
    const outcome = await sw.inbox.reply(interaction_id, { reply }).then(
      () => reply.outcome,
      (error) => {
        if (isFault(error, 'too_early') && error.details.worker !== null) return 'at_work'
        if (isFault(error, 'too_early', 'interaction_closed')) return error.code
        throw error
      },
    )
    answers.set(outcome, (answers.get(outcome) ?? 0) + 1)
  }
}

/** Appends that were acknowledged although, by the log, someone else held the run by then. */
function staleAppends(workers: readonly WorkerProcess[], logs: ReadonlyMap<string, readonly Rune[]>): readonly Said[] {
  return workers.flatMap(({ said }) =>
    said.filter((s) => {
      if (s.said !== 'recorded') return false
      const before = (logs.get(s.session_id) ?? []).filter((rune) => rune.event_id < (s.event_ids[0] ?? 0))
      const last = before.findLast(
        (r) => r.kind === 'run.moved' && r.run_id === s.run_id && r.payload.epoch !== undefined,
      )
      return last?.kind !== 'run.moved' || last.payload.epoch !== s.epoch
    }),
  )
}

async function logsOf(sw: Statewright): Promise<ReadonlyMap<string, readonly Rune[]>> {
  const ids = await sw.runelog.sessionIds()
  return new Map(await Promise.all(ids.map(async (id) => [id, await sw.runelog.read(id)] as const)))
}

test('two workers: 200 payments on two workers, one of them stopped between the record and the deed: none is made twice', async () => {
  const runs = 200
  const { witness, sw, start } = await createWorkplace({ leaseMs: lease_ms })
  const [stopped, other] = [await start(16, { stop_at_payment: 40 }), await start(16)]
  const begun = Date.now()
  const handles = await Promise.all(
    Array.from({ length: runs }, (_, order) => sw.runs.start({ agent: 'payer', input: order })),
  )
  const order = (run_id: string) => handles.findIndex((handle) => handle.runId === run_id)

  // It stops right after the commit that begins a payment, and stays stopped past its lease.
  const at = await stopped.until((s) => s.said === 'stopping')
  const answers = new Map<string, number>()
  const results = Promise.all(handles.map((handle) => handle.result()))
  let isOver = false
  void results.finally(() => {
    isOver = true
  })
  const stoppedAt = Date.now()
  let continuedAt = 0
  while (!isOver || continuedAt === 0) {
    await settleTruthfully(sw, witness, answers)
    // The payment was recorded as at work with the commit that began it, so "it did not happen" is refused while its worker
    // is stopped. The first one wakes only then: it calls no tool, and reports that.
    if (answers.has('at_work') && continuedAt === 0) {
      expect(readWitness(witness).filter((effect) => effect.order === order(at.run_id))).toEqual([])
      stopped.signal('SIGCONT')
      continuedAt = Date.now()
    }
    await delay(50)
  }
  const took = Date.now() - begun
  // Its append after it woke, with its old epoch, was refused.
  await stopped.until((s): s is Extract<Said, { said: 'refused' }> => s.said === 'refused' && s.code === 'stale_fence')
  stopped.signal('SIGTERM')
  other.signal('SIGTERM')
  expect([await stopped.over, await other.over]).toEqual([0, 0])

  const logs = await logsOf(sw)
  const effects = readWitness(witness)
  const about = logs.get(at.session_id) ?? []
  // The fault fired: the lease was over, the run was requeued, and its begun call was settled as not done.
  expect(continuedAt - stoppedAt).toBeGreaterThan(lease_ms)
  expect(about.filter((r) => r.trigger === 'restart.requeued').map((r) => r.actor)).toContain('recovery')
  expect(about.find((r) => r.execution_id === at.execution_id && r.to === 'failed')).toBeDefined()
  expect(effects.filter((e) => e.execution_id === at.execution_id)).toEqual([])
  expect(answers.get('did_not')).toBeGreaterThan(0)

  expect((await results).filter(({ status }) => status !== 'succeeded')).toEqual([])
  expect(effects.map((effect) => effect.order).toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: runs }, (_, i) => i),
  )
  expect(staleAppends([stopped, other], logs)).toEqual([])
  expect(await sw.inbox.list()).toEqual([])
  const shares = [stopped, other].map(({ pid }) => effects.filter((effect) => effect.pid === pid).length)
  const stale = stopped.said.filter((s) => s.said === 'refused' && s.code === 'stale_fence').length
  console.log(
    `${runs} payments in ${took} ms, ${shares.join(' and ')} by each worker; stopped for ${continuedAt - stoppedAt} ms; ` +
      `answers: ${JSON.stringify(Object.fromEntries(answers))}; ${stale} stale appends refused`,
  )
})
