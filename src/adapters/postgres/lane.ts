import { setTimeout as delay } from 'node:timers/promises'
import { faults } from '../../faults/catalogue.ts'
import { Fault } from '../../faults/fault.ts'
import type { Head, Recorded, Refused } from '../../runelog/port.ts'
import type { Prepared } from '../../runelog/prepare.ts'
import { type Connection, causeOf, connect, isCollision, isConnectionLost, isTooSlow } from './connection.ts'
import { beginTransaction, type Transaction, type TransactionPorts } from './transaction.ts'

/** The ports of a lane. */
export interface LanePorts extends TransactionPorts {
  readonly url: string
  readonly answer_ms?: number | undefined
  readonly patience: number
  readonly committed: (session_ids: readonly string[]) => void
  /** Whether a rune was recorded, wherever it is kept by now. */
  readonly has: (connection: Connection, witness: Head) => Promise<boolean>
  /** Called when it is unknown whether something was recorded. The store then accepts no more appends. */
  readonly poisoned: (poison: Fault) => void
}

/** One try to commit a group of jobs. `terms` last for all tries. */
interface Attempt {
  readonly terms: { readonly deadline: number; collisions: number }
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

const alone_ms = 30_000
const groupLimit = 256
const collisionLimit = 20

/** One connection that writes. Requests that arrive during a commit share the next one. */
export function createLane(ports: LanePorts) {
  const queue: Job[] = []
  let connection: Connection | undefined
  let running: Promise<void> | undefined

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
    const terms = { deadline: performance.now() + ports.patience, collisions: 0 }
    for (;;) {
      const attempt: Attempt = { terms, transaction: undefined, isCommitting: false, answers: [] }
      try {
        await commit(jobs, attempt)
        return answerAll(jobs, attempt.answers)
      } catch (error) {
        if (await isAnswered(jobs, attempt, error)) return
      }
    }
  }

  async function commit(jobs: readonly Job[], attempt: Attempt) {
    connection = await connected(attempt.terms.deadline)
    const batches = jobs.map(({ batch }) => batch)
    attempt.transaction = await beginTransaction(connection, batches, ports)
    // A segment is written to disk while its session is locked; only that session waits.
    if (jobs[0]?.isAlone) await connection.text(`SET LOCAL idle_in_transaction_session_timeout = ${alone_ms}`)
    for (const job of jobs) attempt.answers.push(await job.work(attempt.transaction))
    attempt.isCommitting = true
    if (!(await attempt.transaction.commit())) throw new Error('The server rolled back a transaction without an error.')
  }

  /** Answers the jobs of a failed attempt. False: nothing was recorded, try again. */
  async function isAnswered(jobs: readonly Job[], attempt: Attempt, error: unknown): Promise<boolean> {
    const isTimeLeft = () => performance.now() < attempt.terms.deadline
    if (!(error instanceof Fault) && isLost(error)) {
      await connection?.end()
      connection = undefined
      const { isCommitting, transaction, answers } = attempt
      const fate = isCommitting && transaction !== undefined ? await fateOf(transaction, error) : 'undone'
      if (fate === 'undone' && isTimeLeft()) return false
      if (fate === 'committed') answerAll(jobs, answers)
      else refuse(jobs, fate === 'undone' ? unreachable(error, ports.store) : fate)
      return true
    }
    // Releases the locks of the transaction now, not when this lane is used again.
    await connection?.send('rollback').catch(() => {})
    const isSlow = isTooSlow(error) && jobs.length === 1
    if (error instanceof Fault) refuse(jobs, error)
    else if (isCollision(error) && ++attempt.terms.collisions < collisionLimit) return false
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
    return reconnect(ports, deadline)
  }

  /**
   * Finds out whether a lost commit was recorded, by its runes. The server's status of the transaction does not count:
   * after a crash another transaction may have its id.
   */
  async function fateOf({ xid, witness }: Transaction, lost: unknown): Promise<'committed' | 'undone' | Fault> {
    const proof = witness()
    const deadline = performance.now() + ports.patience
    let cause = lost
    while (proof !== undefined && performance.now() < deadline) {
      try {
        connection = await connected(deadline)
        const [answer] = await connection.send<{ fate: string | null }>('fateOf', xid).catch(forgotten)
        if (answer?.fate !== 'in progress') return (await ports.has(connection, proof)) ? 'committed' : 'undone'
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

  /** After a crash the server may not know the transaction id and rejects the parameter: the transaction is over. */
  function forgotten(error: unknown): { fate: null }[] {
    if ((error as { code?: string }).code === '22023') return [{ fate: null }]
    throw error
  }

  function answerAll(jobs: readonly Job[], answers: readonly unknown[]) {
    const written = jobs.filter((_, i) => !(answers[i] instanceof Fault))
    if (written.length > 0) ports.committed([...new Set(written.map(({ batch }) => batch.session_id))])
    for (const [i, job] of jobs.entries()) job.resolve(answers[i])
  }

  function refuse(jobs: readonly Job[], reason: unknown) {
    const isRefusal = reason instanceof Fault && reason.kind !== 'store'
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
