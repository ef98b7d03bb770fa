import type { Cancel, Clock, Timers } from '../ports.ts'

interface Deadlines {
  add(interaction_id: string, session_id: string, at: number): void
  stop(): void
}

interface Due {
  readonly interaction_id: string
  readonly session_id: string
  readonly at: number
}

/** A platform timer counts in 32 bits; a deadline that is further away is looked at again on the way. */
const longest = 2 ** 31 - 1

/**
 * Every deadline there is, in one heap with one timer. A waiting session costs
 * no timer of its own, and a deadline that was answered meanwhile does nothing.
 */
export function createDeadlines(
  clock: Clock,
  timers: Timers,
  fire: (interaction_id: string, session_id: string) => void,
): Deadlines {
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
    add(interaction_id, session_id, at) {
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
