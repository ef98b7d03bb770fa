import type { CallView } from '../../observation/session-state.ts'
import type { Engine } from '../engine.ts'
import { once } from '../once.ts'
import { readThrown, stackOf } from '../thrown.ts'
import type { Culprit, Fate } from '../tools/culprit.ts'
import type { Hold } from './hold.ts'

/** Records what a tool threw that was given up before. */
type Report = (thrown: unknown) => Promise<void>

/** A call that may crash outside the promise of its tool. */
interface Crashing {
  readonly culprit: Culprit
  /** Rejects when it crashes. */
  readonly crashed: Promise<never>
  hasCrashed(): boolean
  /** The call is over. Of a tool that was given up, a crash is evidence; otherwise it changes nothing any more. */
  end(report?: Report): void
}

/**
 * Attributes errors that a tool throws where no code can catch them, such as in the callback of a timer. They count as
 * thrown by the call: what cannot be undone has an unknown outcome then. If the process ends, the run is let go and
 * nothing new begins.
 */
export function createCrashing(engine: Engine, hold: Hold, call: CallView): Crashing {
  const { promise: crashed, reject } = Promise.withResolvers<never>()
  crashed.catch(() => {})
  const { session_id } = hold.state
  const { call_id, run_id } = call
  let report: Report | undefined
  let crashing: Promise<void> | undefined
  const about = { tool: call.name, call_id, run_id, session_id }
  const clean = engine.redactor.redact

  async function crash(thrown: unknown, fate: Fate) {
    const { message } = readThrown(thrown, clean)
    engine.warn(`a tool crashed where no code could catch it; ${fate}`, { ...about, error: message })
    if (report !== undefined) return report(thrown)
    const heard = call.evidence.length
    // Before it is let go of: its outcome is on record before what else is under way is waited for.
    if (fate === 'the process ends') hold.isLeaving = true
    const problem = `It crashed where no code could catch it: ${message}`
    reject(Object.assign(new Error(problem, { cause: thrown }), { error_kind: 'crashed' }))
    await hold.inHand.get(call_id)?.done
    if (fate === 'the process ends') engine.abandon()
    await once(engine.sessions, session_id, ({ calls }) => {
      const now = calls.get(call_id)
      return now?.contract !== 'running' || now.evidence.length > heard ? true : undefined
    })
  }

  return {
    crashed,
    culprit: {
      about,
      isUnknown: () => call.irreversible && hold.state.calls.get(call_id)?.contract === 'running',
      describe: (thrown) => stackOf(thrown, clean),
      // An interval may throw again and again until the process is gone.
      crash: (thrown, fate) => (crashing ??= crash(thrown, fate)),
    },
    hasCrashed: () => crashing !== undefined,
    end(given = async () => {}) {
      report = given
    },
  }
}
