import { setTimeout as delay } from 'node:timers/promises'
import { lease_ms, longest_stop_ms } from './agents.ts'
import type { Worker } from './crew.ts'

export const faultKinds = [
  'kill',
  'stop',
  'skew',
  'stopAndCut',
  'cut',
  'halfOpen',
  'delay',
  'frozenTransaction',
  'crash',
] as const
export type FaultKind = (typeof faultKinds)[number]

/**
 * A tool that ignores its signal is promised nothing when its process lives on
 * and loses the database. Such tools are played with these faults only.
 */
export const gentle: ReadonlySet<FaultKind> = new Set(['kill', 'stop', 'skew'])

export interface Scene {
  readonly chance: () => number
  /** Ends every process of the database server at once and starts it again. */
  crash(): Promise<void>
  /** Another worker, on which no fault is played now. */
  other(): Promise<Worker>
}

const skews_s = [15, -15, 600, -600]

/** The effect of each fault on a worker. It resolves when the fault is over. */
export const deeds: Readonly<Record<FaultKind, (worker: Worker, scene: Scene) => Promise<void>>> = {
  async kill(worker) {
    await worker.kill()
    await worker.start()
  },
  async stop(worker, { chance }) {
    worker.signal('SIGSTOP')
    await delay(longest_stop_ms * chance())
    worker.signal('SIGCONT')
  },
  async skew(worker, { chance }) {
    await worker.kill()
    await worker.start(skews_s[Math.floor(chance() * skews_s.length)])
  },
  async stopAndCut(worker, { chance }) {
    worker.signal('SIGSTOP')
    await delay(500 * chance())
    worker.proxy.cut()
    await delay(longest_stop_ms * chance())
    worker.signal('SIGCONT')
  },
  async cut(worker) {
    worker.proxy.cut()
  },
  async halfOpen(worker, { chance }) {
    const { heal } = worker.proxy.halfOpen()
    await delay(4 * lease_ms + 4 * lease_ms * chance())
    heal()
  },
  async delay(worker, { chance }) {
    worker.proxy.slow(Math.round(20 + 400 * chance()))
    await delay(1_000 + 3_000 * chance())
    worker.proxy.slow(0)
  },
  async frozenTransaction(worker, { chance, other }) {
    const begun = Promise.withResolvers<void>()
    const forget = worker.proxy.onTransaction(() => {
      worker.signal('SIGSTOP')
      begun.resolve()
    })
    await Promise.race([begun.promise, delay(2_000)])
    forget()
    // Opening a store must not wait for open transactions.
    const starting = await other()
    await starting.kill()
    await starting.start()
    starting.isBusy = false
    await delay(longest_stop_ms * chance())
    worker.signal('SIGCONT')
  },
  crash: (_worker, { crash }) => crash(),
}
