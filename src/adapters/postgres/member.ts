import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { Clock, Timers } from '../../runtime/ports.ts'
import type { AbandonedRun, Member, Tasks } from '../../runtime/store.ts'
import { createAtWork } from './at-work.ts'
import { createHeart, type Heart } from './heart.ts'
import { type Beat, beatsPerLease, monotonic } from './heartbeat.ts'
import { type Hear, type Jobs, type Queue, startJobs } from './jobs.ts'
import { createLeases, type HeldRun, nameOf } from './leases.ts'
import { createMembers, overlooked_ms } from './members.ts'
import { createPresence, type Presence } from './presence.ts'
import type { Resuming } from './resuming.ts'

/** Options of a process that shares a store with others. */
export interface SharingOptions {
  /** How long a run may go without a sign of life from its worker. */
  readonly lease_ms: number
  readonly clock: Clock
  readonly timers: Timers
  readonly warn: (message: string, details: object) => void
}

interface MemberPorts extends SharingOptions {
  /** Called when jobs were queued. */
  readonly queued: Set<Hear>
  readonly resuming: Resuming
  /** Effects that a commit has recorded as at work. */
  readonly begun: Set<string>
  /** The connections of the queue itself. */
  readonly queuePool: pg.Pool
}

/** Before the first heartbeat, no lease is valid. */
const unborn: Beat = { monotonic: Number.NEGATIVE_INFINITY, now: Number.NEGATIVE_INFINITY, generation: 0 }

