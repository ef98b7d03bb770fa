import { faults } from '../../faults/catalogue.ts'
import { isTerminal } from '../../kernel/machine.ts'
import { runMachine } from '../../machines/run.ts'
import { expire } from '../commands/reply.ts'
import type { Engine } from '../engine.ts'
import type { Cancel, Clock, Timers } from '../ports.ts'
import { lookAfterOrphans, nothingRecovered, obeyCancel, type Recovered, recoverAll } from '../recovery/recover.ts'
import { readThrown } from '../thrown.ts'

type Entry = { readonly session_id: string; readonly seen: PromiseWithResolvers<void> }

/**
 * Hands runs to workers of this process, at most `limit` at once; the others wait in the order of their wakes. It only
 * wakes: the log decides whether a run may be taken.
 */
export function createDispatcher(limit: number, work: (session_id: string, run_id: string) => Promise<void>) {
  const queue = new Map<string, Entry>()
  const busy = new Map<string, Entry>()
  const lent = new Map<string, number>()
  let waiting: PromiseWithResolvers<void> | undefined
  let isStopping = false

  function pump() {
    for (const [run_id, entry] of queue) {
      if (busy.size - lent.size >= limit) break
      if (busy.has(run_id)) continue
      queue.delete(run_id)
      busy.set(run_id, entry)
      // Released before its waker hears of it.
      const released = (tell: () => void) => {
        busy.delete(run_id)
        tell()
      }
      void work(entry.session_id, run_id)
        .then(
          () => released(entry.seen.resolve),
          (error) => released(() => entry.seen.reject(error)),
        )
        .finally(pump)
    }
    if (busy.size === 0 && queue.size === 0) {
      waiting?.resolve()
      waiting = undefined
    }
  }

  function idle(): Promise<void> {
    if (busy.size === 0 && queue.size === 0) return Promise.resolve()
    waiting ??= Promise.withResolvers<void>()
    return waiting.promise
  }

  return {
    /**
     * Resolves when the worker has released the run. If the run is held already, it runs once more when it is released,
     * and the promise resolves at once, so that the job frees its slot for runs that this run waits for.
     */
    wake(session_id: string, run_id: string): Promise<void> {
      if (isStopping) return Promise.reject(new Error('This worker takes no more runs.'))
      const entry = queue.get(run_id) ?? { session_id, seen: Promise.withResolvers<void>() }
      queue.set(run_id, entry)
      if (busy.has(run_id)) entry.seen.resolve()
      else pump()
      return entry.seen.promise
    },
    /** A worker of this process has the run, or will look at it once more. */
    has: (run_id: string) => busy.has(run_id) || queue.has(run_id),
    /** Does not count a run that only waits. Call the returned function to count it again. */
    lend(run_id: string): () => void {
      lent.set(run_id, (lent.get(run_id) ?? 0) + 1)
      busy.get(run_id)?.seen.resolve()
      pump()
      return () => {
        const left = (lent.get(run_id) ?? 1) - 1
        if (left === 0) lent.delete(run_id)
        else lent.set(run_id, left)
      }
    },
    idle,
    stop(): Promise<void> {
      isStopping = true
      for (const { seen } of queue.values()) seen.reject(new Error('This worker takes no more runs.'))
      queue.clear()
      pump()
      return idle()
    },
  }
}

/** Wakes workers for runs and deadlines. It promises nothing: the log decides. */
export interface Dispatch {
  wake(session_id: string, run_id: string): void
  deadline(interaction_id: string, session_id: string, at: number): void
  /** Frees the slot of a run that only waits. Call the returned function to count the run again. */
  lend(run_id: string): () => void
  idle(): Promise<void>
  start(): Promise<Recovered>
  stop(): Promise<void>
}

/** The ports of a dispatch. */
export interface DispatchPorts {
  readonly engine: () => Engine
  readonly clock: Clock
  readonly timers: Timers
  /** At most this many runs at once. With 0, this process only gives commands. */
  readonly limit: number
  /** Takes a run and works on it until this worker is done with it. False: there was no run to take. */
  readonly drive: (session_id: string, run_id: string) => Promise<boolean>
}

type Due = { readonly interaction_id: string; readonly session_id: string; readonly at: number }

/** A platform timer counts in 32 bits; a deadline that is further away is looked at again on the way. */
const longest = 2 ** 31 - 1

/** All deadlines in one heap with one timer. The deadline of an answered question has no effect. */
function createDeadlines(clock: Clock, timers: Timers, fire: (interaction_id: string, session_id: string) => void) {
  const heap: Due[] = []
  let cancel: Cancel | undefined
  let armed = Number.POSITIVE_INFINITY

  function ring() {
    cancel = undefined
    armed = Number.POSITIVE_INFINITY
    const now = clock.now()
    for (let due = heap[0]; due !== undefined && due.at <= now; due = heap[0]) {
      pop(heap)
      fire(due.interaction_id, due.session_id)
    }
    arm()
  }

  function arm() {
    const next = heap[0]?.at
    if (next === undefined || next >= armed) return
    cancel?.()
    armed = next
    cancel = timers.after(Math.min(Math.max(0, next - clock.now()), longest), ring)
  }

  return {
    add(interaction_id: string, session_id: string, at: number) {
      push(heap, { interaction_id, session_id, at })
      arm()
    },
    stop() {
      cancel?.()
      heap.length = 0
    },
  }
}

