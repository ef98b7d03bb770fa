import fc from 'fast-check'
import { expect, test } from 'vitest'
import { couplings, goalFrames, planFrames } from '../../src/machines/couplings.ts'
import { auditRunes } from './audit-runes.ts'
import { anyDice, randomRun } from './random-run.ts'

/**
 * Rows that a story of one run has no part in: they move sessions, other agents, or an agent's whole budget, or belong
 * to a tool that asks a person in the middle of its work.
 */
const elsewhere = [
  'input_asked input_withdrawn',
  'agent_spawned agent_unfit message agent_spent agent_crashed_in_tools agent_dismissed agent_killed agent_exhausted',
  'session_created first_message paused resumed spent troubled replenished reset closing closed archived',
  // Machines that are independent of runs.
  'outside_answered outside_expired outside_withdrawn',
  ...Object.keys(planFrames),
  ...Object.keys(goalFrames),
]

test('random run: random stories break no rule, and together they take every row that a run has', () => {
  const taken = new Map<string, number>([
    ['thread called', 1],
    ['thread asked', 1],
    ['thread duplicate_refused', 1],
  ])
  const stories = fc.sample(anyDice, { numRuns: 2_000, seed: 7 })
  for (const dice of stories) expect(auditRunes(randomRun(dice, taken).runes)).toEqual([])

  const out = new Set(elsewhere.flatMap((names) => names.split(' ')))
  const expected = [
    ...Object.keys(couplings.frames)
      .filter((row) => !out.has(row))
      .map((row) => `frame ${row}`),
    ...Object.keys(couplings.threads)
      .filter((row) => !out.has(row))
      .map((row) => `thread ${row}`),
  ]
  expect(expected.filter((row) => !taken.has(row))).toEqual([])
})
