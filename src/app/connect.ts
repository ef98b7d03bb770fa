import { createIds, hostPorts, systemClock, systemRandom, systemTimers } from '../adapters/host/ports.ts'
import { createGoals, type Goals } from '../autonomy/goals/goals.ts'
import type { StorePorts } from '../runelog/port.ts'
import type { Assignment } from '../runtime/dispatch/dispatch.ts'
import { type Autonomy, type Engine, noAutonomy, type Settings } from '../runtime/engine.ts'
import type { Clock, Ids, Random, Timers } from '../runtime/ports.ts'
import { createRuntime } from '../runtime/runtime.ts'
import type { SharedStore } from '../runtime/store.ts'
import { defaultSettings } from './defaults.ts'
import { openPlans, type PlanOptions } from './open-plans.ts'
import type { Store } from './open-store.ts'

/** Time, timers, ids and randomness, which a test can replace. Default: those of the system. */
export interface PortOptions {
  /** The time that the runtime reads. */
  readonly clock?: Clock
  /** Calls back after a while: timeouts, retries, deadlines and leases. */
  readonly timers?: Timers
  /** Makes the ids of runs, turns, calls and the like. */
  readonly ids?: Ids
  /** Spreads retries. */
  readonly random?: Random
  /** Hashing, salts and time of a store that is opened here. */
  readonly store?: StorePorts
}

interface Parts extends Pick<Engine, 'agents' | 'policy' | 'warn' | 'log'> {
  readonly maxConcurrentRuns: number
  readonly settings?: Partial<Settings>
  readonly plans?: PlanOptions
  readonly ports?: PortOptions
  readonly assignment?: Assignment | undefined
}

/** Makes the runtime on a store, then plans, then goals, which it calls back. Nothing runs before `runtime.start`. */
export function connect(store: Store, parts: Parts) {
  const { ports = {}, agents, policy, maxConcurrentRuns, assignment, warn, log } = parts
  const { runelog, blobs, foldCache, redactor, isExclusive, shared } = store
  const { sha256 } = ports.store ?? hostPorts
  const ids = ports.ids ?? createIds(hostPorts.random, hostPorts.now)
  const member = shared?.member()
  const autonomy = { ...noAutonomy }
  const runtime = createRuntime(
    {
      runelog,
      autonomy,
      isExclusive,
      ...(member === undefined ? {} : { member }),
      ...(shared === undefined ? {} : { deltas: shared.deltas }),
      clock: ports.clock ?? shared?.clock ?? systemClock,
      timers: ports.timers ?? systemTimers,
      random: ports.random ?? systemRandom,
      ids,
      sha256,
      keepWhole: blobs.keep,
      foldCache,
      redactor,
      assignment,
      warn,
      log,
    },
    { agents, policy, settings: settingsOn(shared, ids, parts.settings), maxConcurrentRuns },
  )
  const { engine, abandoned } = runtime
  const planPorts = { engine: () => engine, blobs, sha256 }
  const { plans, registry, conditions, ...planning } = openPlans(parts.plans ?? {}, planPorts)
  const goalPorts = { engine, plans, registry, conditions, abandoned }
  const working = createGoals(goalPorts, maxConcurrentRuns > 0, assignment)
  const { begin, takeUp, endAll, steps, idle, stop, ...rest } = working
  const goals: Goals = rest
  Object.assign(autonomy, {
    ...planning.autonomy,
    async takeUp(session_id) {
      const isTaken = await planning.autonomy.takeUp(session_id)
      return (await takeUp(session_id)) && isTaken
    },
    // Goals first: with a goal goes the plan that is judged for it.
    async end(session_id, reason) {
      await endAll(session_id, reason)
      await planning.autonomy.end(session_id, reason)
    },
  } satisfies Autonomy)
  return {
    runtime,
    plans,
    goals,
    planning,
    beginGoals: begin,
    async idle() {
      for (let before = -1; before !== steps(); ) {
        before = steps()
        await runtime.idle()
        await planning.idle()
        await idle()
      }
    },
    async stop() {
      await stop()
      await planning.stop()
      await runtime.stop()
    },
    member,
  }
}

/** On a shared store every worker has its own name, and a stopped one may wake while its lease lasts. */
function settingsOn(shared: SharedStore | undefined, ids: Ids, given: Partial<Settings> = {}): Settings {
  const settings = { ...defaultSettings, ...given }
  if (shared === undefined) return settings
  const { lease_ms } = shared
  const { lateWorkerMs = lease_ms } = given
  return { ...settings, worker: ids.next(settings.worker), leaseMs: lease_ms, lateWorkerMs }
}
