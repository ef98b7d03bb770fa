import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStore } from '../../../src/app/open-store.ts'
import { plays } from '../../crash/plays.ts'
import { liveAsProcess, startWitness } from '../../crash/processes.ts'
import { verdict } from '../../crash/verdict.ts'
import { connectOutside } from '../../crash/witness-client.ts'
import { createDice, seedOf } from '../../support/dice.ts'

const roles = plays.flatMap((play) => play.roles)
const proof = process.env.STATEWRIGHT_PROOF === '1'
const seed = seedOf(7)
const folder = mkdtempSync(join(tmpdir(), 'statewright-kills-'))
let witness: Awaited<ReturnType<typeof startWitness>>
let played = 0

beforeAll(async () => {
  witness = await startWitness(folder)
})
afterAll(async () => {
  await witness.stop()
  rmSync(folder, { recursive: true, force: true })
})

test('crash kills: killed with SIGKILL at any point, and at any point of its recovery, it goes on', {
  timeout: 3_600_000,
}, async () => {
  const whole = await playThrough([])
  const all = Number(/lived through (\d+) points/.exec(whole.said)?.[1])
  expect(all).toBeGreaterThan(300)

  const dice = createDice(seed)
  const singles = proof ? Array.from({ length: all }, (_, i) => [i + 1]) : draw(36, () => [1 + dice.below(all)])
  const doubles = draw(proof ? 200 : 8, () => [1 + dice.below(all), 1 + dice.below(60)])
  const worlds = [...singles, ...doubles]
  const ended: Played[] = []
  const inTurn = async () => {
    for (let deaths = worlds.pop(); deaths !== undefined; deaths = worlds.pop()) ended.push(await playThrough(deaths))
  }
  await Promise.all([inTurn(), inTurn()])

  const kills = ended.reduce((sum, world) => sum + world.kills, 0)
  const slowest = Math.max(...ended.map((world) => world.ms))
  console.log(
    `crash matrix by SIGKILL: ${kills} kills in ${ended.length} worlds of ${all} points, ` +
      `slowest last life ${Math.round(slowest)} ms, seed ${seed}`,
  )
  expect(kills).toBeGreaterThanOrEqual(proof ? all : 40)
})

interface Played {
  readonly kills: number
  readonly said: string
  readonly ms: number
}

/** One world: a life for each death, the one that lives, and the verdict. */
async function playThrough(deaths: readonly number[]): Promise<Played> {
  const world = `world-${++played}`
  let kills = 0
  for (const point of deaths) {
    const { signal, code, said } = await liveAsProcess(folder, world, point)
    const dead = new RegExp(`^dies at ${point}: .*\\n$`).test(said)
    // There was no such point, and it reached the end instead.
    const lived = Number(/^lived through (\d+) points\n$/.exec(said)?.[1]) < point
    expect([signal, code], `${said} after ${deaths}`).toEqual(dead ? ['SIGKILL', null] : [null, 0])
    expect(dead !== lived, `${said} after ${deaths}`).toBe(true)
    if (dead) kills += 1
  }
  const { code, said, ms } = await liveAsProcess(folder, world)
  expect(said, `after ${deaths}`).toMatch(/^lived through \d+ points\n$/)
  expect(code).toBe(0)

  const { outside, end } = connectOutside(folder, world)
  const { runelog } = await openStore(`sqlite:${folder}/${world}.db`)
  expect(await verdict(runelog, outside, roles), `after ${deaths}`).toEqual([])
  await runelog.close()
  end()
  return { kills, said, ms }
}

function draw<T>(count: number, from: () => T): T[] {
  return Array.from({ length: count }, from)
}
