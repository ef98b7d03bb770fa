import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { createMembers } from '../../../../src/adapters/postgres/members.ts'
import { subjects } from '../../../../src/runelog/models.ts'
import type { Rune } from '../../../../src/runes/rune.ts'
import { agent } from '../../../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../../../src/runtime/scripted-model.ts'
import { eventually } from '../../../support/eventually.ts'
import { ask } from '../../../support/postgres.ts'
import { createWorkplace } from '../../../support/workplace.ts'

const taken = (runes: readonly Rune[], run_id: string) =>
  runes.filter((r): r is Rune<'run.moved'> => r.kind === 'run.moved' && r.run_id === run_id && r.to === 'running')

test('worker lost: runs of a killed worker go on with another one within 10 s', async () => {
  // The usual lease, since it is the usual time that counts.
  const { sw, start, gate, openGate } = await createWorkplace({ leaseMs: 5_000 })
  const runs = 8
  const alpha = await start(runs, { settings: { leaseMs: 5_000, worker: 'alpha' } })
  const work = { agent: 'reader', input: { pages: 3, ms: 100, gate } }
  const handles = await Promise.all(Array.from({ length: runs }, () => sw.runs.start(work)))
  const logs = () => Promise.all(handles.map(({ sessionId }) => sw.runelog.read(sessionId)))
  await eventually('all are taken', async () =>
    (await logs()).every((log, i) => taken(log, handles[i]?.runId ?? '').length > 0) ? true : undefined,
  )
  await start(runs, { settings: { leaseMs: 5_000, worker: 'beta' } })
  const killed_at = Date.now()
  alpha.signal('SIGKILL')
  expect(await alpha.over).toBe('SIGKILL')
  const lost = (await sw.runelog.rows(subjects, { tag: 'run:running' })).map(({ key }) => key)
  expect(lost.toSorted()).toEqual(handles.map(({ runId }) => runId).toSorted())
  openGate()

  const results = await Promise.all(handles.map((handle) => handle.result()))
  expect(results.map(({ result }) => result)).toEqual(handles.map(() => 'read 3 pages'))
  const after = (await logs()).flat()
  const gaps = lost.map((run_id) => {
    const moves = taken(after, run_id)
    expect(moves.map(({ payload }) => payload.worker?.split('_')[0])).toEqual(['alpha', 'beta'])
    return (moves[1]?.at ?? Number.POSITIVE_INFINITY) - killed_at
  })
  console.log(`${lost.length} runs of the killed worker went on after ${Math.min(...gaps)} to ${Math.max(...gaps)} ms`)
  expect(Math.max(...gaps)).toBeLessThan(10_000)
})

test('worker lost: a worker that is told to stop hands its runs over at once', async () => {
  const lease_ms = 30_000
  const { sw, join, gate, openGate } = await createWorkplace({ leaseMs: lease_ms })
  const alpha = await join(4, { settings: { leaseMs: lease_ms, worker: 'alpha', cancelGraceMs: 50 } })
  const handle = await sw.runs.start({ agent: 'reader', input: { pages: 2, ms: 100, gate } })
  const log = () => sw.runelog.read(handle.sessionId)
  await eventually('it reads', async () => (await log()).find((r) => r.kind === 'contract.moved'))
  await join(4, { settings: { leaseMs: lease_ms, worker: 'beta' } })
  const told_at = Date.now()
  await alpha.close()
  openGate()
  expect(await handle.result()).toMatchObject({ status: 'succeeded', result: 'read 2 pages' })
  const moves = taken(await log(), handle.runId)
  expect(moves.map(({ payload }) => payload.worker?.split('_')[0])).toEqual(['alpha', 'beta'])
  // Far less than a lease: it did not have to run out.
  expect((moves[1]?.at ?? 0) - told_at).toBeLessThan(lease_ms / 3)
})

