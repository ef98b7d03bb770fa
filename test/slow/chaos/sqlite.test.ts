import { expect, test } from 'vitest'
import { playKills } from '../../chaos/kill-loop.ts'
import { runCli } from '../../support/run-cli.ts'
import { createChance, isProof, seed } from '../../support/sampling.ts'
import { createTally } from '../../support/tally.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const tally = createTally()
const kills = Number(process.env.STATEWRIGHT_FAULT_KILLS ?? (isProof ? 500 : 6))
const runs = Number(process.env.STATEWRIGHT_FAULT_RUNS ?? (isProof ? 3_000 : 40))

test('kill loop: a server on SQLite that is killed again and again loses nothing and does nothing twice', {
  timeout: 3_600_000,
}, async () => {
  const { output, ...verdict } = await playKills({
    folder: temporaryFolder(),
    kills,
    runs,
    chance: createChance(seed),
    tell: (line) => void (isProof && process.stderr.write(`${line}\n`)),
  })

  console.log(JSON.stringify({ ...verdict, output_bytes: output.length }, null, 1))
  const { doubled, lost, unknown, stuck, surprises } = verdict
  tally.count('SQLite kills', verdict.killed, verdict.ended)
  tally.count(
    'SQLite runs',
    verdict.runs,
    doubled.length + lost.length + unknown.length + stuck.length + surprises.length,
  )

  expect(verdict.killed).toBe(kills)
  expect(doubled, 'effects doubled').toEqual([])
  expect(lost, 'acknowledgements lost').toEqual([])
  expect(unknown, 'submissions that took effect twice').toEqual([])
  expect(stuck, 'runs that stood still for more than 60 s').toEqual([])
  expect(surprises, 'answers that no rule explains').toEqual([])
  expect(verdict.statuses).toEqual({ succeeded: runs })
  expect(verdict.stacks, 'raw stack traces').toEqual([])
  expect(verdict.ended, 'lives that ended by themselves').toBe(0)
  expect(verdict.end, 'how the last life ended on SIGTERM').toBe(0)
  expect(await runCli(['verify', '--store', verdict.store])).toMatchObject({ exit: 0, err: '' })
})
