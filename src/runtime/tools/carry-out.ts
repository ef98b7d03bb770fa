import type { Json } from '../../kernel/json.ts'
import type { Redactor } from '../../runelog/redactor.ts'
import type { Evidence } from '../../runes/kinds.ts'
import type { Engine } from '../engine.ts'
import { guardListeners, liveSignal } from '../live-signal.ts'
import type { Cancel, Clock, Timers } from '../ports.ts'
import { type Clean, evidenceOf, isAbort, isMarked, readThrown, sayValue, stacksOf } from '../thrown.ts'
import { coalesce } from '../turns/model-call.ts'
import { createReports, type KeepWhole, limitOutput, type ProgressStream } from './output.ts'
import type { Asked, Tool, ToolContext } from './tool.ts'

/** How a tool call ended. */
export type Outcome = { readonly duration_ms: number } & (
  | { readonly status: 'success'; readonly output: Json; readonly output_ref?: string }
  | { readonly status: 'error'; readonly error: string; readonly error_kind: string }
  | { readonly status: 'timeout' }
  /** `began`: whether the tool was called. If not, nothing can have happened. */
  | { readonly status: 'cancelled'; readonly began: boolean; readonly evidence?: Evidence }
  | { readonly status: 'sandbox_violation'; readonly error: string }
  /** The tool threw an error that leaves open whether it happened. */
  | { readonly status: 'unknown'; readonly evidence: Evidence }
)

interface CarryOutPorts extends Pick<Engine, 'clock' | 'timers' | 'keepWhole' | 'redactor' | 'warn' | 'log'> {
  readonly settings: { readonly cancelGraceMs: number }
}

/** Aborting with this gives up the tool at once: its worker has lost the run. */
export const leftBehind = new Error('Its worker does not wait for it any more.')

/** Cancel grace: calls back when the time of a cancelled effect is over. */
export function afterGrace({ timers, settings }: Pick<CarryOutPorts, 'timers' | 'settings'>, over: () => void): Cancel {
  return timers.after(settings.cancelGraceMs, over)
}

type End =
  | { readonly by: 'return'; readonly value: unknown }
  | { readonly by: 'throw'; readonly thrown: unknown }
  | { readonly by: 'timeout' }
  | { readonly by: 'cancel'; readonly thrown?: unknown }

/**
 * Calls a tool once. It has exactly one outcome, never later than its timeout. `context.signal` cancels: the signal of
 * the tool fires, and the tool may still return within `cancelGraceMs`. A tool that ignores its signal is given up, and
 * its later reports are dropped. `context.progress` gets reports in larger pieces, all before the outcome.
 */
export async function carryOut(
  tool: Tool,
  args: Json,
  context: Omit<ToolContext, 'redact'>,
  { clock, timers, keepWhole, redactor, settings, warn, log }: CarryOutPorts,
): Promise<Outcome> {
  const began = clock.monotonic()
  if (context.signal.aborted) return { status: 'cancelled', began: false, duration_ms: 0 }

  const controller = new AbortController()
  const progress = coalesce<ProgressStream>(timers, (stream, chunk) => context.progress(chunk, stream))
  const reports = createReports(redactor, progress.add)
  const { promise: end, resolve: endWith } = Promise.withResolvers<End>()

  // The reason is fixed before the tool is aborted: its error must not make a timeout look like a failure.
  const limit = stopwatch(tool.timeoutMs, clock, timers, () => {
    endWith({ by: context.signal.aborted ? 'cancel' : 'timeout' })
    void reports.end(true)
    controller.abort(new Error(`It took longer than ${tool.timeoutMs} ms.`))
  })
  let endGrace: Cancel = () => {}
  function onCancel() {
    if (settings.cancelGraceMs === 0 || context.signal.reason === leftBehind) endWith({ by: 'cancel' })
    else endGrace = afterGrace({ timers, settings }, () => endWith({ by: 'cancel' }))
    controller.abort(new Error('It was cancelled.'))
  }
  context.signal.addEventListener('abort', onCancel, { once: true })

  const questions = new Map<Promise<Asked>, AbortController>()
  function ask(request: Json, moot?: AbortSignal): Promise<Asked> {
    const over = new AbortController()
    const until = moot === undefined ? over.signal : AbortSignal.any([over.signal, moot])
    const question = limit.without(() => context.ask(request, until))
    // A tool need not wait for what it asks. A refusal that it does not await must not end the process.
    question.catch(() => {})
    questions.set(question, over)
    return question
  }

  // A read checks whether the lease or the time is over: that aborts the controller.
  const signal = liveSignal(controller, () => {
    if (!context.signal.aborted) limit.look()
  })
  const { callId, executionId, runId, sessionId } = context
  const about = { tool: tool.name, call_id: callId, execution_id: executionId, run_id: runId, session_id: sessionId }
  log.debug('a tool is called', about)
  const running = call(tool, args, {
    ...context,
    signal: guardListeners(signal, { warn, redactor }, { call_id: callId }),
    redact: async (text, isCut) => {
      // The types promise this, but not to a tool in JavaScript.
      if (typeof text !== 'string') throw new TypeError(`redact() got ${sayValue(text)}. Pass the text to clean.`)
      return redactor.redactLong(text, isCut)
    },
    progress: (chunk, stream = 'message') => reports.add(chunk, stream),
    ask,
  })
  running.then(
    (value) => endWith({ by: 'return', value }),
    (thrown) => {
      const wasCancelled = context.signal.aborted && isOfCancel(tool, thrown, controller.signal)
      // The record and the model get the message; the stack is for the author of the tool.
      if (!isAbort(thrown, controller.signal.reason))
        log.info('a tool threw', { ...about, error: stacksOf(thrown, redactor.redact) })
      endWith({ by: wasCancelled ? 'cancel' : 'throw', thrown })
    },
  )

  const ended = await end
  limit.pause()
  endGrace()
  context.signal.removeEventListener('abort', onCancel)
  await reports.end(ended.by === 'cancel' || ended.by === 'timeout')
  progress.finish()
  // Open questions are withdrawn before the outcome is reported.
  if (questions.size > 0) {
    for (const over of questions.values()) over.abort(new Error('The call is over.'))
    await Promise.allSettled(questions.keys())
  }
  const duration_ms = Math.max(0, Math.round(clock.monotonic() - began))
  const outcome = { ...(await outcomeOf(tool, ended, keepWhole, redactor)), duration_ms }
  log.debug('a tool ended', { ...about, status: outcome.status, duration_ms })
  return outcome
}

