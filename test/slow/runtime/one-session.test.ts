import { expect, test } from 'vitest'
import type { Rune } from '../../../src/runes/rune.ts'
import { auditRunes } from '../../support/audit-runes.ts'
import { eventually } from '../../support/eventually.ts'
import { verifierOf } from '../../support/verifier.ts'
import { sideBySide } from '../../support/worker-agents.ts'
import { createWorkplace } from '../../support/workplace.ts'

/** Nothing here waits for a lease to run out, and none does. */
const lease_ms = 30_000

test('one session: 8 agents work at once in one session, on two workers: no gap, no lost result, no starvation', async () => {
  const { sw, start } = await createWorkplace({ leaseMs: lease_ms })
  const rounds = 3
  const [alpha, beta] = await Promise.all(
    ['alpha', 'beta'].map((worker) => start(4, { settings: { leaseMs: lease_ms, worker } })),
  )
  const { sessionId } = await sw.sessions.create({ agent: 'reader_0' })
  const handles = await Promise.all(
    sideBySide.flatMap((agent, i) =>
      Array.from({ length: rounds }, () => sw.runs.start({ agent, input: { pages: 3 + (i % 3), ms: 5 }, sessionId })),
    ),
  )
  const begun = Date.now()
  const results = await Promise.all(handles.map((handle) => handle.result()))
  const took = Date.now() - begun

  expect(results.map(({ status, result }) => `${status}: ${result}`)).toEqual(
    sideBySide.flatMap((_, i) => Array(rounds).fill(`succeeded: read ${3 + (i % 3)} pages`)),
  )
  const log = await sw.runelog.read(sessionId)
  expect(log.map((rune) => rune.event_id)).toEqual(log.map((_, i) => i + 1))
  expect(auditRunes(log)).toEqual([])
  const verifier = verifierOf(sessionId)
  for await (const record of sw.runelog.records(sessionId)) expect(verifier.take(record)).toBeUndefined()
  expect(verifier.end()).toBeUndefined()

  // Every call has its one result, and each agent's runs came one after the other, in the order of their submission.
  const calls = log.filter((r) => r.kind === 'tool.call').map((r) => r.call_id)
  expect(
    log
      .filter((r) => r.kind === 'tool.result')
      .map((r) => r.call_id)
      .toSorted(),
  ).toEqual(calls.toSorted())
  const isTaking = (r: Rune): r is Rune<'run.moved'> => r.kind === 'run.moved' && r.to === 'running'
  const taken = log.filter(isTaking)
  for (const [i] of sideBySide.entries()) {
    const ours = handles.slice(i * rounds, (i + 1) * rounds).map(({ runId }) => runId)
    const submitted = log.filter((r) => r.kind === 'run.submitted' && ours.includes(r.run_id ?? ''))
    expect(taken.filter((r) => ours.includes(r.run_id ?? '')).map((r) => r.run_id)).toEqual(
      submitted.map((r) => r.run_id),
    )
  }
  const shares = ['alpha', 'beta'].map((name) => taken.filter((r) => r.payload.worker?.startsWith(name)).length)
  expect(Math.min(...shares)).toBeGreaterThan(0)
  console.log(
    `${handles.length} runs of 8 agents, ${log.length} runes in ${took} ms; ${shares.join(' and ')} runs by each worker`,
  )
  for (const worker of [alpha, beta]) expect(worker?.said.filter((s) => s.said === 'warned')).toEqual([])
})

test('one session: a request reaches the process that holds the run at once', async () => {
  const { sw, join } = await createWorkplace({ leaseMs: lease_ms })
  await join(8)
  const streaming = async (session_id: string, turns = 1) =>
    eventually('it speaks', async () => {
      const log = await sw.runelog.read(session_id)
      return log.filter((r) => r.kind === 'turn.started').length === turns ? log : undefined
    })
  const begin = async () => {
    const handle = await sw.runs.start({ agent: 'speaker', input: 'go' })
    await streaming(handle.sessionId)
    return handle
  }

  const [cancelled, interrupted, steered] = [await begin(), await begin(), await begin()]
  const asked_at = Date.now()
  await Promise.all([cancelled.cancel('enough'), interrupted.interrupt('enough'), steered.steer('end')])
  const results = await Promise.all([cancelled, interrupted, steered].map((handle) => handle.result()))
  console.log(`three requests were obeyed within ${Date.now() - asked_at} ms`)
  expect(results.map(({ status }) => status)).toEqual(['canceled', 'canceled', 'succeeded'])
  // Before a lease is so much as renewed: it was told.
  expect(Date.now() - asked_at).toBeLessThan(lease_ms / 3)
  for (const { sessionId } of [cancelled, interrupted, steered]) {
    const log = await sw.runelog.read(sessionId)
    expect(log.filter((r) => r.kind === 'run.requested')).toHaveLength(1)
    expect(log.filter((r) => r.trigger === 'restart.requeued')).toEqual([])
    expect(auditRunes(log)).toEqual([])
  }
})

test('one session: a session is closed by a process that holds none of its runs', async () => {
  const { sw, join } = await createWorkplace({ leaseMs: lease_ms })
  await join(8)
  const { sessionId, runId } = await sw.runs.start({ agent: 'speaker', input: 'go' })
  await eventually('it speaks', async () => (await sw.runelog.read(sessionId)).find((r) => r.kind === 'turn.started'))
  await sw.sessions.close(sessionId)
  const log = await sw.runelog.read(sessionId)
  expect(log.at(-1)?.kind).toBe('session.closed')
  expect(log.filter((r) => r.kind === 'run.moved' && r.run_id === runId).at(-1)?.to).toBe('canceled')
  expect(auditRunes(log)).toEqual([])
})

test('one session: runs wait while their session is paused, and go on in any process when it is resumed', async () => {
  const { sw, join } = await createWorkplace({ leaseMs: lease_ms })
  await join(8)
  const { sessionId } = await sw.sessions.create({ agent: 'reader' })
  const first = await sw.runs.start({ agent: 'reader', input: { pages: 1, ms: 1 }, sessionId })
  await first.result()
  await sw.sessions.pause(sessionId)
  const handles = await Promise.all(
    ['reader', 'reader', 'reader_1'].map((agent) => sw.runs.start({ agent, input: { pages: 1, ms: 1 }, sessionId })),
  )
  await sw.idle()
  for (const { runId } of handles) expect((await sw.runs.show(runId)).status).toBe('queued')
  await sw.sessions.resume(sessionId)
  const results = await Promise.all(handles.map((handle) => handle.result()))
  expect(results.map(({ status }) => status)).toEqual(['succeeded', 'succeeded', 'succeeded'])
})
