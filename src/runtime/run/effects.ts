import type { Json } from '../../kernel/json.ts'
import type { CallView } from '../../observation/session-state.ts'
import type { Evidence } from '../../runes/kinds.ts'
import { subject } from '../batch.ts'
import type { Engine } from '../engine.ts'
import { guardListeners, liveSignal } from '../live-signal.ts'
import { wait } from '../ports.ts'
import { type Culprit, type Fate, inScopeOf } from '../scopes.ts'
import { once } from '../session-cache.ts'
import { evidenceOf, readThrown, stackOf, stacksOf } from '../thrown.ts'
import { type Outcome as Carried, carryOut, isGivenUp, returned } from '../tools/carry-out.ts'
import { type ProgressStream, readProbed, type Unusable } from '../tools/output.ts'
import type { Probed, Tool } from '../tools/tool.ts'
import { outdated, whyNotRepeat } from './advance.ts'
import { createAsking } from './ask.ts'
import { type Obstacle, obstacleToDidNot, patienceOf, recordReport, sayObstacle } from './closing.ts'
import { batchFor, commit, type Hold, type InHand, nudge, type Outcome } from './hold.ts'

/** Begins the effect of a call. Its start is committed by now, and the lease is checked once more right here. */
export function begin(hold: Hold, call: CallView) {
  const tool = hold.definition.registry.find(call.name)
  if (tool === undefined || !hold.lease.isValid()) return
  const abort = new AbortController()
  // The run was cancelled while the start was being committed: the tool is not called.
  if (hold.run.cancel === 'cancel' || hold.isLeaving) abort.abort()
  // A worker that was stopped and wakes must see at once that its lease is over, before any timer has fired.
  const signal = liveSignal(abort, () => void hold.lease.isValid())
  const asking = createAsking(hold, call, signal)
  const context = {
    idempotencyKey: call.idempotency_key ?? call.call_id,
    sessionId: hold.state.session_id,
    runId: call.run_id,
    callId: call.call_id,
    executionId: call.execution_id ?? '',
    signal,
    ask: asking.ask,
    progress: (chunk: string, stream: ProgressStream = 'message') => void report(hold, call, { stream, chunk }),
  }
  const watch = watched(hold, call, tool)
  inHand(hold, call, abort, async () => {
    if (!(await watch.begin())) return { status: 'cancelled', began: false, duration_ms: 0 }
    const outcome = await carryOut(watch.tool, call.arguments, context, hold.engine)
    watch.end(outcome)
    await asking.end()
    return outcome
  })
}

/** A tool that was given up may act until it returns. What it returns then is recorded. */
function watched(hold: Hold, call: CallView, tool: Tool) {
  const { engine, lease, epoch } = hold
  const { session_id } = hold.state
  const execution_id = call.execution_id ?? ''
  const { irreversible } = tool
  // A reversible tool that may be repeated may also run twice at the same time, so it is not tracked.
  const isCounted = irreversible || !(tool.readOnly || tool.idempotent)
  const crashing = createCrashing(hold, call)
  let running: Promise<Json> | undefined
  const end = (how: 'returned' | 'threw', isLate = false) => {
    if (isCounted) engine.atWork.end(execution_id, { how, isLate })
  }
  const run: Tool['run'] = (args, context) => {
    running = inScopeOf(crashing.culprit, async () => tool.run(args, context))
    return Promise.race([running, crashing.crashed])
  }
  return {
    tool: { ...tool, run },
    /** Records for every process that the tool is at work. False: it must not be called. */
    async begin(): Promise<boolean> {
      if (!isCounted) return lease.isValid()
      const begun = engine.atWork.begin({ execution_id, run_id: call.run_id, epoch, irreversible }).catch((error) => {
        engine.warn('a tool is not called: its start could not be recorded', {
          execution_id,
          error: readThrown(error, engine.redactor.redact).message,
        })
        return false
      })
      if ((await begun) && lease.isValid()) return true
      end('threw')
      return false
    },
    /** The outcome is known, or the call was given up. The tool counts as at work until its return is recorded. */
    end(outcome: Carried) {
      if (running === undefined) return end('threw')
      const isLate = isGivenUp(outcome) || crashing.hasCrashed()
      const record = (how: 'returned' | 'threw' | 'crashed', value: unknown) =>
        recordReport(engine, { session_id, tool, call, how, value })
      const over = async (how: 'returned' | 'threw', value: unknown) => {
        if (!isLate || (await untilRecorded(engine, () => record(how, value)))) end(how, isLate)
      }
      crashing.end(isGivenUp(outcome) ? (thrown) => record('crashed', thrown) : undefined)
      void running.then(
        (value) => over('returned', value),
        (thrown) => over('threw', thrown),
      )
    },
  }
}

