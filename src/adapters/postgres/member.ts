import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { Clock, Timers } from '../../runtime/ports.ts'
import type { Member, Tasks } from '../../runtime/store.ts'
import { createAtWork, createPresence, type Presence } from './at-work.ts'
import { type Jobs, type Queue, startJobs } from './jobs.ts'
import { createLeases } from './leases.ts'
import { createMembers, overlooked_ms } from './members.ts'

/** Options of a process that shares a store with others. */
export interface SharingOptions {
  /** How long a run may go without a sign of life from its worker. */
  readonly lease_ms: number
  readonly clock: Clock
  readonly timers: Timers
  readonly warn: (message: string, details: object) => void
}

/** One worker: it renews its leases, frees what dead workers held, and runs the jobs of the queue. */
export function createMember(url: string, pool: pg.Pool, sharing: SharingOptions, queue: Queue): Member {
  const { lease_ms, clock, timers, warn } = sharing
  const members = createMembers(pool, lease_ms)
  // Renewals have their own connection, so that a busy queue cannot delay them.
  const heart = createMembers({ query: (text, values) => presence().query(text, values) }, lease_ms)
  const leases = createLeases(heart.renew, lease_ms, clock, timers)
  const atWork = createAtWork(pool, warn)
  const stops: (() => Promise<void>)[] = []
  let kept: Presence | undefined
  let worker = ''
  let isAbandoned = false
  let isDeparting = false
  let jobs: Jobs | undefined
  let isReplaced = false

  async function beat() {
    await heart.register(worker, jobs?.id() ?? null)
    await leases.renew()
    await atWork.report()
  }

  /** Frees the jobs that a broken queue of this worker had fetched, for the queue that replaced it. */
  async function reclaim() {
    await heart.register(worker, jobs?.id() ?? null)
    await members.freeStrays()
  }

  async function scan(tasks: Tasks) {
    // Once more: the broken queue may have fetched a job after it was replaced.
    if (isReplaced) await reclaim()
    isReplaced = false
    const failed = (error: unknown) => warn('a run could not be requeued', { error: String(error) })
    await Promise.all((await members.abandoned()).map((run) => tasks.abandoned(run).catch(failed)))
    await members.bury()
  }

  /** Repeats work `ms` after its last end. `rest` stops it, and resolves when nothing is under way. */
  function regularly(what: string, ms: number, act: () => Promise<unknown>) {
    let timer: NodeJS.Timeout | undefined
    let underWay: Promise<unknown> = Promise.resolve()
    let isOver = false
    const failed = (error: unknown) => warn(`${what} failed`, { error: String(error) })
    const arm = () => {
      if (isOver) return
      timer = setTimeout(() => {
        underWay = act().catch(failed).finally(arm)
      }, ms)
    }
    arm()
    stops.push(async () => {
      isOver = true
      clearTimeout(timer)
      await underWay
    })
  }

  const rest = () => {
    leases.stop()
    return Promise.all(stops.splice(0).map((stop) => stop()))
  }

  function presence(): Presence {
    if (kept === undefined) throw new Error('This process has not joined the workers.')
    return kept
  }

  /** A tool still at work may act: until it returns, no other process may take this worker for dead. */
  async function depart() {
    if (isDeparting) return
    isDeparting = true
    kept?.unref()
    if (isAbandoned) atWork.silence()
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
      const joined = await heart.join(name)
      regularly('renewing leases', lease_ms / 3, beat)
      return joined
    },
    abandoned: members.abandoned,

    async begin(tasks, limit) {
      await scan(tasks)
      await members.wakeOverlooked(0)
      const replaced = () => {
        isReplaced = true
        reclaim().catch((error) => warn('freeing the jobs of a broken queue failed', { error: String(error) }))
      }
      jobs = startJobs(pool, tasks, limit, { queue, warn, replaced })
      await beat()
      regularly('looking for lost workers', lease_ms / 4, () => scan(tasks))
      regularly('looking for lost wakes', overlooked_ms, () => members.wakeOverlooked())
    },
    end: async () => jobs?.stop(),
    async leave() {
      await rest()
      try {
        return worker === '' ? [] : await members.leave(worker)
      } finally {
        void depart()
      }
    },
    abandon() {
      isAbandoned = true
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
