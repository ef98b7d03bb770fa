import type { Json } from '../../kernel/json.ts'
import type { CallView } from '../../observation/session-state.ts'
import { about } from '../contracts/about.ts'
import { carryOut } from '../tools/carry-out.ts'
import { askWhileAtWork } from './ask.ts'
import type { Engine } from './engine.ts'
import { batchFor, commit, type Hold, type InHand, nudge, type Outcome } from './hold.ts'

/**
 * Touches the world. The record that it may is committed; the lease is looked
 * at once more, right here, so that a worker that slept cannot act after
 * someone else has taken over.
 */
export function begin(engine: Engine, hold: Hold, call: CallView) {
  const tool = hold.definition.registry.find(call.name)
  if (tool === undefined || !hold.lease.isValid()) return
  const abort = new AbortController()
  const signal = AbortSignal.any([abort.signal, hold.lease.signal])
  const context = {
    idempotency_key: call.idempotency_key ?? call.call_id,
    session_id: hold.state.session_id,
    run_id: call.run_id,
    call_id: call.call_id,
    execution_id: call.execution_id ?? '',
    signal,
    ask: (request: Json, moot: AbortSignal = signal) =>
      askWhileAtWork(engine, hold, call, request, AbortSignal.any([signal, moot])),
    progress: (chunk: string, stream: ProgressStream = 'message') => void report(engine, hold, call, chunk, stream),
  }
  inHand(hold, call, abort, carryOut(tool, call.arguments, context, engine))
}

/**
 * A call that a dead worker began. What only reads or may be repeated is done
 * again; what can be asked about is asked about; everything else is unknown.
 */
export function probe(engine: Engine, hold: Hold, call: CallView) {
  const tool = hold.definition.registry.find(call.name)
  if (tool !== undefined && (tool.read_only || tool.idempotent)) return begin(engine, hold, call)
  const abort = new AbortController()
  inHand(
    hold,
    call,
    abort,
    tool?.probe === undefined ? Promise.resolve({ status: 'unknown' }) : asked(engine, hold, call, abort),
  )
}

async function asked(engine: Engine, hold: Hold, call: CallView, abort: AbortController): Promise<Outcome> {
  const tool = hold.definition.registry.find(call.name)
  const signal = AbortSignal.any([abort.signal, hold.lease.signal])
  try {
    const found = await tool?.probe?.(call.idempotency_key ?? call.call_id, call.arguments, signal)
    if (found?.outcome === 'happened') return { status: 'success', output: found.result ?? null, duration_ms: 0 }
    if (found?.outcome !== 'did_not') return { status: 'unknown' }
    await until(engine, earliestDidNot(engine, call), signal)
    return {
      status: 'error',
      error: 'The worker was lost, and it did not happen.',
      error_kind: 'did_not_happen',
      duration_ms: 0,
    }
  } catch (error) {
    engine.warn('a probe failed', { call_id: call.call_id, error: String(error) })
    return { status: 'unknown' }
  }
}

/** Until then a worker that was stopped in time might still wake and act. */
export function earliestDidNot(engine: Engine, call: CallView): number {
  const { late_worker_ms } = engine.settings
  return late_worker_ms === null ? 0 : call.started_at + (call.timeout_ms ?? 0) + late_worker_ms
}

function until(engine: Engine, at: number, signal: AbortSignal): Promise<void> {
  const left = at - engine.clock.now()
  if (left <= 0) return Promise.resolve()
  return new Promise((resolve, reject) => {
    const cancel = engine.timers.after(left, resolve)
    signal.addEventListener('abort', () => {
      cancel()
      reject(signal.reason)
    })
  })
}

function inHand(hold: Hold, call: CallView, abort: AbortController, outcome: Promise<Outcome>) {
  const entry: InHand = { abort, outcome: undefined, done: Promise.resolve() }
  const done = outcome.then((came) => {
    entry.outcome = came
    nudge(hold)
  })
  hold.inHand.set(call.call_id, Object.assign(entry, { done }))
}

type ProgressStream = 'stdout' | 'stderr' | 'message'

/** Progress is decoration: a chunk that comes too late to be recorded is dropped. */
async function report(engine: Engine, hold: Hold, call: CallView, chunk: string, stream: ProgressStream) {
  if (!hold.inHand.has(call.call_id)) return
  const batch = batchFor(engine, hold)
  const payload = { call_id: call.call_id, stream, chunk }
  batch.move('tool', call.call_id, 'progress_update', 'tool.progress', { actor: 'tool_node', payload }, about(call))
  await commit(engine, hold, batch).catch((error) => engine.warn('progress was not recorded', { error: String(error) }))
}
