import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import type { Statewright } from '../../../../src/app/statewright.ts'
import { Fault } from '../../../../src/faults/fault.ts'
import { concurrently } from '../../../support/concurrent.ts'
import { eventually } from '../../../support/eventually.ts'
import { ask } from '../../../support/postgres.ts'
import { begunPath, pay_timeout_ms, readWitness } from '../../../support/worker-agents.ts'
import { createWorkplace } from '../../../support/workplace.ts'

const lease_ms = 1_000
const named = (worker: string) => ({ settings: { leaseMs: lease_ms, worker, cancelGraceMs: 50 } })

/** The executions that a tool has begun with. */
const begun = (witness: string) =>
  readFileSync(begunPath(witness), { encoding: 'utf8', flag: 'a+' })
    .split('\n')
    .filter((line) => line !== '')

const toolBegins = (witness: string) => eventually('the tool has begun', async () => begun(witness)[0], 20_000)

const question = (sw: Statewright) => eventually('a person is asked', async () => (await sw.inbox.list())[0], 20_000)

/** Says that it did not happen: undefined if that is accepted, else the fault that refused it. */
const didNot = (sw: Statewright, interaction_id: string): Promise<Fault | undefined> =>
  sw.inbox.reply(interaction_id, { reply: { outcome: 'did_not', reason: 'the bank knows of none' } }).then(
    () => undefined,
    (error) => {
      if (error instanceof Fault) return error
      throw error
    },
  )

/** The time is over after which 0.1 took anyone's word for it. */
async function timeIsOver(sw: Statewright, session_id: string) {
  const started = (await sw.runelog.read(session_id)).find((r) => r.kind === 'contract.moved' && r.to === 'running')
  const over = (started?.at ?? 0) + pay_timeout_ms + lease_ms + 100
  await eventually('the time is over', async () => Date.now() > over || undefined)
}

concurrently('F-100 effects: "did not happen" is refused while the tool is at work in another process', async () => {
  const { sw, witness, start, gate, openGate } = await createWorkplace({ leaseMs: lease_ms })
  // GIVEN a tool that was given up after its timeout, is deaf to its signal, and is still at it in its worker
  await start(4, named('alpha'))
  const run = await sw.runs.start({ agent: 'wirer', input: { order: 1, gate, heeds: false } })
  await toolBegins(witness)
  const { interaction_id } = await question(sw)
  await timeIsOver(sw, run.sessionId)

  // WHEN another process is told that it did not happen
  const refused = await didNot(sw, interaction_id)
  // THEN that is refused, and the refusal says because of whom
  expect(refused).toMatchObject({ code: 'too_early', details: { worker: expect.stringMatching(/^alpha/) } })
  expect(refused?.message).toMatch(/session lock in the database is free and its lease has ended/)

  // WHEN the tool acts after all, and returns
  openGate()
  await eventually('it has acted', async () => readWitness(witness)[0])
  // THEN its worker's word counts in every process
  const told = await eventually('the worker has reported', async () => {
    const fault = await didNot(sw, interaction_id)
    return fault?.code === 'too_early' ? undefined : fault
  })
  expect(told).toMatchObject({ code: 'reply_unfit' })
  // AND what it returned is shown to the person who settles it
  expect((await sw.inbox.get(interaction_id)).evidence.at(-1)).toMatchObject({ source: 'tool', reported: 'done' })
  await sw.inbox.reply(interaction_id, { reply: { outcome: 'happened' } })
  expect(await run.result()).toMatchObject({ status: 'succeeded', result: 'wired' })
  expect(readWitness(witness)).toHaveLength(1)
})

concurrently(
  'F-100 effects: "did not happen" is accepted once the database shows that the worker is gone',
  async () => {
    const { url, sw, witness, start, gate, openGate } = await createWorkplace({ leaseMs: lease_ms })
    const alpha = await start(4, named('alpha'))
    const run = await sw.runs.start({ agent: 'wirer', input: { order: 1, gate, heeds: true } })
    const first = await toolBegins(witness)
    // GIVEN that it is on record as at work before the tool is called
    expect(await ask(url, 'SELECT execution_id, is_done FROM statewright.effect')).toEqual([
      { execution_id: first, is_done: false },
    ])
    // WHEN its process is killed and another one takes over
    alpha.signal('SIGKILL')
    await alpha.over
    openGate()
    const beta = await start(4, named('beta'))
    // THEN the probe's word is enough, no person is asked, and it is done once
    expect(await run.result()).toMatchObject({ status: 'succeeded', result: 'wired' })
    expect(readWitness(witness).map(({ pid }) => pid)).toEqual([beta.pid])
    expect(await ask(url, 'SELECT * FROM statewright.effect')).toEqual([])
  },
)

concurrently('F-100 effects: a process that leaves while a tool is at work is not taken for gone', async () => {
  const { sw, witness, join, gate, openGate } = await createWorkplace({ leaseMs: lease_ms })
  const alpha = await join(4, named('alpha'))
  const run = await sw.runs.start({ agent: 'wirer', input: { order: 1, gate, heeds: false } })
  await toolBegins(witness)
  const { interaction_id } = await question(sw)
  // WHEN its process has let go of the store, and of its lease
  await alpha.close()
  await timeIsOver(sw, run.sessionId)
  // THEN what it may still do is not called undone
  expect(await didNot(sw, interaction_id)).toMatchObject({ code: 'too_early' })
  openGate()
  await eventually('its end is known', async () =>
    (await didNot(sw, interaction_id))?.code === 'reply_unfit' ? true : undefined,
  )
})

concurrently(
  'F-101 effects: a stopped worker is waited for, and its tool sees on waking that its lease is over',
  async () => {
    const { sw, witness, start, gate, openGate } = await createWorkplace({ leaseMs: lease_ms })
    // GIVEN a worker that is stopped while its tool waits by a timer of its own
    const alpha = await start(4, named('alpha'))
    const run = await sw.runs.start({ agent: 'wirer', input: { order: 1, gate, heeds: true } })
    const first = await toolBegins(witness)
    alpha.signal('SIGSTOP')

    // WHEN another one takes over, asks the world, and hears that it did not happen
    await start(4, named('beta'))
    const { interaction_id } = await question(sw)
    await timeIsOver(sw, run.sessionId)
    // THEN that is not evidence enough, from a probe or from a person: the stopped process has its lock
    expect(await didNot(sw, interaction_id)).toMatchObject({
      code: 'too_early',
      details: { execution_id: first, worker: expect.stringMatching(/^alpha/) },
    })
    expect(begun(witness)).toEqual([first])

    // WHEN it wakes, with its own timer due before that of the lease
    openGate()
    alpha.signal('SIGCONT')
    // THEN its tool does not act; it reports that it has returned, and only now it may be done by another execution
    await eventually('it is accepted', async () => (await didNot(sw, interaction_id)) === undefined || undefined)
    expect(await run.result()).toMatchObject({ status: 'succeeded', result: 'wired' })
    expect(readWitness(witness).map(({ execution_id }) => execution_id)).toEqual(begun(witness).slice(1))
    expect(begun(witness)).toHaveLength(2)
  },
)
