import { setTimeout as delay } from 'node:timers/promises'
import { faults, isFault } from '../../faults/catalogue.ts'
import { Fault } from '../../faults/fault.ts'
import type { Head, Ports, Recorded, Refused } from '../../runelog/port.ts'
import type { Prepared } from '../../runelog/prepare.ts'
import { type Connection, causeOf, connect, isCollision, isConnectionLost, isTooSlow } from './connection.ts'
import { createKnown } from './known.ts'
import { hearingLock, type Queued } from './schema.ts'
import { beginTransaction, type Transaction, type TransactionPorts } from './transaction.ts'

/** The ports of a lane. */
export interface LanePorts extends TransactionPorts, Pick<Ports, 'random'> {
  readonly url: string
  readonly answer_ms?: number | undefined
  readonly patience: number
  readonly committed: (session_ids: readonly string[], queued: Queued | undefined) => void
  /** Whether this lane holds the lock of its process that makes others announce their commits. */
  readonly hears?: (isHeld: boolean) => void
  /** Whether a rune was recorded, wherever it is kept by now. */
  readonly has: (connection: Connection, witness: Head) => Promise<boolean>
  /** Called when it is unknown whether something was recorded. The store then accepts no more appends. */
  readonly poisoned: (poison: Fault) => void
}

/** One try to commit a group of jobs. `terms` last for all tries. */
interface Attempt {
  readonly terms: { readonly deadline: number; collisions: number; isCareful: boolean }
  transaction: Transaction | undefined
  isCommitting: boolean
  readonly answers: unknown[]
}

interface Job {
  readonly batch: Prepared
  readonly isAlone: boolean
  readonly work: (transaction: Transaction) => Promise<unknown>
  readonly resolve: (answer: unknown) => void
  readonly reject: (reason: unknown) => void
}

/** A refusal that may follow from what the lane knew wrongly: everything is read and judged again. */
class Doubt extends Error {}

const alone_ms = 30_000
const groupLimit = 256
const collisionLimit = 20