const report_pause_ms = { first: 100, most: 5_000 }

/** Tries again until it is recorded. False: this process closes, and the tool counts as at work until it ends. */
async function untilRecorded({ timers, closing }: Engine, record: () => Promise<boolean>): Promise<boolean> {
  for (let pause = report_pause_ms.first; !(await record()); pause = Math.min(2 * pause, report_pause_ms.most)) {
    if (closing.aborted) return false
    await wait(timers, pause)
  }
  return true
}

/**
 * A call that a dead worker began. What only reads or may be repeated is done again; what can be asked about is asked
 * about; everything else is unknown. The flags are those of the definition that the call was made under. A tool that was
 * redefined since is neither repeated nor asked.
 */
export function probe(hold: Hold, call: CallView) {
  const abort = new AbortController()
  const mayRepeat = call.read_only || call.idempotent
  const problem = mayRepeat ? whyNotRepeat(hold, call) : outdated(hold, call)
  if (mayRepeat && problem === undefined) return begin(hold, call)
  if (mayRepeat && !call.irreversible)
    return inHand(hold, call, abort, async () => ({
      status: 'error',
      error: `The worker was lost. ${problem} It was not repeated; call it again.`,
      error_kind: 'definition_changed',
      duration_ms: 0,
    }))
  const tool = hold.definition.registry.find(call.name)
  inHand(hold, call, abort, async () => {
    if (problem !== undefined) return unclear(call, { source: 'definition', message: problem })
    return tool?.probe === undefined ? unclear(call) : asked(hold.engine, tool, call, abort.signal)
  })
}

/** The outcome is unknown. If there is no evidence yet, the reason is that the worker which began it was lost. */
function unclear(call: CallView, probed?: Evidence): Outcome {
  const lost: Evidence = { source: 'worker', message: 'The worker was lost while the action was under way.' }
  const evidence = probed ?? (call.evidence.length === 0 ? lost : undefined)
  return { status: 'unknown', ...(evidence !== undefined && { evidence }) }
}

const probeSaid = (message: string): Evidence => ({ source: 'probe', message })

async function asked(engine: Engine, tool: Tool, call: CallView, signal: AbortSignal): Promise<Outcome> {
  const { call_id, execution_id } = call
  const { redact } = engine.redactor
  try {
    // Checked before the probe: "it did not happen" counts only if no worker could act after the probe looked.
    let obstacle = await obstacleToDidNot(engine, call)
    let found = await probeOnce(engine, tool, call, signal)
    if (found.outcome === 'did_not' && obstacle !== undefined) {
      obstacle = await obstacleRemains(engine, call, signal)
      found = await probeOnce(engine, tool, call, signal)
    }
    if (found.outcome === 'happened') return { ...(await returned(tool, found.result, engine)), duration_ms: 0 }
    if (found.outcome === 'unusable') engine.warn('a probe failed', { call_id, error: found.problem })
    if (found.outcome !== 'did_not')
      return unclear(call, probeSaid('problem' in found ? found.problem : 'The probe cannot tell.'))
    if (obstacle !== undefined)
      return unclear(call, probeSaid(`The probe found nothing, but: ${sayObstacle(obstacle)}`))
    const why = call.evidence.at(-1)?.message ?? 'The worker was lost.'
    const error = `${why} The probe says that it did not happen.`
    return { status: 'error', error, error_kind: 'did_not_happen', duration_ms: 0 }
  } catch (error) {
    engine.warn('a probe failed', { call_id, error: readThrown(error, redact).message })
    engine.log.info('a probe threw', { tool: tool.name, call_id, execution_id, error: stacksOf(error, redact) })
    return unclear(call, evidenceOf('probe', error, redact))
  }
}

/** Waits until the tool cannot act any more, but not for ever: then a person is asked. */
async function obstacleRemains(engine: Engine, call: CallView, signal: AbortSignal): Promise<Obstacle | undefined> {
  const patience = patienceOf(engine, call)
  for (;;) {
    const obstacle = await obstacleToDidNot(engine, call)
    const left = patience - engine.clock.now()
    // A tool that reported success stays done.
    if (obstacle === undefined || obstacle.obstacle === 'done' || left <= 0) return obstacle
    await wait(engine.timers, Math.min(left, engine.settings.leaseMs / 4), signal)
    signal.throwIfAborted()
  }
}

