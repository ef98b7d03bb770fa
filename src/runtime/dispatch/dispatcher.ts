import { faults } from '../../faults/catalogue.ts'
import { worksFor } from '../../observation/goal-state.ts'
import { obstacleTo } from '../../observation/obstacle.ts'
import type { SessionState } from '../../observation/session-state.ts'
import type { Engine } from '../engine.ts'
import type { Cancel, Clock, Timers } from '../ports.ts'
import type { Recovered } from '../recovery/recover.ts'

type Entry = { readonly session_id: string; readonly seen: PromiseWithResolvers<void> }

/**
 * Hands runs to workers of this process, at most `limit` at once; the others wait in the order in which they were woken.
 * It only wakes: the log decides whether a run may be taken.
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
      void work(entry.session_id, run_id)
        .then(entry.seen.resolve, entry.seen.reject)
        .finally(() => {
          busy.delete(run_id)
          pump()
        })
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
     * Resolves when the worker has let go of the run. A run that is worked on is worked on once more afterwards; its
     * wake resolves at once, so that the job frees its slot for the runs that this one may wait for.
     */
    wake(session_id: string, run_id: string): Promise<void> {
      if (isStopping) return Promise.reject(new Error('This worker takes no more runs.'))
      const entry = queue.get(run_id) ?? { session_id, seen: Promise.withResolvers<void>() }
      queue.set(run_id, entry)
      if (busy.has(run_id)) entry.seen.resolve()
      else pump()
      return entry.seen.promise
    },
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
  /** Takes a run and works on it until it is over for this worker. False: it was not there to be taken. */
  readonly drive: (session_id: string, run_id: string) => Promise<boolean>
}

type Due = { readonly interaction_id: string; readonly session_id: string; readonly at: number }

/** A platform timer counts in 32 bits; a deadline that is further away is looked at again on the way. */
const longest = 2 ** 31 - 1

/** All deadlines in one heap with one timer. The deadline of an answered question has no effect. */
export function createDeadlines(
  clock: Clock,
  timers: Timers,
  fire: (interaction_id: string, session_id: string) => void,
) {
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
 * Keeps the work on a session apart from redactions in it: a worker holds the session as it was, and would show a model
 * what was erased since. For the workers of one process; a shared store refuses by itself while others work.
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

/** What a command asks to be carried out: a run, a goal, or, with neither, everything in a session. */
export interface Asked {
  readonly session_id: string
  readonly run_id?: string
  readonly goal_id?: string
}

/** The work of a process that runs for one command. It takes no other run of the store. */
export interface Assignment {
  add(asked: Asked): void
  isAsked(asked: Asked): boolean
  sessions(): readonly string[]
  /** The open runs of a session that may be taken: those that were asked for, and all that they need. */
  neededIn(state: SessionState): ReadonlySet<string>
}

/** An empty assignment. */
export function createAssignment(): Assignment {
  const all: Asked[] = []
  const isAsked = (asked: Asked) =>
    all.some(
      ({ session_id, run_id, goal_id }) =>
        session_id === asked.session_id && run_id === asked.run_id && goal_id === asked.goal_id,
    )

  function isNamed(state: SessionState, { run_id, agent_id }: { run_id: string; agent_id: string }): boolean {
    const { session_id } = state
    const isOfGoal = () =>
      [...state.goals.values()].some(
        (goal) => isAsked({ session_id, goal_id: goal.goal_id }) && worksFor(state, goal, agent_id),
      )
    return isAsked({ session_id, run_id }) || isAsked({ session_id }) || isOfGoal()
  }

  return {
    isAsked,
    add(asked) {
      if (!isAsked(asked)) all.push(asked)
    },
    sessions: () => [...new Set(all.map(({ session_id }) => session_id))],
    neededIn(state) {
      const open = [...state.openRuns.values()]
      const needed = new Set(open.filter((run) => isNamed(state, run)).map(({ run_id }) => run_id))
      for (let before = -1; before !== needed.size; ) {
        before = needed.size
        for (const run of open) {
          if (needed.has(run.parent_run_id ?? '')) needed.add(run.run_id)
          // Its agent has to end another run first.
          const obstacle = run.status === 'queued' && needed.has(run.run_id) ? obstacleTo(state, run) : null
          if (obstacle?.what === 'run') needed.add(obstacle.id)
        }
      }
      return needed
    },
  }
}