/** One connection that writes. Requests that arrive during a commit share the next one. */
export function createLane(ports: LanePorts) {
  const queue: Job[] = []
  let connection: Connection | undefined
  let running: Promise<void> | undefined
  const known = createKnown(ports.models)
  /** The lock that the connection holds. */
  let mark = ''

  function submit<T>(job: Omit<Job, 'resolve' | 'reject'>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      queue.push({ ...job, resolve: resolve as (answer: unknown) => void, reject })
      running ??= drain()
    })
  }

  async function drain() {
    // Requests of one turn of the event loop share a transaction.
    await Promise.resolve()
    while (queue.length > 0) {
      const until = queue.findIndex((job, i) => i === groupLimit || (job.isAlone && i > 0))
      const group = queue[0]?.isAlone ? 1 : until === -1 ? queue.length : until
      await run(queue.splice(0, group))
    }
    running = undefined
  }

  async function run(jobs: readonly Job[]): Promise<void> {
    // Other work on a session may change rows without what the lane knows of them.
    const isCareful = jobs[0]?.isAlone === true
    const terms = { deadline: performance.now() + ports.patience, collisions: 0, isCareful }
    for (;;) {
      const attempt: Attempt = { terms, transaction: undefined, isCommitting: false, answers: [] }
      try {
        await commit(jobs, attempt)
        return answerAll(jobs, attempt)
      } catch (error) {
        // Its knowledge may be wrong. The next try reads everything.
        known.forget(jobs.map(({ batch }) => batch.session_id))
        terms.isCareful = true
        if (await isAnswered(jobs, attempt, error)) return
      }
    }
  }

  async function commit(jobs: readonly Job[], attempt: Attempt) {
    connection = await connected(attempt.terms.deadline)
    const batches = jobs.map(({ batch }) => batch)
    const transaction = beginTransaction(connection, batches, ports, attempt.terms.isCareful ? undefined : known)
    attempt.transaction = transaction
    await transaction.begin()
    // A segment is written to disk while its session is locked; only that session waits.
    if (jobs[0]?.isAlone) await connection.text(`SET LOCAL idle_in_transaction_session_timeout = ${alone_ms}`)
    for (const job of jobs) attempt.answers.push(await job.work(transaction))
    if (transaction.reliesOnKnown() && attempt.answers.some((answer) => answer instanceof Fault)) throw new Doubt()
    attempt.isCommitting = true
    if (!(await transaction.commit())) throw new Error('The server rolled back a transaction without an error.')
  }

  /** Answers the jobs of a failed attempt. False: nothing was recorded, try again. */
  async function isAnswered(jobs: readonly Job[], attempt: Attempt, error: unknown): Promise<boolean> {
    const isTimeLeft = () => performance.now() < attempt.terms.deadline
    const { terms } = attempt
    const isDoubtful = error instanceof Doubt
    if (!(error instanceof Fault || isDoubtful) && isLost(error)) {
      await connection?.end()
      connection = undefined
      const { isCommitting, transaction } = attempt
      const fate = isCommitting && transaction !== undefined ? await fateOf(transaction, error) : 'undone'
      if (fate === 'undone' && isTimeLeft()) return false
      if (fate === 'committed') answerAll(jobs, attempt)
      else refuse(jobs, fate === 'undone' ? unreachable(error, ports.store) : fate)
      return true
    }
    // Releases the locks of the transaction now, not when this lane is used again.
    if (attempt.transaction?.hasBegun()) await connection?.send('rollback').catch(() => {})
    const isSlow = isTooSlow(error) && jobs.length === 1
    if (isDoubtful) return false
    if (error instanceof Fault && (jobs.length === 1 || !isFault(error, 'store_damaged'))) refuse(jobs, error)
    else if (isCollision(error) && ++terms.collisions < collisionLimit) return false
    else if (isSlow && isTimeLeft()) return false
    else if (isSlow) refuse(jobs, unreachable(error, ports.store))
    else if (jobs.length === 1) refuse(jobs, explain(error, jobs[0] as Job, ports.store))
    // One of the jobs may be the cause; the others must not fail with it.
    else for (const job of jobs) await run([job])
    return true
  }

  const isLost = (error: unknown) => connection === undefined || !connection.isOpen() || isConnectionLost(error)

  async function connected(deadline: number): Promise<Connection> {
    if (connection?.isOpen()) return connection
    await connection?.end()
    const next = await reconnect(ports, deadline)
    const lock = BigInt.asIntN(64, BigInt(`0x${ports.random(8)}`)).toString()
    const locked = [next.send('mark', lock), ...(ports.hears === undefined ? [] : [next.send('hear', hearingLock)])]
    await Promise.all(locked).catch(async (error) => {
      await next.end()
      throw error
    })
    mark = lock
    ports.hears?.(true)
    void next.ended.then(() => ports.hears?.(false))
    return next
  }

  /**
   * Finds out whether a lost commit was recorded, by its runes. They count once the lost connection is gone from the
   * server: until then it may still carry out what it was sent.
   */
  async function fateOf({ witness }: Transaction, lost: unknown): Promise<'committed' | 'undone' | Fault> {
    const proof = witness()
    const deadline = performance.now() + ports.patience
    const lostMark = mark
    let cause = lost
    while (proof !== undefined && performance.now() < deadline) {
      try {
        connection = await connected(deadline)
        // Without the permission, the server closes it by itself.
        await connection.send('sever', lostMark).catch(() => {})
        const [answer] = await connection.send<{ gone: boolean }>('isGone', lostMark)
        if (answer?.gone) return (await ports.has(connection, proof)) ? 'committed' : 'undone'
        await delay(20)
      } catch (error) {
        // An unreachable server does not mean that this commit was not recorded. Only the reason is passed on.
        cause = error instanceof Fault ? (error.cause ?? error) : error
      }
    }
    if (proof === undefined) return 'undone'
    const poison = faults.store_poisoned({ outcome: 'unknown', cause: causeOf(cause) }, { cause })
    ports.poisoned(poison)
    return poison
  }

  function answerAll(jobs: readonly Job[], { answers, transaction }: Attempt) {
    const written = jobs.filter((_, i) => !(answers[i] instanceof Fault))
    const session_ids = [...new Set(written.map(({ batch }) => batch.session_id))]
    if (written.length > 0) ports.committed(session_ids, transaction?.queued())
    for (const [i, job] of jobs.entries()) (isOfStore(answers[i]) ? job.reject : job.resolve)(answers[i])
  }

  function refuse(jobs: readonly Job[], reason: unknown) {
    const isRefusal = reason instanceof Fault && !isOfStore(reason)
    for (const job of jobs) (isRefusal ? job.resolve : job.reject)(reason)
  }

  return {
    append(batch: Prepared): Promise<Recorded | Refused> {
      const work = async (transaction: Transaction) => {
        const result = await transaction.record(batch)
        return result instanceof Fault ? result : result.runes
      }
      return submit({ batch, isAlone: false, work })
    },
    /** Work on one session in its own transaction. It may be retried, so it must have no other effect. */
    alone<T>(session_id: string, work: (transaction: Transaction) => Promise<T | Fault>): Promise<T | Fault> {
      return submit({ batch: { session_id, runes: [], expect: [], fence: undefined }, isAlone: true, work })
    },
    /** Another process has written to a session. */
    outdate: known.outdate,
    /** All runes that a session had after an event, when they were read. */
    learn: known.learn,
    /** The content of a session was redacted. */
    forget: known.forget,
    async close(): Promise<void> {
      while (running !== undefined) await running
      await connection?.end()
    },
  }
}

/** Waits for a database that restarts or is unreachable, until the deadline. Nothing has been written then. */
export async function reconnect(
  { url, store, answer_ms }: Pick<LanePorts, 'url' | 'store' | 'answer_ms'>,
  deadline: number,
): Promise<Connection> {
  for (let pause = 10; ; pause = Math.min(pause * 2, 500)) {
    try {
      return await connect(url, answer_ms)
    } catch (error) {
      // The package is missing, or the address cannot be read: no retry helps.
      if (error instanceof Fault) throw error
      const { code = '' } = error as { code?: string }
      if (code.startsWith('28') || code === '3D000')
        throw faults.store_unusable({ store, problem: `${causeOf(error)}.` }, { cause: error })
      if (performance.now() + pause > deadline) throw unreachable(error, store)
    }
    await delay(pause)
  }
}

/** A failure of the store is thrown; every other fault is an answer. */
const isOfStore = (answer: unknown) => answer instanceof Fault && answer.kind === 'store'

const unreachable = (cause: unknown, store: string) =>
  faults.store_unreachable({ store, cause: causeOf(cause) }, { cause })

function explain(error: unknown, job: Job, store: string): unknown {
  const { code } = error as { code?: string }
  if (code === undefined) return error
  // Text that PostgreSQL cannot hold, such as a zero byte in a key.
  const kind = job.batch.runes[0]?.rune.kind ?? 'any'
  if (code.startsWith('22')) return faults.rune_malformed({ kind, problem: causeOf(error) }, { cause: error })
  return faults.store_unusable({ store, problem: `${causeOf(error)}; nothing was recorded.` }, { cause: error })
}