/** One worker: it renews its leases, takes over the runs of dead workers, and runs the jobs of the queue. */
export function createMember(url: string, pool: pg.Pool, sharing: MemberPorts, queue: Queue): Member {
  const { lease_ms, timers, warn } = sharing
  const members = createMembers(pool, lease_ms)
  // A connection that is older than the last heartbeat of a dead worker.
  const onPresence = createMembers({ query: (text, values) => presence().query(text, values) }, lease_ms)
  const atWork = createAtWork(pool, warn, sharing.begun)
  const stops: (() => Promise<void>)[] = []
  let kept: Presence | undefined
  let heart: Heart | undefined
  let worker = ''
  let isAbandoned = false
  let isDeparting = false
  let jobs: Jobs | undefined
  let isReplaced = false
  let working: Tasks | undefined
  let takingOver: Promise<void> | undefined
  /** Leases of this worker in the database without a holder here, and when they were first seen. */
  let strays = new Map<string, number>()

  const leases = createLeases({
    lease_ms,
    last: () => heart?.last() ?? unborn,
    clock: { monotonic, now: () => Date.now() },
    timers,
    ended: (runs) => void giveUp(runs).catch(failing('giving up runs')),
  })

  const failing = (what: string) => (error: unknown) => {
    if (!isAbandoned) warn(`${what} failed`, { error: String(error) })
  }

  /** Frees the jobs that a broken queue of this worker had fetched, for the queue that replaced it. */
  async function reclaim() {
    await register()
    await members.freeStrays()
  }

  async function register() {
    const id = jobs?.id() ?? null
    heart?.register(id)
    await members.register(worker, id)
  }

  const requeueAll = (tasks: Tasks, runs: readonly AbandonedRun[]) => {
    const failed = (error: unknown) => warn('a run could not be requeued', { error: String(error) })
    return Promise.all(runs.map((run) => tasks.abandoned(run).catch(failed)))
  }

  /** Takes over the runs of dead workers. The heartbeat sees a death, and asks for this until it is done. */
  function takeOver(tasks: Tasks): Promise<void> {
    takingOver ??= (async () => {
      const { runs, pools } = await onPresence.takeOver(worker)
      await requeueAll(tasks, runs)
      await members.free(pools)
      await members.bury()
    })().finally(() => {
      takingOver = undefined
    })
    return takingOver
  }

  /** Another worker may take the runs at once. If this fails, the next scan gives them up. */
  async function giveUp(runs: readonly HeldRun[]) {
    await members.giveUp(worker, runs)
    if (working !== undefined) await scan(working)
  }

  /** Looks for runs without a lease. A lease that has no holder for a while is given up: its run was let go. */
  async function scan(tasks: Tasks) {
    // Once more: the broken queue may have fetched a job after it was replaced.
    if (isReplaced) await reclaim()
    isReplaced = false
    const unheld = (await members.mine(worker)).filter((run) => !leases.has(run))
    const now = monotonic()
    strays = new Map(unheld.map((run) => [nameOf(run), strays.get(nameOf(run)) ?? now]))
    // A run that is just being taken has its lease already.
    const letGo = unheld.filter((run) => now - (strays.get(nameOf(run)) ?? now) > lease_ms / 2)
    if (letGo.length > 0) await members.giveUp(worker, letGo)
    await requeueAll(tasks, await members.abandoned())
  }

  /** Repeats work `ms` after its last end. `rest` stops it, and resolves when nothing is under way. */
  function regularly(what: string, ms: number, act: () => Promise<unknown>) {
    let timer: NodeJS.Timeout | undefined
    let underWay: Promise<unknown> = Promise.resolve()
    let isOver = false
    const arm = () => {
      if (isOver) return
      timer = setTimeout(() => {
        underWay = act().catch(failing(what)).finally(arm)
      }, ms)
    }
    arm()
    stops.push(async () => {
      isOver = true
      clearTimeout(timer)
      await underWay
    })
  }

  const rest = async () => {
    leases.stop()
    working = undefined
    await Promise.all([...stops.splice(0).map((stop) => stop()), takingOver?.catch(() => {})])
  }

  function presence(): Presence {
    if (kept === undefined) throw new Error('This process has not joined the workers.')
    return kept
  }

  /** The heartbeat is told that this thread lives. Work that failed before is tried again. */
  async function pulse() {
    heart?.pulse()
    await kept?.keep()
    await atWork.report()
  }

  /** A run is taken only with a lease: without one it would be lost at once, again and again. */
  const whileAlive = (tasks: Tasks): Tasks => ({
    ...tasks,
    run: async (session_id, run_id) => (leases.isAlive() ? tasks.run(session_id, run_id) : 'elsewhere'),
  })

  /** A tool still at work may act: until it returns, no other process may take this worker for dead. */
  async function depart() {
    if (isDeparting) return
    isDeparting = true
    kept?.unref()
    if (isAbandoned) atWork.silence()
    await kept?.keep().catch(() => {})
    await atWork.quiet()
    await atWork.report().catch(() => {})
    kept?.close()
  }

  return {
    leases,
    atWork,
    async join(name) {
      worker = name
      kept = createPresence(url, name, Math.max(500, Math.round(lease_ms / 3)))
      atWork.join(name, kept)
      await kept.keep()
      heart = createHeart(
        { url, worker, lease_ms },
        {
          warn,
          lost() {
            leases.look()
            if (working !== undefined) scan(working).catch(failing('looking for lost runs'))
          },
          needed() {
            if (working !== undefined) takeOver(working).catch(failing('taking over the runs of a lost worker'))
          },
        },
      )
      const joined = await heart.start()
      regularly('reporting the ends of tools', lease_ms / beatsPerLease, pulse)
      return joined
    },
    abandoned: members.abandoned,

    async begin(tasks, limit) {
      await takeOver(tasks)
      await scan(tasks)
      await members.wakeOverlooked(0)
      const replaced = () => {
        isReplaced = true
        reclaim().catch((error) => warn('freeing the jobs of a broken queue failed', { error: String(error) }))
      }
      const { queued, resuming, queuePool } = sharing
      const ports = { queue, queuePool, warn, replaced, queued, resuming }
      jobs = startJobs(pool, whileAlive(tasks), limit, ports)
      await register()
      working = tasks
      regularly('looking for lost runs', lease_ms, () => scan(tasks))
      regularly('looking for lost wakes', overlooked_ms, () => members.wakeOverlooked())
    },
    end: async () => jobs?.stop(),
    async leave() {
      await rest()
      await heart?.stop()
      try {
        return worker === '' ? [] : await members.leave(worker)
      } finally {
        void depart()
      }
    },
    abandon() {
      isAbandoned = true
      heart?.kill()
      void rest()
      void depart()
      jobs?.abandon()
    },
    async quiet() {
      // An abandoned member has no worker that would free its jobs.
      while (!isAbandoned && !(await members.isQuiet())) await delay(10)
    },
  }
}
