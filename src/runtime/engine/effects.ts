import type { CallView } from '../../observation/session-state.ts'
import type { Evidence } from '../../runes/kinds/contract.ts'
import { about } from '../contracts/about.ts'
import { evidenceOf } from '../thrown.ts'
import { carryOut, returned } from '../tools/carry-out.ts'
import type { Probed, Tool } from '../tools/tool.ts'
import { createAsking } from './ask.ts'
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
  // It was called off while its record was on the way: the tool is not called.
  if (hold.run.cancel === 'cancel' || hold.isLeaving) abort.abort()
  const { signal } = abort
  const asking = createAsking(engine, hold, call, signal)
  const context = {
    idempotency_key: call.idempotency_key ?? call.call_id,
    session_id: hold.state.session_id,
    run_id: call.run_id,
    call_id: call.call_id,
    execution_id: call.execution_id ?? '',
    signal,
    ask: asking.ask,
    progress: (chunk: string, stream: ProgressStream = 'message') => void report(engine, hold, call, chunk, stream),
  }
  const watch = watched(engine, tool, call)
  inHand(hold, call, abort, async () => {
    const came = await carryOut(watch.tool, call.arguments, context, engine)
    watch.end()
    await asking.end()
    return came
  })
}

/** A tool that was given up may still be at it. Until it returns, it may act; and if it says that it did, that is known. */
function watched(engine: Engine, tool: Tool, call: CallView) {
  const execution_id = call.execution_id ?? ''
  let isOver = false
  const run: Tool['run'] = async (args, context) => {
    engine.atWork.set(execution_id, tool)
    try {
      const value = await tool.run(args, context)
      if (isOver && tool.irreversible) engine.doneLate.add(execution_id)
      return value
    } finally {
      engine.atWork.delete(execution_id)
    }
  }
  return {
    tool: { ...tool, run },
    /** What it came to is known, or nobody waits for that any more. */
    end() {
      isOver = true
    },
  }
}

/**
 * A call that a dead worker began. What only reads or may be repeated is done
 * again; what can be asked about is asked about; everything else is unknown.
 */
export function probe(engine: Engine, hold: Hold, call: CallView) {
  const tool = hold.definition.registry.find(call.name)
  if (tool !== undefined && (tool.read_only || tool.idempotent)) return begin(engine, hold, call)
  const abort = new AbortController()
  inHand(hold, call, abort, async () => (tool?.probe === undefined ? unclear(call) : asked(engine, tool, call, abort)))
}

/** Nobody can tell. If there is no evidence yet, the reason is that the worker which began it was lost. */
function unclear(call: CallView, probed?: Evidence): Outcome {
  const lost: Evidence = { source: 'worker', message: 'The worker was lost while the action was under way.' }
  const evidence = probed ?? (call.evidence.length === 0 ? lost : undefined)
  return { status: 'unknown', ...(evidence !== undefined && { evidence }) }
}

const probeSaid = (message: string): Evidence => ({ source: 'probe', message })

async function asked(engine: Engine, tool: Tool, call: CallView, abort: AbortController): Promise<Outcome> {
  const { signal } = abort
  try {
    const isAtWork = () => engine.atWork.has(call.execution_id ?? '')
    let mayAct = isAtWork()
    let found = await probeOnce(engine, tool, call, signal)
    const earliest = earliestDidNot(engine, call)
    // It may have happened since it was looked for: what counts is what is so when nobody can do it any more.
    if (found.outcome === 'did_not' && (mayAct || engine.clock.now() < earliest)) {
      await until(engine, earliest, signal)
      mayAct = isAtWork()
      found = await probeOnce(engine, tool, call, signal)
    }
    if (found.outcome === 'happened') return { ...(await returned(tool, found.result, engine)), duration_ms: 0 }
    // A tool that has still not returned may act yet, however long ago it was given up.
    if (found.outcome !== 'did_not')
      return unclear(call, probeSaid(found.outcome === 'late' ? found.message : 'The probe cannot tell.'))
    if (mayAct)
      return unclear(call, probeSaid('The probe found nothing, but the tool has not returned and may act yet.'))
    const why = call.evidence.at(-1)?.message ?? 'The worker was lost.'
    return {
      status: 'error',
      error: `${why} The probe says that it did not happen.`,
      error_kind: 'did_not_happen',
      duration_ms: 0,
    }
  } catch (error) {
    engine.warn('a probe failed', { call_id: call.call_id, error: String(error) })
    return unclear(
      call,
      evidenceOf('probe', error, (text) => engine.redactor.clean(text).value as string),
    )
  }
}

interface Late {
  readonly outcome: 'late'
  readonly message: string
}

/** A probe may take as long as the tool itself; one that does not answer cannot tell. */
async function probeOnce(engine: Engine, tool: Tool, call: CallView, signal: AbortSignal): Promise<Probed | Late> {
  const enough = Promise.withResolvers<Late>()
  const late = new AbortController()
  const cancel = engine.timers.after(tool.timeout_ms, () => {
    enough.resolve({ outcome: 'late', message: `The probe did not answer within ${tool.timeout_ms} ms.` })
    late.abort()
  })
  try {
    const key = call.idempotency_key ?? call.call_id
    const answer = tool.probe?.(key, call.arguments, AbortSignal.any([signal, late.signal]))
    return await Promise.race([answer ?? enough.promise, enough.promise])
  } finally {
    cancel()
  }
}

/**
 * Until then someone might still act: a worker that was stopped in time and
 * wakes, or a tool of this process that was given up and has not returned.
 */
export function earliestDidNot(engine: Engine, call: CallView): number {
  const { late_worker_ms, lease_ms } = engine.settings
  const isAtWork = engine.atWork.has(call.execution_id ?? '')
  if (late_worker_ms === null && !isAtWork) return 0
  return call.started_at + (call.timeout_ms ?? 0) + Math.max(late_worker_ms ?? 0, isAtWork ? lease_ms : 0)
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

/** It is in hand before it begins: a tool may report progress before it first waits for anything. */
function inHand(hold: Hold, call: CallView, abort: AbortController, start: () => Promise<Outcome>) {
  const { promise: done, resolve } = Promise.withResolvers<void>()
  const entry: InHand = { abort, outcome: undefined, done }
  hold.inHand.set(call.call_id, entry)
  void start().then((came) => {
    entry.outcome = came
    resolve()
    nudge(hold)
  })
}

type ProgressStream = 'stdout' | 'stderr' | 'message'

/** Progress is decoration: a chunk that comes too late to be recorded is dropped. */
async function report(engine: Engine, hold: Hold, call: CallView, chunk: string, stream: ProgressStream) {
  if (!hold.inHand.has(call.call_id)) return
  try {
    const batch = batchFor(engine, hold)
    const payload = { call_id: call.call_id, stream, chunk }
    batch.move('tool', call.call_id, 'progress_update', 'tool.progress', { actor: 'tool_node', payload }, about(call))
    await commit(engine, hold, batch)
  } catch (error) {
    engine.warn('progress was not recorded', { error: String(error) })
  }
}