test('deadlines: a deadline that passes without a worker is applied by the next worker', async () => {
  const reply_timeout_ms = 3_000
  const { url, sw, start } = await createWorkplace({ leaseMs: 1_000, replyTimeoutMs: reply_timeout_ms })
  const first = await start(4)
  const handle = await sw.runs.start({ agent: 'signer', input: 'go', interactiveRequireUserReply: false })
  const question = await eventually('it asks', async () => (await sw.inbox.list())[0])
  const deadline = question.deadline ?? 0
  first.signal('SIGKILL')
  await first.over
  const jobs = await ask(url, `SELECT run_at FROM statewright_jobs.jobs WHERE key = $1`, [question.interaction_id])
  expect(jobs).toEqual([{ run_at: new Date(deadline) }])
  await eventually('the deadline has passed', async () => (Date.now() > deadline ? true : undefined))
  expect((await sw.inbox.list()).map(({ interaction_id }) => interaction_id)).toEqual([question.interaction_id])

  await start(4)
  const { status, result } = await handle.result()
  expect({ status, result }).toEqual({ status: 'succeeded', result: 'CANCELLED' })
  const log = await sw.runelog.read(handle.sessionId)
  expect(log.filter((r) => r.kind === 'interaction.expired').map((r) => r.actor)).toEqual(['timer'])
  expect(log.filter((r) => r.trigger === 'interaction.auto_decide.timeout')).toHaveLength(1)
})

test('worker lost: a deadline that lies ahead fires on time in a process that never heard of the question', async () => {
  const { sw, join } = await createWorkplace({ leaseMs: 1_000, replyTimeoutMs: 3_000 })
  const first = await join(4)
  const handle = await sw.runs.start({ agent: 'signer', input: 'go', interactiveRequireUserReply: false })
  const { deadline } = await eventually('it asks', async () => (await sw.inbox.list())[0])
  await first.close()
  await join(4)
  await handle.result()
  const expired = (await sw.runelog.read(handle.sessionId)).find((r) => r.kind === 'interaction.expired')
  const late = (expired?.at ?? 0) - (deadline ?? 0)
  console.log(`the deadline was applied ${late} ms after it had passed`)
  expect(late).toBeGreaterThanOrEqual(0)
  expect(late).toBeLessThan(1_500)
})

test('worker lost: jobs that a dead worker had fetched are brought to another one within seconds', async () => {
  const { url, sw, join } = await createWorkplace({ leaseMs: 1_000 })
  await join(4)
  await ask(url, `INSERT INTO statewright.worker VALUES ('dead', 'pool-dead', now() + interval '1 second')`)
  // As a worker leaves it that dies between fetching the job and taking the run: the queue would keep it for 4 hours.
  await ask(
    url,
    `CREATE FUNCTION fetched() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN NEW.locked_by := 'pool-dead'; NEW.locked_at := now(); NEW.attempts := 1; RETURN NEW; END $$;
     CREATE TRIGGER fetched BEFORE INSERT ON statewright_jobs._private_jobs FOR EACH ROW EXECUTE FUNCTION fetched()`,
  )
  const handle = await sw.runs.start({ agent: 'signer', input: 'go', mode: 'auto' })
  await ask(url, 'DROP TRIGGER fetched ON statewright_jobs._private_jobs')
  expect(await ask(url, 'SELECT locked_by FROM statewright_jobs.jobs')).toEqual([{ locked_by: 'pool-dead' }])
  const begun = Date.now()
  expect((await handle.result()).status).toBe('succeeded')
  console.log(`the job of a dead worker was free again after ${Date.now() - begun} ms`)
  expect(Date.now() - begun).toBeLessThan(5_000)
  await eventually('its row is gone', async () =>
    (await ask(url, `SELECT worker FROM statewright.worker WHERE worker = 'dead'`)).length === 0 ? true : undefined,
  )
})

