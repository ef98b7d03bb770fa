import { accepted } from '../../faults/catalogue.ts'
import { boundedJson, type Json, jsonLimits } from '../../kernel/json.ts'
import type { CallView } from '../../observation/session-state.ts'
import type { EcsRequest } from '../../wire/form.ts'
import { subject } from '../batch.ts'
import { defaultsOf, readEcsRequest } from '../ecs/request.ts'
import type { Engine } from '../engine.ts'
import { liveSignal } from '../live-signal.ts'
import { wait } from '../ports.ts'
import { type Culprit, type Fate, inScopeOf } from '../scopes.ts'
import { once } from '../session-cache.ts'
import { readThrown, stackOf } from '../thrown.ts'
import { type Outcome as Carried, carryOut, isGivenUp } from '../tools/carry-out.ts'
import type { ProgressStream } from '../tools/output.ts'
import type { Asked, Tool } from '../tools/tool.ts'
import { stepQuestion } from './advance.ts'
import { ask, inputWithdrawn } from './calls.ts'
import { recordReport } from './closing.ts'
import { batchFor, commit, type Hold, type InHand, isCounted, nudge, type Outcome } from './hold.ts'

/** Begins the effect of a call. Its start is committed; the lease is checked once more here. */
export function begin(hold: Hold, call: CallView) {
  const tool = hold.definition.registry.find(call.name)
  if (tool === undefined || !hold.lease.isValid())
    return hold.engine.atWork.end(call.execution_id ?? '', { how: 'threw', isLate: false })
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

/** A tool that was given up may act until it returns. A late result is recorded. */
function watched(hold: Hold, call: CallView, tool: Tool) {
  const { engine, lease, epoch } = hold
  const { session_id } = hold.state
  const execution_id = call.execution_id ?? ''
  const { irreversible } = tool
  const isTracked = isCounted(tool)
  const crashing = createCrashing(hold, call)
  let running: Promise<Json> | undefined
  const end = (how: 'returned' | 'threw', isLate = false) => {
    if (isTracked) engine.atWork.end(execution_id, { how, isLate })
  }
  const run: Tool['run'] = (args, context) => {
    running = inScopeOf(crashing.culprit, async () => tool.run(args, context))
    return Promise.race([running, crashing.crashed])
  }
  return {
    tool: { ...tool, run },
    /** Records for every process that the tool is at work. False: it must not be called. */
    async begin(): Promise<boolean> {
      if (!isTracked) return lease.isValid()
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

/** Tries again until the report is recorded. False: this process closes, and the tool still counts as at work. */
async function untilRecorded({ timers, closing }: Engine, record: () => Promise<boolean>): Promise<boolean> {
  for (let pause = report_pause_ms.first; !(await record()); pause = Math.min(2 * pause, report_pause_ms.most)) {
    if (closing.aborted) return false
    await wait(timers, pause)
  }
  return true
}

/** Registers the effect before it starts: a tool may report progress before its first await. */
export function inHand(hold: Hold, call: CallView, abort: AbortController, start: () => Promise<Outcome>) {
  const { promise: done, resolve } = Promise.withResolvers<void>()
  const entry: InHand = { abort, outcome: undefined, done }
  hold.inHand.set(call.call_id, entry)
  void start().then((outcome) => {
    entry.outcome = outcome
    resolve()
    nudge(hold)
  })
}

/** Records progress. A chunk that cannot be recorded is dropped: nothing depends on it. */
async function report(hold: Hold, call: CallView, progress: { stream: ProgressStream; chunk: string }) {
  const { call_id } = call
  if (!hold.inHand.has(call_id)) return
  try {
    const batch = batchFor(hold)
    batch.on(subject.tool(call), 'tool_node').move('progress_update', { call_id, ...progress })
    accepted(await commit(hold, batch))
  } catch (error) {
    const { warn, redactor } = hold.engine
    warn('progress was not recorded', { error: readThrown(error, redactor.redact).message })
  }
}

type Report = (thrown: unknown) => Promise<unknown>

/**
 * Attributes errors that no code of a tool catches, such as in the callback of a timer. They count as errors of that
 * call. An irreversible call then has an unknown outcome. If the process ends, releases the run and begins nothing new.
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
    /** The call is over. If its tool was given up, a crash is evidence; otherwise it changes nothing. */
    end(given: Report = async () => {}) {
      report = given
    },
  }
}

/** The questions of one call at work, asked one after the other. When the call ends, the open one is withdrawn. */
function createAsking(hold: Hold, call: CallView, signal: AbortSignal) {
  let last: Promise<unknown> | undefined
  let opening: Promise<unknown> = Promise.resolve()
  let isOver = false

  return {
    ask(request: Json, moot: AbortSignal = signal): Promise<Asked> {
      const put = async (): Promise<Asked> => {
        if (isOver) return { action: 'silence' }
        const { promise, resolve } = Promise.withResolvers<void>()
        opening = promise
        return askWhileAtWork(hold, call, {
          asked: request,
          signal: AbortSignal.any([signal, moot]),
          opened: resolve,
        }).finally(resolve)
      }
      const asked = last === undefined ? put() : last.then(put, put)
      last = asked
      const leave = () => {
        if (last === asked) last = undefined
      }
      // A tool may ask without awaiting the answer: its rejection must not end the process.
      asked.then(leave, leave)
      return asked
    },
    /** The tool has returned or was given up, and asks nothing more. Resolves when its last question is recorded. */
    end(): Promise<unknown> {
      isOver = true
      return opening
    },
  }
}

type Asking = { readonly asked: Json; readonly signal: AbortSignal; readonly opened: () => void }

/**
 * Asks a person on behalf of a tool at work. The contract stays running: the tool may have acted already. The question
 * is withdrawn if the call ends first. The run waits without a worker's slot. In an auto run the defaults answer, if
 * there are any.
 */
async function askWhileAtWork(hold: Hold, call: CallView, { asked, signal, opened }: Asking): Promise<Asked> {
  const copied = boundedJson(asked, jsonLimits.arguments)
  const read = readEcsRequest('value' in copied ? copied.value : asked)
  if ('problem' in copied || 'problem' in read) throw new Error('problem' in read ? read.problem : 'It cannot be read.')
  if (hold.run.mode === 'auto') return silenceOf(read.request)
  signal.throwIfAborted()

  const interaction_id = hold.engine.ids.next('int')
  const question = stepQuestion(hold, read.request.title, copied.value, defaultsOf(read.request))
  const batch = batchFor(hold)
  ask(batch, call, interaction_id, question)
  accepted(await commit(hold, batch))
  opened()
  if (question.deadline !== null) hold.engine.deadline(interaction_id, hold.state.session_id, question.deadline)

  const takeBack = hold.engine.lendSlot(call.run_id)
  try {
    const end = await answered(hold, interaction_id, signal)
    if (end === 'moot') {
      const withdrawal = batchFor(hold)
      inputWithdrawn(withdrawal, hold.state.calls.get(call.call_id) ?? call, 'The tool that asked needs it no more.')
      accepted(await commit(hold, withdrawal))
      return { action: 'silence' }
    }
    const reply = hold.state.interactions.get(interaction_id)?.answered?.reply
    return reply === undefined ? silenceOf(read.request) : (reply as Asked)
  } finally {
    takeBack()
  }
}

function silenceOf(request: EcsRequest): Asked {
  const data = defaultsOf(request)
  return data === undefined ? { action: 'silence' } : { action: 'approve', data, is_default: true }
}

/** Resolves when the question is closed, or when its answer has no use: the call is over, or the run shall stop. */
function answered(hold: Hold, interaction_id: string, signal: AbortSignal) {
  const { promise, resolve } = Promise.withResolvers<'closed' | 'moot'>()
  let isOver = false
  const look = () => {
    if (hold.state.interactions.get(interaction_id)?.state !== 'open') resolve('closed')
    else if (signal.aborted || hold.run.cancel !== null || hold.isLeaving) resolve('moot')
  }
  const nudged = (): void => {
    look()
    if (!isOver) void hold.changed.promise.then(nudged)
  }
  const unsubscribe = hold.engine.sessions.listen(hold.state.session_id, look)
  signal.addEventListener('abort', look, { once: true })
  nudged()
  return promise.finally(() => {
    isOver = true
    unsubscribe()
    signal.removeEventListener('abort', look)
  })
}
