import { afterAll, describe, expect, test } from 'vitest'
import { acknowledgesBeforeItRecords, actsBeforeItRecords, retriesWhatWasLost } from '../../crash/broken-builds.ts'
import { type Build, playThrough } from '../../crash/in-process.ts'
import { type Play, plays } from '../../crash/plays.ts'
import { createDice, seedOf } from '../../support/dice.ts'

const proof = process.env.STATEWRIGHT_PROOF === '1'
const seed = seedOf(4)

/** Which share of the double crashes an ordinary run tries. */
const share = proof ? 1 : 24

let points = 0
let doubles = 0

afterAll(() => {
  console.log(`crash matrix in process: ${points} crash points, ${doubles} double crashes, seed ${seed}`)
})

describe.each(plays)('crash matrix: play $name:', (play) => {
  test('a kill at every append and effect loses nothing', async () => {
    expect(await firstProblem([play], everyPoint())).toBeUndefined()
  })

  test('a second kill during recovery loses nothing', async () => {
    const dice = createDice(seed)
    for (let first = 1; ; first++) {
      const counted = await playThrough([play], [first])
      if (counted.deaths.length === 0) break
      for (let second = 1; second <= (counted.points[1] ?? 0); second++) {
        if (!dice.once(share)) continue
        const { deaths, problems } = await playThrough([play], [first, second])
        expect(deaths).toHaveLength(2)
        expect(problems, `dead at ${first} (${deaths[0]}), then at ${second} (${deaths[1]})`).toEqual([])
        doubles += 1
      }
    }
    expect(doubles).toBeGreaterThan(0)
  })
})

describe('crash matrix: all plays at once:', () => {
  test('a kill at any append or effect loses nothing', async () => {
    const { points: [all = 0] = [] } = await playThrough(plays, [])
    const dice = createDice(seed)
    const chosen = Array.from({ length: all }, (_, i) => i + 1).filter(() => proof || dice.once(6))
    expect(await firstProblem(plays, chosen)).toBeUndefined()
  })
})

/** A test that nothing can fail proves nothing: each of these builds is broken in one place. */
describe('crash matrix: it finds a build that', () => {
  test.each<[string, Build, RegExp]>([
    ['acts before it records', actsBeforeItRecords, /happened 2 times/],
    ['retries what was lost', retriesWhatWasLost, /happened 2 times/],
    ['acknowledges before it records', acknowledgesBeforeItRecords, /was acknowledged and is not on record/],
  ])('%s', async (_, build, problem) => {
    const tried = plays.filter(({ name }) => name === 'errands' || name === 'approvals')
    const found = []
    for (const play of tried) found.push(await firstProblem([play], everyPoint(), build))
    expect(found.join('\n')).toMatch(problem)
  })
})

function* everyPoint() {
  for (let point = 1; ; point++) yield point
}

/** Tries each point until there are no more, and says what went wrong first. */
async function firstProblem(tried: readonly Play[], at: Iterable<number>, build?: Build): Promise<string | undefined> {
  for (const point of at) {
    const { deaths, problems } = await playThrough(tried, [point], build)
    if (problems.length > 0) return `dead at ${point} (${deaths}): ${problems.join('\n')}`
    if (deaths.length === 0) return undefined
    if (build === undefined) points += 1
  }
  return undefined
}