test('worker lost: the jobs of a dead worker are freed only after its leases have ended', async () => {
  // GIVEN a worker whose row has just run out
  const lease_ms = 40_000
  const { url } = await createWorkplace({ leaseMs: lease_ms })
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  onTestFinished(() => pool.end())
  const members = createMembers(pool, lease_ms)
  const expired = (ago: string) =>
    ask(url, `UPDATE statewright.worker SET expires_at = now() - interval '${ago}' WHERE worker = 'dead'`)
  await ask(url, `INSERT INTO statewright.worker VALUES ('dead', 'pool-dead', now())`)

  // WHEN the dead are looked for
  // THEN it is left alone for a moment, and counts as dead after that
  await expired('200 milliseconds')
  expect(await members.bury()).toBe(0)
  await expired('20 seconds')
  expect(await members.bury()).toBe(1)
})

test('deadlines: a deadline that a lost worker had fetched is given to another worker', async () => {
  const { url, sw, join } = await createWorkplace({ leaseMs: 1_000, replyTimeoutMs: 3_000 })
  const first = await join(4)
  const handle = await sw.runs.start({ agent: 'signer', input: 'go', interactiveRequireUserReply: false })
  const { interaction_id } = await eventually('it asks', async () => (await sw.inbox.list())[0])
  await first.close()
  // It died before it had registered: the queue would keep what it had for 4 hours.
  const fetched = await ask(
    url,
    `UPDATE statewright_jobs._private_jobs SET locked_by = 'pool-unknown', locked_at = now(), attempts = 1
      WHERE key = $1 RETURNING id`,
    [interaction_id],
  )
  expect(fetched).toHaveLength(1)
  await join(4)
  expect(await handle.result()).toMatchObject({ status: 'succeeded', result: 'CANCELLED' })
})

test('worker lost: nothing is at rest while a run has lost its worker', async () => {
  const { url, sw, start, join, gate, openGate } = await createWorkplace({ leaseMs: 1_000 })
  const alpha = await start(4)
  const handle = await sw.runs.start({ agent: 'reader', input: { pages: 5, ms: 20, gate } })
  await eventually('it reads', async () =>
    (await sw.runelog.read(handle.sessionId)).find((rune) => rune.kind === 'contract.moved'),
  )
  const beta = await join(4)
  alpha.signal('SIGKILL')
  await alpha.over
  // Not even a job is left that would tell of it.
  await ask(url, 'DELETE FROM statewright_jobs._private_jobs')
  await ask(url, 'DELETE FROM statewright.lease')
  openGate()
  await beta.idle()
  expect((await sw.runs.show(handle.runId)).status).toBe('succeeded')
})

test('worker lost: a run whose wake was lost altogether is found', async () => {
  const { url, sw, join } = await createWorkplace({ leaseMs: 1_000 })
  const handle = await sw.runs.start({ agent: 'signer', input: 'go', mode: 'auto' })
  await ask(url, 'DELETE FROM statewright_jobs._private_jobs')
  await join(4)
  expect((await handle.result()).status).toBe('succeeded')
})

// biome-ignore format: one row per way to lose a wake
const late = {
  'failed so often that it is due in an hour': `attempts = 8, run_at = now() + interval '1 hour'`,
  'was fetched long ago by a worker that lives':
    `locked_by = (SELECT pool FROM statewright.worker), locked_at = now() - interval '1 minute', attempts = 1`,
}
for (const [what, change] of Object.entries(late)) {
  test(`F-105 lost wakes: a run whose job ${what} is taken now`, async () => {
    const { url, sw, join } = await createWorkplace({ leaseMs: 5_000 })
    // GIVEN a worker without the agent, which is alive and brings the run to no one
    await join(1, { agents: { other: agent({ role: 'other', model: scriptedModel([]) }) }, warn: () => {} })
    const handle = await sw.runs.start({ agent: 'signer', input: 'go', mode: 'auto' })
    const spoilt = await eventually('its job waits', async () => {
      const jobs = await ask(
        url,
        `UPDATE statewright_jobs._private_jobs SET ${change} WHERE key = $1 AND locked_at IS NULL RETURNING id`,
        [handle.runId],
      )
      return jobs.length > 0 ? jobs : undefined
    })
    expect(spoilt).toHaveLength(1)
    // WHEN another one begins, which looks for lost wakes
    await join(1)
    // THEN it has the run
    expect((await handle.result()).status).toBe('succeeded')
  })
}

