import { faults } from '../faults/catalogue.ts'
import type { Json } from '../kernel/json.ts'
import { isTerminal } from '../kernel/machine.ts'
import { type RunStatus, runMachine } from '../machines/run.ts'
import { createDeltaGate } from '../observation/delta-gate.ts'
import type { SessionState } from '../observation/session-state.ts'
import type { Rune } from '../runes/rune.ts'
import type { Stopped } from './commands/session.ts'
import { type EphemeralDelta, noteLast } from './delta.ts'
import { asOptions } from './options.ts'
import type { Runtime } from './runtime.ts'
import { ifOver, once } from './session-cache.ts'

/** An event of a run: a rune, in order and exactly once, or text that is not durable yet. */
export type RunEvent =
  /** A rune: a step that is recorded. */
  | { readonly type: 'rune'; readonly rune: Rune }
  /** Text of the model that is not recorded yet. */
  | { readonly type: 'delta'; readonly delta: EphemeralDelta }

/** How a run ended. */
export interface RunResult {
  /** The run. */
  readonly runId: string
  /** A final state of the run machine, such as `succeeded`, `failed` or `canceled`. */
  readonly status: RunStatus
  /** The answer of the agent; null if the run did not succeed. */
  readonly result: Json | null
  /** The reason why the run did not succeed, for programs. */
  readonly errorCode: string | null
  /** The reason why the run did not succeed, for people. */
  readonly message: string | null
}

/** The range of events to read. */
export interface EventOptions {
  /** The `event_id` of the last rune that the reader has: only later runes come. Default: from the run's beginning. */
  readonly after?: number | undefined
  /** Ends the stream when it aborts. */
  readonly signal?: AbortSignal | undefined
}

/** One run: its events, its result, and the ways to stop it. */
export interface RunHandle {
  /** The session of the run. */
  readonly sessionId: string
  /** The run. */
  readonly runId: string
  /**
   * Streams the events of the run from its beginning to its end, live, or until this process closes or `signal` aborts.
   * Leaving the loop unsubscribes. Refused with `cursor_ahead` if the session has no event `after` yet, and with
   * `store_poisoned` if the store fails.
   */
  events(options?: EventOptions): AsyncIterable<RunEvent>
  /**
   * Resolves when the run is over, with any outcome. Refused with `session_suspended` if the run is queued and its
   * session is suspended: bring the session back, then ask again. Refused with `stopped_waiting` if this process closes
   * before that, and with `store_poisoned` if the store fails.
   */
  result(): Promise<RunResult>
  /** Stops the run now and aborts what is under way. `accepted` is false if it was over before. */
  cancel(reason?: string): Promise<Stopped>
  /** Stops the run once the effects under way have finished. `accepted` is false if it was over before. */
  interrupt(reason?: string): Promise<Stopped>
  /**
   * Gives the run new input: its turn ends at a safe boundary, and the next turn begins with it. Refused with
   * `transition_refused` if the run is over, and with `input_missing` or `input_unfit`.
   */
  steer(input: Json): Promise<Stopped>
}

/** The handle of one run. */
export function createRunHandle(runtime: Runtime, session_id: string, run_id: string): RunHandle {
  const { engine } = runtime
  const { runelog, closing } = engine

  async function* events({ after, signal = closing }: EventOptions = {}): AsyncIterable<RunEvent> {
    const leave = new AbortController()
    const close = () => leave.abort()
    const ends = [closing, signal]
    for (const end of ends) end.addEventListener('abort', close)
    if (ends.some(({ aborted }) => aborted)) close()
    const pending: RunEvent[] = []
    let bell = Promise.withResolvers<void>()
    const add = (event: RunEvent) => {
      pending.push(event)
      bell.resolve()
    }
    const gate = createDeltaGate()
    let gateIsSet = after === undefined
    const unsubscribe = runtime.listen((delta) => {
      if (gateIsSet && delta.run_id === run_id && gate.passes(delta)) add({ type: 'delta', delta })
    }, session_id)
    const following = (async () => {
      const { run } = await runtime.find(run_id)
      const head = (await runelog.head(session_id))?.event_id ?? 0
      if (after !== undefined && after > head)
        throw faults.cursor_ahead({ what: 'session', id: session_id, cursor: after, last: head })
      // Events of the session before the run are not read.
      const from = after ?? run.submitted_event_id - 1
      // A run that is over has no further events: a reader past its end must not wait.
      const last = isTerminal(runMachine, run.status) ? head : Number.POSITIVE_INFINITY
      if (from >= last) return
      if (after !== undefined) await noteLast(gate, runelog, session_id, after)
      gateIsSet = true
      for await (const rune of runelog.follow(session_id, from, leave.signal)) {
        const isOurs = rune.run_id === run_id
        if (isOurs) gate.note(rune)
        if (isOurs && rune.visibility === 'public') add({ type: 'rune', rune })
        if ((isOurs && isEnd(rune)) || rune.event_id >= last) return
      }
    })()
    following.catch(() => bell.resolve())
    try {
      for (;;) {
        for (let event = pending.shift(); event !== undefined; event = pending.shift()) {
          yield event
          if (event.type === 'rune' && isEnd(event.rune)) return
        }
        bell = Promise.withResolvers<void>()
        if (pending.length === 0) await Promise.race([bell.promise, following])
        if (pending.length === 0) await following
        // A run that is not public ends without an event.
        if (pending.length === 0) return
      }
    } finally {
      for (const end of ends) end.removeEventListener('abort', close)
      unsubscribe()
      leave.abort()
    }
  }

  return {
    sessionId: session_id,
    runId: run_id,
    events,
    async result() {
      const look = ({ runs, suspension }: SessionState) => {
        const run = runs.get(run_id)
        if (run?.status === 'queued' && suspension !== null)
          throw faults.session_suspended({ session_id, run_id, ...suspension })
        return ifOver(run)
      }
      const { status, result, error_code, message } = await once(engine.sessions, session_id, look, closing)
      return { runId: run_id, status, result, errorCode: error_code, message }
    },
    cancel: async (reason) => asOptions(await runtime.cancel(run_id, reason)),
    interrupt: async (reason) => asOptions(await runtime.interrupt(run_id, reason)),
    steer: async (input) => asOptions(await runtime.steer(run_id, input)),
  }
}

const isEnd = (rune: Rune): boolean => rune.kind === 'run.moved' && isTerminal(runMachine, rune.to)
