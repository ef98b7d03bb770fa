import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { type HeartData, heartBytes, heartMemory, keepBeating, monotonic, type Order, type Told } from './heartbeat.ts'

interface HeartPorts {
  readonly warn: (message: string, details: object) => void
  /** Every lease of this worker was lost. */
  readonly lost: () => void
  /** Another worker is gone. */
  readonly needed: () => void
}

/** The heartbeat of one worker, as the main thread sees it. */
export type Heart = ReturnType<typeof createHeart>

/** The way to a heartbeat. `stop` lets it finish, `kill` does not. */
interface Beating {
  send(order: Order): void
  stop(): Promise<unknown>
  kill(): void
}

/** The time between two tries to start a heartbeat that has died. */
const again_ms = 500

/** Starts the heartbeat of a worker in a thread. When the thread dies, all leases end, and another one is started. */
export function createHeart(
  worker: Pick<HeartData, 'url' | 'worker' | 'lease_ms'>,
  { warn, lost, needed }: HeartPorts,
) {
  const memory = new SharedArrayBuffer(heartBytes)
  const shared = heartMemory(memory)
  let beating: Beating | undefined
  let isOver = false
  let pool: string | null = null

  /** Resolves when the worker has joined. Rejects if it could not. */
  function start(): Promise<{ readonly isFirst: boolean }> {
    const joined = Promise.withResolvers<{ readonly isFirst: boolean }>()
    let hasJoined = false
    let isDead = false
    const die = (error: Error) => {
      joined.reject(error)
      if (isDead || !hasJoined || isOver) return
      isDead = true
      shared.renew({ monotonic: 0, now: 0 })
      shared.lose()
      warn('the heartbeat of this worker has died; its runs are given up', { error: error.message })
      lost()
      void restart()
    }
    const hear = (told: Told) => {
      if (told.told === 'joined') {
        hasJoined = true
        if (pool !== null) beating?.send({ order: 'pool', pool })
        joined.resolve(told)
      } else if (told.told === 'refused') {
        die(Object.assign(new Error(told.error.message), told.error))
        beating?.kill()
      } else if (told.told === 'failed') warn('renewing leases failed', { error: told.message })
      else if (told.told === 'lost') lost()
      else needed()
    }
    beating = begin({ ...worker, memory, drift: Date.now() - monotonic() }, hear, die)
    return joined.promise
  }

  async function restart() {
    while (!isOver) {
      await delay(again_ms)
      try {
        if (!isOver) await start()
        return
      } catch (error) {
        warn('the heartbeat of this worker could not be started', { error: String(error) })
      }
    }
  }

  return {
    start,
    last: shared.last,
    /** The main thread is alive. */
    pulse: shared.pulse,
    register(id: string | null) {
      pool = id
      beating?.send({ order: 'pool', pool })
    },
    async stop() {
      isOver = true
      await beating?.stop()
    },
    kill() {
      isOver = true
      beating?.kill()
    },
  }
}

function begin(data: HeartData, hear: (told: Told) => void, died: (error: Error) => void): Beating {
  const file = new URL(`./heartbeat-thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url)
  // A bundle of the caller has no file for the thread.
  if (!existsSync(file)) return beginHere(data, hear)
  const thread = new Worker(file, { workerData: data, execArgv: [] })
  let isGone = false
  const gone = once(thread, 'exit').catch(() => {})
  thread.on('message', hear).on('error', (thrown) => died(thrown as Error))
  thread.on('exit', () => {
    isGone = true
    died(new Error('Its thread has ended.'))
  })
  return {
    send: (order) => thread.postMessage(order),
    async stop() {
      if (isGone) return
      thread.postMessage({ order: 'stop' } satisfies Order)
      await gone
    },
    kill() {
      if (!isGone) void thread.terminate()
      isGone = true
    },
  }
}

function beginHere(data: HeartData, hear: (told: Told) => void): Beating {
  const obey = keepBeating(data, hear)
  const stop = () => obey({ order: 'stop' })
  return { send: (order) => void obey(order), stop, kill: () => void stop() }
}