test('worker lost: a deadline whose wake was lost altogether, as with a queue that was not restored, is applied', async () => {
  const { url, sw, join } = await createWorkplace({ leaseMs: 1_000, replyTimeoutMs: 1_000 })
  const first = await join(4)
  const handle = await sw.runs.start({ agent: 'signer', input: 'go', interactiveRequireUserReply: false })
  await eventually('it asks', async () => (await sw.inbox.list())[0])
  await first.close()
  await ask(url, 'DELETE FROM statewright_jobs._private_jobs')
  await join(4)
  expect(await handle.result()).toMatchObject({ status: 'succeeded', result: 'CANCELLED' })
})

test('worker lost: only the first process looks after waiting interactions', async () => {
  const { agents, sw, join } = await createWorkplace({ leaseMs: 30_000 })
  const first = await join(4)
  const { sessionId, runId } = await sw.runs.start({ agent: 'signer', input: 'go' })
  await eventually('it asks', async () => (await sw.inbox.list())[0])
  const restarts = async () =>
    (await sw.runelog.read(sessionId)).flatMap((r) => (r.trigger?.startsWith('restart.') ? [r.trigger] : []))

  const second = await join(4)
  expect(await restarts()).toEqual([])
  await Promise.all([first.close(), second.close()])
  const third = await join(4)
  // A start touches no run that waits; the first command that does finds it preserved.
  expect(await restarts()).toEqual([])
  await third.close()
  // On a cold start no other process can have the agent.
  const { signer: _, ...others } = agents
  await join(4, { agents: others })
  expect(await restarts()).toEqual(['restart.reconcile_failed'])
  expect((await (await sw.runs.get(runId)).result()).errorCode).toBe('SESSION_RESUME_FAILED')
})

test('worker lost: a worker that lacks an agent leaves its runs to workers that have it', async () => {
  const { agents, sw, join } = await createWorkplace({ leaseMs: 1_000 })
  const { signer: _, ...others } = agents
  const warnings: string[] = []
  await join(4, { agents: others, warn: (_message, details) => warnings.push(JSON.stringify(details)) })
  const handle = await sw.runs.start({ agent: 'signer', input: 'go', mode: 'auto' })
  await eventually('the job came and went', async () => warnings.find((w) => w.includes('signer')))
  await join(4)
  expect((await handle.result()).status).toBe('succeeded')
})

test('worker lost: a run that is brought again while it only waits takes no place from those that it waits for', async () => {
  const { url, agents, join } = await createWorkplace({ leaseMs: 1_000 })
  const model = scriptedModel([call('delegate.signer', { task: 'go' }), say('done')])
  const lead = agent({ role: 'lead', delegates: ['signer'], model })
  const worker = await join(1, { agents: { ...agents, lead } })
  const { sessionId, runId, result } = await worker.runs.start({ agent: 'lead', input: 'go' })
  const { interaction_id } = await eventually('it asks', async () => (await worker.inbox.list())[0])
  const job = JSON.stringify({ session_id: sessionId, run_id: runId })
  await ask(url, `SELECT statewright_jobs.add_job('run', $1::json, job_key := $2)`, [job, runId])
  await eventually('it was brought again', async () => {
    const waiting = await ask(url, 'SELECT 1 FROM statewright_jobs.jobs WHERE key = $1 AND locked_at IS NULL', [runId])
    return waiting.length === 0 ? true : undefined
  })
  await worker.inbox.reply(interaction_id, { reply: { decision: 'approve' } })
  expect(await result()).toMatchObject({ status: 'succeeded', result: 'done' })
})
