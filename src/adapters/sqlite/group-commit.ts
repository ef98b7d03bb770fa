import { faults } from '../../faults/catalogue.ts'
import { Fault } from '../../faults/fault.ts'
import type { Rune } from '../../runes/rune.ts'
import { causeOf } from './open-database.ts'
import type { Step } from './statements.ts'

/** An accepted request: the steps to write, and the answer to its caller once they are on disk. */
export interface Decided<T> {
  readonly steps: readonly Step[]
  readonly session_id: string
  readonly answer: T
  /** The runes that it appends, if it does nothing else. */
  readonly adds?: readonly Rune[]
}

/** `decide` is called in the order of the requests and sees the rows of earlier requests in the same group. */
type Submit = <T>(decide: () => Decided<T> | Fault) => Promise<T | Fault>

interface Request {
  readonly decide: () => Decided<unknown> | Fault
  readonly resolve: (answer: unknown) => void
  readonly reject: (reason: unknown) => void
}

interface GroupPorts {
  /** All decided steps, in one transaction. After an error it is unknown whether they are on disk. */
  readonly commit: (decide: () => readonly Step[]) => void
  readonly committed: (written: readonly Decided<unknown>[]) => void
  readonly broken: (fault: Fault) => void
}

/** Requests of one turn of the event loop share one transaction and one fsync; no reader sees the state between. */
export function createGroupCommit({ commit, committed, broken }: GroupPorts) {
  let queue: Request[] = []
  let idle: (() => void)[] = []
  let held = false
  let poison: Fault | undefined

  /** One group per turn of the event loop: network work runs between two commits. */
  function flush() {
    if (held || queue.length === 0) return
    const requests = queue
    queue = []
    run(requests)
    for (const resolve of idle) resolve()
    idle = []
  }

  function run(requests: readonly Request[]) {
    const accepted: Decided<unknown>[] = []
    const answers: (() => void)[] = []
    write(() => {
      for (const { decide, resolve, reject } of requests) {
        const decided = attempt(decide)
        if (!(decided instanceof Error)) {
          accepted.push(decided)
          answers.push(() => resolve(decided.answer))
        } else answers.push(() => (decided instanceof Fault && decided.kind !== 'store' ? resolve : reject)(decided))
      }
      return accepted.flatMap(({ steps }) => steps)
    })
    if (poison !== undefined) {
      for (const { reject } of requests) reject(poison)
      return
    }
    if (accepted.length > 0) committed(accepted)
    // A refusal may depend on writes of this group, so it is answered only when they are on disk.
    for (const answer of answers) answer()
  }

  function write(decide: () => readonly Step[]) {
    if (poison !== undefined) return
    try {
      commit(decide)
    } catch (error) {
      fail(error)
    }
  }

  /** The storage failed: whether the last commits are on disk is unknown, and every further request is refused. */
  function fail(error: unknown) {
    if (poison !== undefined) return
    poison = faults.store_poisoned({ outcome: 'unknown', cause: causeOf(error) }, { cause: error })
    broken(poison)
  }

  /** Throws once the store is poisoned or shut. */
  function check() {
    if (poison !== undefined) throw poison
  }

  const submit: Submit = (decide) =>
    request(decide, (asked) => {
      queue.push(asked)
      if (queue.length === 1) setImmediate(flush)
    })

  return {
    submit,
    fail,
    shut(fault: Fault) {
      poison ??= fault
    },
    check,
    /** Commits rows that follow from earlier commits, at once. Throws if that poisons the store. */
    write(decide: () => readonly Step[]) {
      write(decide)
      check()
    },
    async drained() {
      while (queue.length > 0) await new Promise<void>((resolve) => idle.push(resolve))
    },
    /** Blocks all requests during the work; its own requests are committed at once. One at a time. */
    async hold<T>(work: (submit: Submit) => Promise<T>): Promise<T> {
      held = true
      try {
        return await work((decide) => request(decide, (asked) => run([asked])))
      } finally {
        held = false
        flush()
      }
    },
  }
}

function request<T>(decide: () => Decided<T> | Fault, ask: (request: Request) => void): Promise<T | Fault> {
  return new Promise((resolve, reject) => ask({ decide, resolve: resolve as (answer: unknown) => void, reject }))
}

function attempt(decide: () => Decided<unknown> | Fault): Decided<unknown> | Error {
  try {
    return decide()
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}
