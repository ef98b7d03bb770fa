import { expect, test } from 'vitest'
import { simulate } from '../../crash/simulate.ts'
import { seedOf } from '../../support/dice.ts'

const first = seedOf(1)
const seeds = process.env.STATEWRIGHT_PROOF === '1' ? 20_000 : 300

/**
 * Seeds that reach what the first few do not: a requeued task whose parent run is over, a run taken while the process
 * closes, a crash around an irreversible tool that asked at work, a kill that did not see what a tool just asked,
 * an interrupt while a worker recorded an unknown outcome, and a person who is asked before the tool is called.
 */
const remembered = [687, 1416, 310, 862, 3552, 7558, 20_980]

/** A case that is never reached is not tested: each of these must come up with some seed. */
const sometimes = [
  'before append',
  'after append',
  /before effect of /,
  /after effect of /,
  'ended in good order',
  'submitted',
  'answered: approval',
  'answered: ecs',
  'answered: settlement',
  'answered twice',
  'stopped',
  'steered',
  'paused or resumed',
  'closed',
  'killed',
  'allowed again',
  /effect of surveys.take/,
  /effect of deeds/,
  /effect of radio.listen/,
  'refused: interaction_closed',
  'refused: session_over',
  'refused: session_suspended',
]

test('simulation: random clients, crashes and clocks leave nothing lost, doubled or stuck in a few sessions', {
  timeout: 3_600_000,
}, async () => {
  const marks = new Map<string, number>()
  let lives = 0
  for (const seed of [...remembered, ...Array.from({ length: seeds }, (_, i) => first + i)]) {
    const simulated = await simulate(seed, (mark) => marks.set(mark, (marks.get(mark) ?? 0) + 1))
    expect(simulated.problems, `seed ${seed}`).toEqual([])
    lives += simulated.lives
  }
  const reached = [...marks.keys()]
  const crashes = reached
    .filter((mark) => /^(before|after) /.test(mark))
    .reduce((n, mark) => n + (marks.get(mark) ?? 0), 0)
  console.log(`simulation: seeds ${first} to ${first + seeds - 1}, ${lives} lives, ${crashes} crashes, 0 problems`)
  for (const mark of sometimes) expect(reached).toContainEqual(expect.stringMatching(mark))
})