/** The tool had not ended when the engine stopped waiting for it. */
export function isGivenUp(outcome: Outcome): boolean {
  if (outcome.status === 'cancelled') return outcome.began && outcome.evidence === undefined
  return outcome.status === 'timeout'
}

/** Whether the cancel made the tool throw. An irreversible call that counts as failed would be permitted again. */
function isOfCancel(tool: Tool, thrown: unknown, { reason }: AbortSignal): boolean {
  if (isMarked(thrown, 'didNotHappen')) return false
  return (tool.irreversible && !tool.idempotent) || isAbort(thrown, reason)
}

/** Whether the outcome is unknown after this error. A tool that may be repeated has failed: the model may call again. */
function leavesUnknown(tool: Tool, thrown: unknown): boolean {
  if (tool.idempotent) return false
  if (isMarked(thrown, 'outcomeUnknown')) return true
  return tool.irreversible && tool.onError === 'unknown' && !isMarked(thrown, 'didNotHappen')
}

/** Async, so that a tool that throws synchronously rejects. */
async function call(tool: Tool, args: Json, context: ToolContext): Promise<unknown> {
  return await tool.run(args, context)
}

type Bare<O> = O extends unknown ? Omit<O, 'duration_ms'> : never

async function outcomeOf(tool: Tool, end: End, keepWhole: KeepWhole, redactor: Redactor): Promise<Bare<Outcome>> {
  if (end.by === 'timeout') return { status: 'timeout' }
  const clean: Clean = redactor.redact
  if (end.by === 'cancel') {
    const evidence = 'thrown' in end ? { evidence: evidenceOf('cancel', end.thrown, clean) } : {}
    return { status: 'cancelled', began: true, ...evidence }
  }
  if (end.by === 'throw') {
    const { thrown } = end
    if (leavesUnknown(tool, thrown)) return { status: 'unknown', evidence: evidenceOf('tool', thrown, clean) }
    const { message, kind } = readThrown(thrown, clean)
    if (isMarked(thrown, 'sandboxViolation')) return { status: 'sandbox_violation', error: message }
    return { status: 'error', error: message, error_kind: kind }
  }
  return returned(tool, end.value, { keepWhole, redactor })
}

/** The outcome of a call whose tool returned this value, or whose probe found it. The output is made recordable and cut. */
export async function returned(
  tool: Tool,
  value: unknown,
  { keepWhole, redactor }: Pick<CarryOutPorts, 'keepWhole' | 'redactor'>,
): Promise<Bare<Outcome>> {
  try {
    const limited = await limitOutput(value ?? null, tool.maxOutputBytes, keepWhole, redactor)
    return 'problem' in limited ? unrecordable(tool, limited.problem) : { status: 'success', ...limited }
  } catch (error) {
    return unrecordable(tool, readThrown(error, redactor.redact).message)
  }
}

/** The value is not JSON. An irreversible action that returned has happened: "failed" would permit it again. */
function unrecordable(tool: Tool, problem: string): Bare<Outcome> {
  const error = `${tool.name} returned something that cannot be recorded: ${problem}`
  if (!tool.irreversible) return { status: 'error', error, error_kind: 'output_not_json' }
  return { status: 'success', output: `The action was carried out. ${error}` }
}

/** Calls back when the time is up. Time spent on questions does not count. */
function stopwatch(ms: number, clock: Clock, timers: Timers, onUp: () => void) {
  let left = ms
  let since = clock.monotonic()
  let cancel: Cancel | undefined = timers.after(ms, up)
  let pauses = 0

  function up() {
    cancel = undefined
    onUp()
  }

  function pause() {
    if (pauses++ > 0) return
    cancel?.()
    cancel = undefined
    left -= clock.monotonic() - since
  }

  function goOn() {
    if (--pauses > 0) return
    since = clock.monotonic()
    cancel = timers.after(Math.max(left, 0), up)
  }

  return {
    pause,
    /** The time may be up although the timer has not fired yet. */
    look() {
      if (cancel === undefined || clock.monotonic() - since < left) return
      cancel()
      cancel = undefined
      onUp()
    },
    async without<T>(work: () => Promise<T>): Promise<T> {
      pause()
      try {
        return await work()
      } finally {
        goOn()
      }
    },
  }
}
