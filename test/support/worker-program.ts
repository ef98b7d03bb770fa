import { writeSync } from 'node:fs'
import pg from 'pg'
import { closeStore, openStore } from '../../src/app/open-store.ts'
import { createStatewright } from '../../src/app/statewright.ts'
import { accepted } from '../../src/faults/catalogue.ts'
import { Fault } from '../../src/faults/fault.ts'
import type { Append, Runelog } from '../../src/runelog/port.ts'
import type { Rune } from '../../src/runes/rune.ts'
import type { Settings } from '../../src/runtime/engine.ts'
import { storeWith } from './store-with.ts'
import { workerAgents } from './worker-agents.ts'

/**
 * A worker to be stopped and killed: `worker-program.ts OPTIONS`. It says on its
 * standard output what it recorded and what was refused, one JSON object per line.
 */
export interface ProgramOptions {
  readonly url: string
  readonly witness: string
  readonly limit: number
  readonly settings: Partial<Settings> & { readonly leaseMs: number }
  /** How far the clock of its machine is ahead. The monotonic clock is right. */
  readonly skew_ms?: number
  /** Stops itself in the middle of the first transaction in which it would begin a payment. */
  readonly stop_in_transaction?: boolean
  /** Stops itself when it has begun so many payments: each is recorded, and the last one not yet carried out. */
  readonly stop_at_payment?: number
}

export type Said =
  | { readonly said: 'frozen' }
  | { readonly said: 'ready' }
  | { readonly said: 'warned'; readonly message: string; readonly details: object }
  | {
      readonly said: 'recorded' | 'refused'
      readonly session_id: string
      readonly run_id: string
      readonly epoch: number
      readonly event_ids: readonly number[]
      readonly code: string | null
    }
  | { readonly said: 'stopping'; readonly session_id: string; readonly run_id: string; readonly execution_id: string }

const options = JSON.parse(process.argv[2] ?? '') as ProgramOptions
const { url, witness, limit, settings, stop_at_payment, stop_in_transaction } = options
const say = (said: Said) => writeSync(1, `${JSON.stringify(said)}\n`)
const warn = (message: string, details: object) => void say({ said: 'warned', message, details })

let payments = 0

/** Between the commit that begins a payment and its caller: here the process stops, and later goes on. */
function watched(runelog: Runelog): Runelog {
  return {
    ...runelog,
    async append(batch) {
      const { session_id, fence } = batch
      try {
        const runes = accepted(await runelog.append(batch))
        if (fence !== undefined)
          say({ said: 'recorded', session_id, ...fence, event_ids: runes.map((r) => r.event_id), code: null })
        const begun = runes.find((r) => r.kind === 'contract.moved' && r.to === 'running')
        if (begun !== undefined && ++payments === stop_at_payment) {
          const { run_id = '', execution_id = '' } = begun
          say({ said: 'stopping', session_id, run_id, execution_id })
          process.kill(process.pid, 'SIGSTOP')
          await speakLate(runelog, begun, batch)
        }
        return runes
      } catch (error) {
        if (error instanceof Fault && fence !== undefined)
          say({ said: 'refused', session_id, ...fence, event_ids: [], code: error.code })
        if (error instanceof Fault && error.kind !== 'store') return error
        throw error
      }
    },
  }
}

/** It wakes, and says something before it looks at any lease. */
async function speakLate(
  runelog: Runelog,
  { run_id = '', agent_id = '', turn_id = '' }: Rune,
  { session_id, fence }: Append,
) {
  if (fence === undefined) return
  const payload = { content: 'late', channel: 'text', round: 1, offset: 0 } as const
  const late = {
    kind: 'turn.assistant_delta',
    at: Date.now(),
    actor: 'reasoning',
    run_id,
    agent_id,
    turn_id,
    payload,
  } as const
  const spoken = await runelog.append({ session_id, fence, runes: [late] }).catch((error: Fault) => error)
  const refused = spoken instanceof Fault ? spoken.code : null
  say({ said: refused === null ? 'recorded' : 'refused', session_id, ...fence, event_ids: [], code: refused })
}

/** Right after a transaction has written, the process stops: the locks of the transaction stay. */
function freezeInTransaction() {
  const { query } = pg.Client.prototype
  pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
    const { text } = given[0] as { text?: string }
    if (!text?.startsWith('SELECT statewright.record(')) return Reflect.apply(query, this, given)
    // A commit is one statement. In a transaction of its own it keeps what it locks.
    Reflect.apply(query, this, ['BEGIN'])
    const written = Reflect.apply(query, this, given) as unknown as Promise<unknown>
    void written.then(() => {
      say({ said: 'frozen' })
      process.kill(process.pid, 'SIGSTOP')
    })
    return written
  } as typeof query
}

if (stop_in_transaction) freezeInTransaction()
const store = await openStore(url, { leaseMs: settings.leaseMs, warn })
const sw = await createStatewright({
  store: storeWith(store, { runelog: watched(store.runelog) }),
  agents: workerAgents(witness),
  settings,
  maxConcurrentRuns: limit,
  warn,
})
say({ said: 'ready' })
process.once('SIGTERM', async () => {
  await sw.close()
  await closeStore(store)
})
