import fc from 'fast-check'
import { expect, test } from 'vitest'
import * as model from '../../bench/sharding/model.ts'
import { run } from '../../bench/sharding/run.ts'

const names = ['a', 'b', 'c', 'd', 'e', 'f']
const buckets = 8
const sessions = Array.from({ length: 12 }, (_, i) => `ses_${i}`)
const some = fc.uniqueArray(fc.constantFrom(...names), { minLength: 1 })

test('sharding: a table is even, and only what must leave its home does', () => {
  const size = fc.integer({ min: 6, max: 500 })
  fc.assert(
    fc.property(some, some, size, (from, to, size) => {
      const before = model.tableOf(from, size)
      const after = model.tableOf(to, size, before)
      const counts = to.map((name) => after.filter((home) => home === name).length)
      expect(after).toHaveLength(size)
      expect(counts.reduce((sum, count) => sum + count)).toBe(size)
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
      // Every bucket that moves was on a database that is gone, or goes to one that is new.
      for (const [bucket, home] of before.entries())
        if (after[bucket] !== home) expect(!to.includes(home) || !from.includes(after[bucket] as string)).toBe(true)
    }),
    { seed: 5 },
  )
})

const bucket = fc.nat({ max: buckets - 1 })
const which = fc.nat({ max: 5 })
const act = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ does: fc.constant('commit' as const), on: fc.nat({ max: 11 }), by: fc.nat({ max: 2 }) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ does: fc.constant('advance' as const), on: which, by: fc.integer({ min: 1, max: 4 }) }),
  },
  fc.record({ does: fc.constantFrom('start' as const), on: bucket, by: which }),
  fc.record({ does: fc.constantFrom('giveUp' as const, 'lose' as const, 'restore' as const), on: which, by: which }),
)

test('sharding: each session has one home, and a move loses, doubles and forks nothing, also where its process dies or is late', () => {
  let moved = 0
  fc.assert(
    fc.property(fc.array(act, { minLength: 40, maxLength: 160 }), (acts) => {
      const world = model.createWorld(names, model.tableOf(names.slice(0, 3), buckets))
      const known = Array.from({ length: 3 }, () => [...world.directory])
      const moves: model.Move[] = []
      const acknowledged = sessions.map((): string[] => [])
      const problems: string[] = []
      const one = (at: number) => moves[moves.length - 1 - at]
      const play = ({ does, on, by }: (typeof acts)[number], i: number) => {
        const move = one(on)
        const database = world.databases.get(names[on] ?? '')
        if (does === 'start') moves.push(model.startMove(world, on, names[by] ?? ''))
        else if (does === 'advance' && move !== undefined) model.advance(world, move, by)
        else if (does === 'giveUp' && move !== undefined) model.giveUp(world, move)
        else if ((does === 'lose' || does === 'restore') && database !== undefined) database.isUp = does === 'restore'
        else if (does === 'commit') {
          const [home, homes] = [model.bucketOf(sessions[on] ?? '', buckets), known[by] ?? []]
          const answer = model.commit(world, homes[home] as model.Home, sessions[on] ?? '', `${i}`)
          if (answer === 'recorded') acknowledged[on]?.push(`${i}`)
          else homes[home] = world.directory[home] as model.Home
        }
        for (let at = 0; at < buckets; at++) {
          const homes = [...world.databases].flatMap(([database, { fences }]) => {
            const fence = fences.get(at)
            return fence?.isOpen ? [`${database} ${fence.epoch}`] : []
          })
          const { database, epoch } = world.directory[at] as model.Home
          if (homes.some((home) => home !== `${database} ${epoch}`))
            problems.push(`bucket ${at} after act ${i}: ${homes}`)
        }
      }
      acts.forEach(play)
      expect(problems).toEqual([])
      // Every move goes on to its end, however late; then each commit is in the one home, once and in order.
      for (const on of names.keys()) play({ does: 'restore', on, by: 0 }, 0)
      for (const move of moves) for (let i = 0; i < 60; i++) model.advance(world, move, 4)
      moved += moves.filter(({ step, from, to }) => step === 'done' && from !== to).length
      for (const [i, session] of sessions.entries()) {
        const at = model.bucketOf(session, buckets)
        const { database } = world.directory[at] as model.Home
        expect(world.databases.get(database)?.logs.get(at)?.get(session) ?? []).toEqual(acknowledged[i])
      }
    }),
    { seed: 9, numRuns: 800 },
  )
  expect(moved).toBeGreaterThan(500)
})

test('sharding: the simulation repeats itself, and refuses only what a lost database holds', () => {
  const base = { seed: 3, seconds: 8, databases: names.slice(0, 4), buckets: 64, sessions: 400, records: 20 }
  const plan = { ...base, arriving: 600, capacity: 400, copying: 0.25, moves: 2, added: { name: 'e', at: 1 } }
  const calm = run(plan)
  expect(calm).toEqual(run(plan))
  expect(calm).toMatchObject({ refused: 0, left: 0, moved: { buckets: 12 } })
  const loss = run({ ...plan, lost: { name: 'b', at: 2, seconds: 4 } })
  expect(loss.refused).toBeGreaterThan(100)
  expect(loss.refusedElsewhere).toBe(0)
})
