import { expect, onTestFinished, test } from 'vitest'
import { faultKinds } from '../../chaos/deeds.ts'
import { playFaults } from '../../chaos/loop.ts'
import { startPostgres } from '../../support/postgres-server.ts'
import { createChance, isProof, seed } from '../../support/sampling.ts'
import { createTally } from '../../support/tally.ts'

const tally = createTally()

/** A part of the kinds, to look for one fault: `STATEWRIGHT_FAULT_KINDS=stop,skew`. */
const kinds = faultKinds.filter((kind) => process.env.STATEWRIGHT_FAULT_KINDS?.split(',').includes(kind) ?? true)

/** Each kind so often; gentle ones come twice. */
const rounds = Number(process.env.STATEWRIGHT_FAULT_ROUNDS ?? (isProof ? 44 : 1))
const runs = Number(process.env.STATEWRIGHT_FAULT_RUNS ?? (isProof ? 3_000 : 60))

test('fault loop: three workers on PostgreSQL lose nothing and do nothing twice under random faults', {
  timeout: 3_600_000,
}, async () => {
  const server = await startPostgres()
  onTestFinished(() => server.stop())
  const chance = createChance(seed)
  const faults = Array.from({ length: rounds }, () => kinds).flat()
  const shuffled = faults.map((kind) => ({ kind, lot: chance() })).toSorted((a, b) => a.lot - b.lot)

  const verdict = await playFaults({
    database: server.url,
    crash: server.crashAndRestart,
    faults: shuffled.map(({ kind }) => kind),
    runs,
    chance,
    tell: (line) => void (isProof && process.stderr.write(`${line}\n`)),
  })

  const { output, ...figures } = verdict
  console.log(JSON.stringify({ ...figures, output_bytes: output.length }, null, 1))
  tally.count(
    'PostgreSQL faults',
    Object.values(verdict.faults).reduce((sum, n) => sum + n, 0),
  )
  tally.count(
    'PostgreSQL runs',
    verdict.report.runs,
    verdict.doubled.length + verdict.lost.length + verdict.report.stuck.length,
  )

  // Every kind of fault fired, as often as planned.
  for (const kind of kinds) expect(verdict.faults[kind], kind).toBeGreaterThanOrEqual(rounds)
  expect(verdict.doubled, 'effects doubled').toEqual([])
  expect(verdict.lost, 'acknowledgements lost').toEqual([])
  expect(verdict.report.stuck, 'runs that stood still for more than 60 s').toEqual([])
  // One worker that stands still in a transaction does not hold up the others.
  expect(verdict.report.slowest_submit_ms).toBeLessThan(15_000)
  expect(verdict.report.states).toEqual({ succeeded: runs })
  expect(verdict.stacks, 'raw stack traces').toEqual([])
  expect(verdict.unstoppable, 'workers that did not end on SIGTERM').toBe(0)
})