function push(heap: Due[], due: Due) {
  let at = heap.push(due) - 1
  while (at > 0) {
    const parent = (at - 1) >> 1
    if ((heap[parent] as Due).at <= due.at) break
    heap[at] = heap[parent] as Due
    at = parent
  }
  heap[at] = due
}

function pop(heap: Due[]) {
  const last = heap.pop()
  if (last === undefined || heap.length === 0) return
  let at = 0
  for (;;) {
    let child = 2 * at + 1
    if (child >= heap.length) break
    const right = heap[child + 1]
    if (right !== undefined && right.at < (heap[child] as Due).at) child++
    if ((heap[child] as Due).at >= last.at) break
    heap[at] = heap[child] as Due
    at = child
  }
  heap[at] = last
}

/**
 * Separates work on a session from redactions in it: a worker holds the old session, and would show erased content to a
 * model. For workers of one process; a shared store refuses redactions while others work.
 */
export function createErasing() {
  const atWork = new Map<string, Set<string>>()
  const underWay = new Map<string, Promise<void>>()

  return {
    async work<T>(session_id: string, run_id: string, work: () => Promise<T>): Promise<T> {
      for (let erased = underWay.get(session_id); erased !== undefined; erased = underWay.get(session_id)) await erased
      const runs = atWork.get(session_id) ?? new Set()
      atWork.set(session_id, runs.add(run_id))
      try {
        return await work()
      } finally {
        runs.delete(run_id)
        if (runs.size === 0 && atWork.get(session_id) === runs) atWork.delete(session_id)
      }
    },

    /** Refused with `session_busy` while a worker holds a run of the session. */
    async erase(session_id: string, work: () => Promise<void>): Promise<void> {
      const [run_id] = atWork.get(session_id) ?? []
      if (run_id !== undefined) throw faults.session_busy({ session_id, run_id, asked: 'redact something in it' })
      const { promise: over, resolve } = Promise.withResolvers<void>()
      underWay.set(session_id, over)
      try {
        await work()
      } finally {
        if (underWay.get(session_id) === over) underWay.delete(session_id)
        resolve()
      }
    },
  }
}

/** The target of a command: a run, a goal, or, with neither, everything in a session. */
export interface Asked {
  readonly session_id: string
  readonly run_id?: string
  readonly goal_id?: string
}

/** For a store that one process owns: runs and deadlines wait in memory. The next process finds them in the log. */
export function dispatchHere({ engine: engineOf, limit, drive, clock, timers }: DispatchPorts): Dispatch {
  const dispatcher = createDispatcher(limit, work)
  const applying = createApplying()
  const deadlines = createDeadlines(clock, timers, (interaction_id, session_id) => {
    const { warn } = engineOf()
    applying.add(expire(engineOf(), session_id, interaction_id)).catch((error) => {
      warn('a deadline could not be applied', { interaction_id, error: readThrown(error).message })
    })
  })
  const wake = (session_id: string, run_id: string) =>
    // A wake during shutdown is dropped: the next process finds the run in the log.
    void dispatcher.wake(session_id, run_id).catch(() => {})

  async function work(session_id: string, run_id: string) {
    try {
      const wasHeld = await drive(session_id, run_id)
      await follow(session_id, run_id, wasHeld)
    } catch (error) {
      engineOf().warn('a worker stopped', { session_id, run_id, error: String((error as Error)?.stack ?? error) })
    }
  }

  async function follow(session_id: string, run_id: string, wasHeld: boolean) {
    const engine = engineOf()
    await obeyCancel(engine, session_id, run_id)
    const state = await engine.sessions.load(session_id)
    const run = state.runs.get(run_id)
    if (run === undefined) return
    if (wasHeld && run.status === 'queued') wake(session_id, run_id)
    if (!isTerminal(runMachine, run.status)) return
    await lookAfterOrphans(engine, session_id, [run.agent_id])
    for (const other of state.openRuns.values())
      if (other.status === 'queued' && other.agent_id === run.agent_id) wake(session_id, other.run_id)
  }

  return {
    wake,
    deadline: deadlines.add,
    lend: dispatcher.lend,
    // A process that only gives commands recovers nothing: the next worker does.
    start: async () => (limit === 0 ? nothingRecovered : recoverAll(engineOf())),
    idle: () => applying.idle(dispatcher.idle),
    async stop() {
      deadlines.stop()
      const stopped = dispatcher.stop()
      await applying.over()
      await stopped
    },
  }
}

/** The work of a dispatch under way, so that a stop and an idle process wait for it. */
export function createApplying() {
  const applying = new Set<Promise<unknown>>()
  const over = () => Promise.allSettled(applying)
  return {
    over,
    add<T>(applied: Promise<T>): Promise<T> {
      const leaving = applied.finally(() => applying.delete(leaving))
      applying.add(leaving)
      return leaving
    },
    async idle(rest: () => Promise<void>) {
      do {
        await over()
        await rest()
      } while (applying.size > 0)
    },
  }
}
