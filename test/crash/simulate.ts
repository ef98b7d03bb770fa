import { hostPorts } from '../../src/adapters/host/ports.ts'
import { createTestClock, drained } from '../../src/adapters/system/testing.ts'
import { openStore, type Store } from '../../src/app/open-store.ts'
import { createStatewright, type Statewright } from '../../src/app/statewright.ts'
import { Fault } from '../../src/faults/fault.ts'
import { subjects } from '../../src/runelog/models.ts'
import { createDice, type Dice } from '../support/dice.ts'
import { type Chaos, disturb, drawRoles } from './chaos.ts'
import { drive } from './driver.ts'
import { dyingStore } from './dying-store.ts'
import { createLife, type Life } from './life.ts'
import { createOutside } from './outside.ts'
import { createAgents, type Hindrances } from './plays.ts'
import { quiet } from './quiet.ts'
import { createTools } from './tools.ts'
import { verdict } from './verdict.ts'

export interface Simulated {
  readonly problems: readonly string[]
  readonly lives: number
  readonly disk: Store
}

/**
 * Everything that may happen to a few sessions, in an order that follows from
 * the seed: clients that do anything, points that take their time, crashes,
 * restarts in good order, and time. Then the faults stop, and everything must
 * settle.
 */
export async function simulate(seed: number, reached: (mark: string) => void): Promise<Simulated> {
  const dice = createDice(seed)
  const roles = drawRoles(dice)
  const outside = createOutside()
  let now = 1_700_000_000_000
  const disk = await openStore('memory:', { ports: { ...hostPorts, now: () => now } })
  let names = 0
  const ids = { next: (prefix: string) => `${prefix}_${String(++names).padStart(4, '0')}` }
  const problems: string[] = []
  const said = (error: unknown) => void problems.push(String((error as Error)?.stack ?? error))

  async function live(life: SlowLife, isLast: boolean) {
    const hand = createTestClock(now + 1)
    const letTimePass = async () => {
      await hand.advance(16 * 60_000)
      now = hand.clock.now()
    }
    const sw = await createStatewright({
      store: dyingStore(disk, life, outside),
      agents: createAgents(roles, createTools(outside, life), isLast ? {} : hindrances(dice)),
      maxConcurrentRuns: 1 + dice.below(3),
      warn(message, details) {
        // A report that is overtaken by the result it leads to is dropped, and that is said.
        if (message !== 'progress was not recorded') problems.push(`${message}: ${JSON.stringify(details)}`)
      },
      ports: {
        clock: hand.clock,
        timers: hand.timers,
        random: () => 1,
        ids,
        store: { ...hostPorts, now: hand.clock.now },
      },
    })
    const chaos: Chaos = { sw, outside, dice, roles, reached }
    if (isLast) await settle(chaos, life, letTimePass)
    else for (let left = 8 + dice.below(20); left > 0; left--) await moment(chaos, life, letTimePass)
    await life.alive()
    let isClosed = false
    const closed = sw.close().then(() => {
      isClosed = true
    })
    for (; !isClosed; await life.alive()) await letTimePass()
    await closed
    life.end()
  }

  async function moment(chaos: Chaos, life: SlowLife, letTimePass: () => Promise<void>) {
    const several = Array.from({ length: 1 + dice.below(2) }, () => disturb(chaos).catch(said))
    if (dice.once(2)) await ended(several, life, letTimePass)
    if (dice.once(2)) await quiet(life, life.pending)
    if (dice.once(8)) await letTimePass()
    await life.alive()
  }

  /** Closing a session waits for a cancelled tool, which may take its time. */
  async function ended(several: readonly Promise<void>[], life: SlowLife, letTimePass: () => Promise<void>) {
    let isOver = false
    const all = Promise.all(several).then(() => {
      isOver = true
    })
    await Promise.race([all, quiet(life, life.pending)])
    for (; !isOver; await life.alive()) await letTimePass()
  }

  /** The client of the crash matrix sees to the end of what was begun, once nothing keeps it from going on. */
  async function settle({ sw }: Chaos, life: SlowLife, letTimePass: () => Promise<void>) {
    await quiet(life, life.pending)
    await goOn(sw)
    const begun = roles.filter(({ tag }) => outsideKnows.has(tag))
    const goOnInTime = async () => {
      await letTimePass()
      await goOn(sw)
    }
    await drive({ sw, outside, quiet: () => quiet(life, life.pending), letTimePass: goOnInTime }, begun)
  }

  const outsideKnows = new Set<string>()
  const lives = dice.below(5)
  for (let i = 0; i <= lives; i++) {
    const isLast = i === lives
    for (const tag of await begunTags(disk)) outsideKnows.add(tag)
    const life = createSlowLife(dice, isLast || dice.once(6) ? undefined : 1 + dice.below(50))
    const lived = live(life, isLast).catch(said)
    const hung = Promise.withResolvers<void>()
    const timer = setTimeout(() => hung.resolve(said('it hangs')), 20_000)
    await Promise.race([
      lived.then(() => reached('ended in good order')),
      hung.promise,
      life.death.then((label) => reached(label.replace(/ append of .*/, ' append'))),
    ])
    clearTimeout(timer)
  }
  const begun = roles.filter(({ tag }) => outsideKnows.has(tag))
  return { problems: [...problems, ...(await verdict(disk.runelog, outside, begun))], lives: lives + 1, disk }
}

/** Streams that break or fall silent, agents that are set up slowly or not at all. */
function hindrances(dice: Dice): Hindrances {
  const slow = async () => {
    for (let left = dice.below(6); left > 0; left--) await drained()
  }
  return {
    breaks: () => dice.once(8),
    beforeDelta: (_, signal) => (dice.once(30) ? new Promise(() => {}) : signal.aborted ? Promise.resolve() : slow()),
    async prepare() {
      await slow()
      if (dice.once(10)) throw new Error('It cannot be set up.')
    },
  }
}

async function begunTags({ runelog }: Store): Promise<readonly string[]> {
  const rows = await runelog.rows(subjects)
  const sessions = new Set(rows.map((row) => row.value.session_id))
  const logs = await Promise.all([...sessions].map((session_id) => runelog.read(session_id)))
  return logs.flat().flatMap((r) => (r.kind === 'run.submitted' ? [String(r.payload.input)] : []))
}

/** Lets every session go on that somebody paused, or that was suspended. */
async function goOn(sw: Statewright) {
  for (const row of await sw.runelog.rows(subjects)) {
    const { machine, state } = row.value
    if (machine !== 'session') continue
    if (state === 'paused') await sw.sessions.resume(row.key)
    if (state !== 'suspended') continue
    for (const bringBack of [
      () => sw.sessions.replenish(row.key, { toolCalls: 1_000 }),
      () => sw.sessions.reset(row.key),
    ])
      await bringBack().catch((error) => {
        if (!(error instanceof Fault)) throw error
      })
  }
}

type SlowLife = Life & { pending(): number }

/** Every point takes a few turns of the event loop, or none: concurrent work overtakes each other. */
function createSlowLife(dice: Dice, diesAt?: number): SlowLife {
  const life = createLife(diesAt)
  let waiting = 0
  return {
    ...life,
    pending: () => waiting,
    async point(label) {
      waiting += 1
      for (let left = dice.below(4); left > 0; left--) await drained()
      waiting -= 1
      return life.point(label)
    },
  }
}
