import { EventEmitter } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger, TaskList, WorkerEvents, WorkerPool } from 'graphile-worker'
import type pg from 'pg'
import { type Job, runJob, type Task } from '../../runtime/dispatch/jobs-for.ts'
import type { Tasks } from '../../runtime/store.ts'
import type { Modules } from '../peer.ts'
import { createSemaphore } from './connection.ts'
import { jobColumns, priorities } from './members.ts'
import type { Resuming } from './resuming.ts'
import { jobsSchema, type Queued } from './schema.ts'
import { statements } from './statements.ts'

/** How often the queue is polled for jobs that fall due, or that a dead worker had. New jobs are announced. */
const look_ms = 250
/** How long a queue may take to report its last jobs. A queue that failed to report before may never resolve. */
const report_ms = 5_000
/** The delay before another queue replaces a broken one; it grows if that one breaks, too. */
const again_ms = { least: 125, most: 1_000 }
/** The polling of the queue itself would ask once per free slot. */
const poll_ms = 60_000
/** The ends of jobs are reported together: a job whose end is lost runs again, and finds nothing to do. */
const batch_ms = 5
/** How long a fetched job may wait for a slot here. Then any worker may fetch it. */
const hold_ms = 100
/** How long the worker that parked a run has before the others look for its job. */
const resume_ms = 25
/** The least time between two fetches that were asked for: jobs that are queued meanwhile are fetched together. */
const gather_ms = 4

type PayloadOf<T extends Task> = Extract<Job, { readonly task: T }>['payload']

/** The package of the queue. A store that is only read does not load it. */
export type Queue = Modules['graphile-worker']

/** Hears that a commit to these sessions queued jobs. */
export type Hear = (queued: Queued, session_ids: readonly string[]) => void

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
  /** The connections on which the queue fetches jobs and reports their ends. */
  readonly queuePool: pg.Pool
  readonly warn: (message: string, details: object) => void
  /** Another queue replaced a broken one, which may have fetched jobs without running them. */
  readonly replaced: () => void
  /** Functions to call when jobs were queued. */
  readonly queued: Set<Hear>
  readonly resuming: Resuming
}

/** Runs the jobs of the queue. A failed task is retried with a growing delay. */
export function startJobs(
  pool: pg.Pool,
  tasks: Tasks,
  limit: number,
  { queue: library, queuePool, warn, replaced, queued, resuming }: QueuePorts,
) {
  silenceTraces()
  // No `refetchDelay`: the queue forgets calls that come during that delay, or during the fetch before it.
  const localQueue = { size: limit, ttl: hold_ms }
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
      if ((await place(() => tasks.run(session_id, run_id))) !== 'elsewhere') return
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
      if (jobs.length === 0) return
      await pool.query(statements.addJobs, [...jobColumns(jobs)])
      look()
    },
  }

  /** A queue ends when it cannot report a job, or here when a fetch gets no answer: its job may be locked for hours. */
  function begin() {
    const events: WorkerEvents = new EventEmitter()
    let hasEnded = false
    events.once('localQueue:getJobs:complete', () => {
      pause = again_ms.least
    })
    events.on('localQueue:setMode', ({ newMode }) => {
      hasEnded ||= newMode === 'RELEASED'
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
    const preset = { worker: { completeJobBatchDelay: batch_ms, failJobBatchDelay: batch_ms, localQueue } }
    const failed = () => void shutDown()
    const logger = quiet(library, { warn, failed })
    const connections = connectionsOf(queuePool, () => hasEnded)
    queue = library.runTaskList({ ...options, logger, preset }, list, connections)
  }

  const shutDown = () => Promise.resolve(queue?.gracefulShutdown('the worker leaves')).catch(() => {})

  let queue: WorkerPool | undefined
  let beginning: NodeJS.Timeout | undefined
  let pause = again_ms.least
  let stopped: Promise<void> | undefined
  let gathering: NodeJS.Timeout | undefined
  let isAskedAgain = false
  begin()
  /** Asks the queue to fetch jobs: at once, or a moment after the last time. */
  function look() {
    isAskedAgain = gathering !== undefined
    if (isAskedAgain) return
    queue?.nudge(1)
    gathering = setTimeout(() => {
      gathering = undefined
      if (isAskedAgain) look()
    }, gather_ms)
  }
  const looking = setInterval(look, look_ms)
  queued.add(hear)
  let later: NodeJS.Timeout | undefined
  function lookLater() {
    later ??= setTimeout(() => {
      later = undefined
      look()
    }, resume_ms)
  }

  /**
   * The worker that parked a run takes it at once, if it has a free slot. If it does not, its job is fetched. A notice
   * names no run, and the commit that parks one may be announced, too: the deadline of its question is a job.
   */
  function hear(what: Queued, session_ids: readonly string[]) {
    const free = limit - underWay.size
    const runs = free > 0 ? resuming.of(session_ids).slice(0, free) : []
    // If such a run still waits, the notice was about something else, such as another run of its session.
    const went = (how: unknown) => how === 'kept' && !isStopping && lookLater()
    for (const run of runs)
      resuming.take(run, () => place(() => tasks.run(run.session_id, run.run_id))).then(went, look)
    if (what === 'jobs' || free <= 0) look()
    else if (runs.length < session_ids.length) lookLater()
  }

  /** Takes nothing more, and resolves when every task is over. */
  async function end() {
    isStopping = true
    clearInterval(looking)
    queued.delete(hear)
    clearTimeout(later)
    clearTimeout(beginning)
    clearTimeout(gathering)
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

/**
 * The connections of a queue. It asks for the one on which it would listen for new jobs with a callback, and for all
 * others with a promise: the store listens already, and each commit of any process wakes who listens. When it has
 * ended and cannot return jobs, it throws where no code catches. They are freed like those of a dead worker.
 */
function connectionsOf(pool: pg.Pool, hasEnded: () => boolean): pg.Pool {
  async function lazily() {
    // A promise: two queries at once share a connection.
    let client: Promise<pg.PoolClient> | undefined
    return {
      async query(config: pg.QueryConfig) {
        try {
          client ??= pool.connect().catch((error) => {
            client = undefined
            throw error
          })
          return await (await client).query(config)
        } catch (error) {
          if (hasEnded() && config.name?.startsWith('return_job')) return { rows: [] }
          throw error
        }
      },
      release: () => client?.then((own) => own.release()).catch(() => {}),
    }
  }
  const connect = (done?: unknown) => (done === undefined ? lazily() : undefined)
  return Object.assign(Object.create(pool), { connect })
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
function quiet({ Logger }: Queue, { warn, failed }: Pick<QueuePorts, 'warn'> & { failed: () => void }): Logger {
  return new Logger(() => (level, message) => {
    const [problem = ''] = message.split('\n', 1)
    // A failed fetch is reported nowhere else. Its jobs may be locked.
    if (problem.startsWith('Error occurred fetching jobs')) failed()
    if (level === 'error' || level === 'warning')
      warn('the queue reports a problem', { message: problem.slice(0, 300) })
  })
}
