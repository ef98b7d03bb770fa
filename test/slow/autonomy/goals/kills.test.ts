import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { isProof, sample, seed } from '../../../support/sampling.ts'
import { scratchFolder } from '../../../support/scratch-folder.ts'

const scratch = scratchFolder('goal-kills')

function live(folder: string, diesAt = 0) {
  const { signal, stdout, stderr } = spawnSync(
    process.execPath,
    ['test/support/goal-program.ts', folder, String(diesAt)],
    { encoding: 'utf8', timeout: 120_000 },
  )
  return { signal, told: stdout === '' ? undefined : JSON.parse(stdout), stderr }
}

test('goals kills: really killed after an append, the example reaches the same end, with each irreversible effect once', () => {
  const whole = live(scratch.fresh())
  expect(whole.stderr).toBe('')
  expect(whole.told.end).toMatchObject({ state: 'goal_met', outside: ['mail', 'refund'] })
  const points = Array.from({ length: whole.told.appends }, (_, i) => i + 1)
  const chosen = isProof ? points : sample(points, 2)
  for (const at of chosen) {
    const folder = scratch.fresh()
    expect(live(folder, at).signal, `killed after append ${at}`).toBe('SIGKILL')
    const { told, signal, stderr } = live(folder)
    expect({ at, end: told?.end, signal, stderr }).toEqual({ at, end: whole.told.end, signal: null, stderr: '' })
  }
  console.log(`the example in real processes: killed after ${chosen.length} of ${points.length} appends, seed ${seed}`)
})