type Late = { readonly outcome: 'late'; readonly problem: string }

/** A probe may take as long as the tool itself; one that does not answer cannot tell. */
async function probeOnce(
  engine: Engine,
  tool: Tool,
  call: CallView,
  signal: AbortSignal,
): Promise<Probed | Late | Unusable> {
  const enough = Promise.withResolvers<Late>()
  const late = new AbortController()
  const cancel = engine.timers.after(tool.timeoutMs, () => {
    enough.resolve({ outcome: 'late', problem: `The probe did not answer within ${tool.timeoutMs} ms.` })
    late.abort()
  })
  try {
    const { call_id, idempotency_key } = call
    const either = guardListeners(AbortSignal.any([signal, late.signal]), engine, { call_id })
    const ask = async () => tool.probe?.(idempotency_key ?? call_id, call.arguments, either)
    const probing = async () => readProbed(await ask(), engine.redactor.redact)
    return await Promise.race([probing(), enough.promise])
  } finally {
    cancel()
  }
}

/** Registers the effect before it starts: a tool may report progress before its first await. */
function inHand(hold: Hold, call: CallView, abort: AbortController, start: () => Promise<Outcome>) {
  const { promise: done, resolve } = Promise.withResolvers<void>()
  const entry: InHand = { abort, outcome: undefined, done }
  hold.inHand.set(call.call_id, entry)
  void start().then((outcome) => {
    entry.outcome = outcome
    resolve()
    nudge(hold)
  })
}

/** Records progress. A chunk that cannot be recorded any more is dropped: nothing depends on it. */
async function report(hold: Hold, call: CallView, progress: { stream: ProgressStream; chunk: string }) {
  const { call_id } = call
  if (!hold.inHand.has(call_id)) return
  try {
    const batch = batchFor(hold)
    batch.on(subject.tool(call), 'tool_node').move('progress_update', { call_id, ...progress })
    await commit(hold, batch)
  } catch (error) {
    const { warn, redactor } = hold.engine
    warn('progress was not recorded', { error: readThrown(error, redactor.redact).message })
  }
}

type Report = (thrown: unknown) => Promise<unknown>

/**
 * Attributes errors that a tool throws where no code can catch them, such as in the callback of a timer. They count as
 * thrown by the call: what cannot be undone has an unknown outcome then. If the process ends, the run is let go and
 * nothing new begins.
 */
function createCrashing(hold: Hold, call: CallView) {
  const { promise: crashed, reject } = Promise.withResolvers<never>()
  crashed.catch(() => {})
  const { engine } = hold
  const { session_id } = hold.state
  const { call_id, run_id } = call
  let report: Report | undefined
  let crashing: Promise<void> | undefined
  const about = { tool: call.name, call_id, run_id, session_id }
  const clean = engine.redactor.redact

  async function crash(thrown: unknown, fate: Fate) {
    const { message } = readThrown(thrown, clean)
    engine.warn(`a tool crashed where no code could catch it; ${fate}`, { ...about, error: message })
    if (report !== undefined) return void (await report(thrown))
    const known = call.evidence.length
    // Set before `reject`: the outcome of this call is recorded before the other effects are waited for.
    if (fate === 'the process ends') hold.isLeaving = true
    const problem = `It crashed where no code could catch it: ${message}`
    reject(Object.assign(new Error(problem, { cause: thrown }), { error_kind: 'crashed' }))
    await hold.inHand.get(call_id)?.done
    if (fate === 'the process ends') engine.abandon()
    await once(engine.sessions, session_id, ({ calls }) => {
      const now = calls.get(call_id)
      return now?.contract !== 'running' || now.evidence.length > known ? true : undefined
    })
  }
  const culprit: Culprit = {
    about,
    isUnknown: () => call.irreversible && hold.state.calls.get(call_id)?.contract === 'running',
    describe: (thrown) => stackOf(thrown, clean),
    // An interval may throw again and again until the process is gone.
    crash: (thrown, fate) => (crashing ??= crash(thrown, fate)),
  }
  return {
    culprit,
    crashed,
    hasCrashed: () => crashing !== undefined,
    /** The call is over. Of a tool that was given up, a crash is evidence; otherwise it changes nothing any more. */
    end(given: Report = async () => {}) {
      report = given
    },
  }
}
