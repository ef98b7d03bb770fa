import { EventEmitter } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger, TaskList, WorkerEvents, WorkerPool } from 'graphile-worker'
import type pg from 'pg'
import { type Job, runJob, type Task } from '../../runtime/dispatch/jobs-for.ts'
import type { Tasks } from '../../runtime/store.ts'
import type { Modules } from '../peer.ts'
import { createSemaphore } from './connection.ts'
import { jobColumns, priorities } from './members.ts'
import { jobsSchema } from './schema.ts'
import { statements } from './statements.ts'

/** How often the queue is polled for jobs that fall due, or that a dead worker had. New jobs are announced. */
const look_ms = 250
/** How long a queue may take to report its last jobs. A queue that failed to report before may never resolve. */
const report_ms = 5_000
/** The delay before another queue replaces a broken one; it grows if that one breaks, too. */
const again_ms = { least: 125, most: 1_000 }
/** The polling of the queue itself would ask once per free slot. */
const poll_ms = 60_000

type PayloadOf<T extends Task> = Extract<Job, { readonly task: T }>['payload']

/** The package of the queue. A store that is only read does not load it. */
export type Queue = Modules['graphile-worker']

/** The queue of jobs that wakes workers. */
export type Jobs = ReturnType<typeof startJobs>

const add = (task: Task, more = '') => `SELECT (${jobsSchema}.add_job('${task}', $1::json, job_key := $2${more})).id`

/** Delays a run, with backoff: another worker may have its agent. */
const passOn = add('run', ", run_at := now() + least(30000, 250 * 1.5 ^ $3::int) * interval '1 millisecond'")
/** Delays a session: until this worker has left, it may get the job again. */
const leaveTo = add('session', ", run_at := now() + interval '250 milliseconds', priority := $3::int")
/** Passes a deadline on. It is due by the clock of the database; the next worker compares it with its own clock. */
const handOver = add('deadline')

interface QueuePorts {
  readonly queue: Queue
  readonly warn: (message: string, details: object) => void
  /** Another queue replaced a broken one, which may have fetched jobs without running them. */
  readonly replaced: () => void
}

/** Runs the jobs of the queue. A failed task is retried with a growing delay. */
export function startJobs(pool: pg.Pool, tasks: Tasks, limit: number, { queue: library, warn, replaced }: QueuePorts) {
  silenceTraces()
  // Shared by all queues of this worker: jobs of a broken queue count, too.
  const withinLimit = createSemaphore(limit)
  const underWay = new Set<Promise<unknown>>()
  let isAbandoned = false
  let isStopping = false

  /** Runs a task within the limit. After `abandon` its end is never reported, as if the process had died. */
  function place<T>(task: () => Promise<T>): Promise<T> {
    const done = withinLimit(task).finally(() => underWay.delete(done))
    underWay.add(done)
    return done.finally(() => (isAbandoned ? new Promise<never>(() => {}) : undefined))
  }

  const list: TaskList = {
    async run(payload) {
      const { session_id, run_id, passed = 0 } = payload as PayloadOf<'run'> & { passed?: number }
      if ((await place(() => tasks.run(session_id, run_id))) === 'seen') return
      await pool.query(passOn, [JSON.stringify({ session_id, run_id, passed: passed + 1 }), run_id, passed])
    },
    async deadline(payload) {
      const { session_id, interaction_id } = payload as PayloadOf<'deadline'>
      if ((await place(() => tasks.deadline(session_id, interaction_id))) === 'applied') return
      await pool.query(handOver, [JSON.stringify({ session_id, interaction_id }), interaction_id])
    },
    async session(payload) {
      const { session_id } = payload as PayloadOf<'session'>
      const run_ids = await place(() => tasks.session(session_id))
      if (run_ids === 'elsewhere')
        return void (await pool.query(leaveTo, [JSON.stringify({ session_id }), session_id, priorities.session]))
      const jobs = run_ids.map((run_id) => runJob(session_id, run_id))
      if (jobs.length > 0) await pool.query(statements.addJobs, [...jobColumns(jobs)])
    },
  }

  /** A queue ends when it cannot report a job, or here when a fetch gets no answer: its job may be locked for hours. */
  function begin() {
    const events: WorkerEvents = new EventEmitter()
    for (const looked of ['worker:getJob:empty', 'job:start'] as const)
      events.once(looked, () => {
        pause = again_ms.least
      })
    events.on('worker:getJob:error', ({ worker: { workerPool } }) => {
      if (workerPool === queue) void shutDown()
    })
    events.once('pool:gracefulShutdown', () => {
      queue = undefined
      if (isStopping) return
      beginning = setTimeout(() => {
        begin()
        replaced()
      }, pause)
      pause = Math.min(2 * pause, again_ms.most)
    })
    const options = { schema: jobsSchema, concurrency: limit, pollInterval: poll_ms, noHandleSignals: true, events }
    const preset = { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } }
    queue = library.runTaskList({ ...options, logger: quiet(library, warn), preset }, list, pool)
  }

  const shutDown = () => Promise.resolve(queue?.gracefulShutdown('the worker leaves')).catch(() => {})

  let queue: WorkerPool | undefined
  let beginning: NodeJS.Timeout | undefined
  let pause = again_ms.least
  let stopped: Promise<void> | undefined
  begin()
  const looking = setInterval(() => queue?.nudge(1), look_ms)
  /** Takes nothing more, and resolves when every task is over. */
  async function end() {
    isStopping = true
    clearInterval(looking)
    clearTimeout(beginning)
    const ended = shutDown()
    while (underWay.size > 0) await Promise.allSettled(underWay)
    // Jobs that it could not report by then are freed as if the worker had died.
    const enough = new AbortController()
    const waited = delay(report_ms, undefined, { signal: enough.signal }).catch(() => {})
    if (!isAbandoned) await Promise.race([ended, waited])
    enough.abort()
  }
  const stop = () => (stopped ??= end())
  return {
    id: () => queue?.id ?? null,
    stop,
    abandon() {
      isAbandoned = true
      void stop()
    },
  }
}

/** graphile-worker prints a stack trace for each place of a broken queue, past its logger. Other traces are printed. */
function silenceTraces() {
  const { trace } = console
  if ('isFiltered' in trace) return
  const filtered = (...values: unknown[]) => {
    if (!(new Error().stack ?? '').includes('graphile-worker')) trace(...values)
  }
  console.trace = Object.assign(filtered, { isFiltered: true })
}

/** Passes on only errors and warnings, and only their first line: the rest is a trace of library code. */
function quiet({ Logger }: Queue, warn: QueuePorts['warn']): Logger {
  return new Logger(() => (level, message) => {
    const [problem = ''] = message.split('\n', 1)
    if (level === 'error' || level === 'warning')
      warn('the queue reports a problem', { message: problem.slice(0, 300) })
  })
}
