import { Fault } from '../../faults/fault.ts'
import { canonicalJson } from '../../kernel/json.ts'
import type { Refused } from '../../runelog/port.ts'
import { cleanStream } from '../../runelog/redactor.ts'
import { type Batch, subject } from '../batch.ts'
import type { Engine } from '../engine.ts'
import { guardListeners } from '../live-signal.ts'
import { wait } from '../ports.ts'
import { stacksOf } from '../thrown.ts'
import { readCall } from '../tools/registry.ts'
import { type Answer, answer, type Emotion, type StreamError } from '../turns/answer.ts'
import { buildRequest, coalesce, isRepeated, priced, retryDelay } from '../turns/model-call.ts'
import { toolsFor } from './advance.ts'
import {
  type Cut,
  cancelHeld,
  endTurn,
  failRun,
  isActive,
  isOneTooMany,
  release,
  requeueRun,
  stopBefore,
  stopSpent,
  suspend,
  watchBudgets,
} from './end.ts'
import { batchFor, commitThen, type Hold, heldTurn, type KeptAnswer, openTurn, turnOf, type Went } from './hold.ts'
import { isStep, receive } from './receive.ts'
import { work } from './round.ts'

/** Lets the model answer once, and records its answer. After a refusal, the same answer is used again. */
export async function reason(hold: Hold): Promise<Went> {
  if (hold.answer !== undefined) return conclude(hold, hold.answer)
  if (hold.run.cancel !== null) return cancelHeld(hold)
  if (hold.run.is_input_erased)
    return failRun(hold, {
      error_code: 'INPUT_REDACTED',
      message: 'Its input was redacted before the model answered. Submit it again.',
    })
  const stop = await stopBefore(hold, 0, { partial: '' })
  if (stop !== undefined) return stop
  const answer = await ask(hold)
  if (answer instanceof Fault) return answer
  if (hold.lease.signal.aborted) return 'over'
  hold.answer = answer
  return conclude(hold, answer)
}

/** The answer of the model, without secrets and with its price. Refused: a part of it could not be recorded. */
async function ask(hold: Hold): Promise<KeptAnswer | Refused> {
  const { engine, definition, agent, run, state } = hold
  const { model, price, instructions } = definition
  const { redact } = engine.redactor
  const { messages } = agent.dialogue
  const request = buildRequest(model.id, { instructions, messages, tools: toolsFor(hold), memories: agent.facts })
  hold.interruption = new AbortController()
  // A worker that slept past its lease has a stale session: other workers may have changed or erased content since.
  if (run.cancel !== null || run.steers.length > 0 || hold.isLeaving || !hold.lease.isValid()) hold.interruption.abort()
  const { run_id } = run
  const deltas = writeDeltas(hold)
  const limits = watchBudgets(hold, price)
  const about = { model: model.id, run_id, session_id: state.session_id, turn_id: turnOf(hold).turn_id }
  engine.log.debug('a model is asked', { ...about, messages: request.messages.length })
  const answered = await answer(model, request, {
    signal: guardListeners(hold.interruption.signal, engine, { run_id }),
    onDelta(channel, text) {
      deltas.add(channel, text)
      limits.add(text.length)
    },
    onEmotion: deltas.feel,
    onThrown: (thrown) => engine.log.info('a model threw', { ...about, error: stacksOf(thrown, redact) }),
    clean: redact,
    clock: engine.clock,
    timers: engine.timers,
  })
  limits.end()
  engine.log.debug('a model answered', { ...about, how: answered.kind, ...answered.usage })
  const spent = answered.kind === 'aborted' ? limits.spent() : undefined
  const whole = priced(spent === undefined ? answered : withUsage(answered, limits.estimate()), price)
  const refused = await deltas.finish(isCut(whole))
  return refused ?? { answered: await withoutSecrets(engine, whole), spent, taken: new Map() }
}

/** The usage of a cut answer: as its provider reported it in time, or as it is estimated. */
function withUsage<A extends Answer>(answered: A, output_tokens: number): A {
  const { input_tokens, output_tokens: reported } = answered.usage
  return { ...answered, usage: { input_tokens, output_tokens: Math.max(reported, output_tokens) } }
}

function isCut(answered: Answer): boolean {
  if (answered.kind !== 'final') return !('text' in answered)
  return answered.finish === 'length' || answered.finish === 'content_filter'
}

/** The store takes secrets out of each rune; for a long text that would block the event loop. */
async function withoutSecrets({ redactor }: Engine, answered: Answer): Promise<Answer> {
  if (!('text' in answered)) return { ...answered, partial: await redactor.redactLong(answered.partial, true) }
  const text = await redactor.redactLong(answered.text, isCut(answered))
  if (answered.kind === 'final' || answered.provider_state === undefined) return { ...answered, text }
  return { ...answered, text, provider_state: (await redactor.cleanLong(answered.provider_state)).value }
}

async function conclude(hold: Hold, { answered, spent, overspent }: KeptAnswer): Promise<Went> {
  const cut = { partial: 'text' in answered ? answered.text : answered.partial, usage: answered.usage }
  // A run that was asked to stop is stopped, with any answer.
  if (hold.run.cancel !== null) return cancelHeld(hold, cut)
  const isSteered = hold.run.steers.length > 0
  switch (answered.kind) {
    case 'aborted':
      if (spent !== undefined && hold.lease.isValid()) return stopSpent(hold, spent, cut)
      return isSteered ? steer(hold, cut) : release(hold, 'the worker is shutting down', cut)
    case 'error':
      return broken(hold, answered, cut)
    case 'final':
      return isSteered ? steer(hold, cut) : succeed(hold, answered)
    case 'calls':
      return call(hold, answered, cut, overspent)
  }
}

const repeatedCalls = {
  error_code: 'REPEATED_CALLS',
  message: 'The model made the same call three times in a row.',
}

async function call(
  hold: Hold,
  answered: Extract<Answer, { kind: 'calls' }>,
  cut: Cut,
  overspent: KeptAnswer['overspent'],
): Promise<Went> {
  const { round } = turnOf(hold)
  if (round >= hold.definition.maxRounds) {
    const message = `The turn took ${round} rounds of calls, which is the limit.`
    return failRun(hold, { error_code: 'ROUND_LIMIT', message }, cut)
  }
  const { redact } = hold.engine.redactor
  const read = answered.calls.map((call) => readCall(hold.definition.registry, call, redact))
  // The dialogue has the arguments as they were read, with defaults filled in.
  const recorded = answered.calls.map(({ name }, i) => ({ name, arguments: read[i]?.args ?? null }))
  if (isRepeated(hold.agent.dialogue.messages, recorded, canonicalJson)) return failRun(hold, repeatedCalls, cut)
  // A step for a person is no tool call, and counts for no budget.
  const toolCalls = answered.calls.filter(({ name }) => !isStep(hold, name)).length
  const over = await stopBefore(hold, toolCalls, cut)
  if (over !== undefined) return over
  if (overspent === undefined) return work(hold, await receive(hold, answered, read))
  const { subject_id: budget_of, tool_calls } = overspent.details
  const budget_spent = { limit: 'tool_calls', used: tool_calls, allowed: tool_calls, needed: toolCalls } as const
  const failure = { error_code: 'BUDGET_EXHAUSTED', message: overspent.message, spent: { budget_of, budget_spent } }
  return failRun(hold, failure, cut)
}

function succeed(hold: Hold, answered: Extract<Answer, { kind: 'final' }>): Promise<Went> {
  const batch = batchFor(hold)
  const { round } = turnOf(hold)
  const finish = answered.finish === 'length' ? 'truncated' : answered.finish === 'content_filter' ? 'filtered' : 'stop'
  const completed = { final_output: answered.text, usage: answered.usage, round, finish } as const
  batch.on(heldTurn(hold), 'reasoning').move('response_done', completed)
  batch.on(subject.run(hold.run), 'graph_runner').move('turn.succeeded', { result: answered.text })
  return commitThen(hold, batch, 'over')
}

/** New input ends this turn at a safe boundary, and opens the next one: at once, or when the session is resumed. */
async function steer(hold: Hold, cut: Cut): Promise<Went> {
  if (!isActive(hold.state)) return release(hold, 'steered', cut)
  const batch = batchFor(hold)
  const { partial, usage } = cut
  const payload = { reason: 'steered', partial_output: partial, ...(usage !== undefined && { usage }) }
  batch.on(heldTurn(hold), 'reasoning').move('steer', payload)
  openTurn(hold.engine, batch, hold.run, hold.run.steers[0] ?? null)
  batch.restOn(hold.state.session_id)
  return commitThen(hold, batch, 'on')
}

/** The stream broke: a new turn tries again, unless that was the last try or the session takes no new turn. */
async function broken(hold: Hold, error: StreamError, cut: Cut): Promise<Went> {
  const { errorType: error_type, message, retryable, retryAfterMs } = error
  const { engine, run, state, definition } = hold
  const delay = retryable
    ? retryDelay(run.tries + 1, definition.retries, { random: engine.random, retryAfterMs })
    : undefined
  const isTroubled = isOneTooMany(hold)
  const goesOn = delay !== undefined && !isTroubled && isActive(state)
  const batch = batchFor(hold)
  const again = delay === undefined ? { retryable: false } : { retryable: true, retry_in_ms: delay }
  endTurn(hold, batch, { error_type, message, ...again }, cut)
  if (goesOn) openTurn(engine, batch, run, null)
  else if (delay !== undefined) requeueRun(hold, batch, 'the session takes no new turn')
  else {
    const payload = { error_code: error_type.toUpperCase(), message }
    batch.on(subject.run(run), 'graph_runner').move('turn.failed', payload)
  }
  if (isTroubled) suspend(hold, batch)
  batch.restOn(state.session_id)
  const went: Went = await commitThen(hold, batch, goesOn ? 'on' : 'over')
  if (went !== 'on' || delay === undefined) return went
  await wait(engine.timers, delay, hold.interruption.signal, hold.lease.signal)
  return 'on'
}

/** Text is streamed at once, without an id. It is recorded in larger pieces, before the runes that follow from it. */
function writeDeltas(hold: Hold) {
  const { engine, run, state } = hold
  const { turn_id, round } = turnOf(hold)
  const { about } = heldTurn(hold)
  let writing: Promise<unknown> = Promise.resolve()
  let refused: Refused | undefined
  const offsets = { text: 0, reasoning: 0 }
  const write = (record: (batch: Batch) => void) => {
    const batch = batchFor(hold)
    record(batch)
    writing = writing.then(async () => {
      refused ??= await commitThen(hold, batch, undefined)
    })
    // `finish` awaits it. A rejection before that must not end the process.
    writing.catch(() => undefined)
  }
  const pieces = coalesce(engine.timers, (channel, content, offset) => {
    const payload = { content, channel, round, offset }
    write((batch) => batch.record('turn.assistant_delta', { actor: 'reasoning', payload }, about))
  })
  const clean = { text: cleanStream(engine.redactor), reasoning: cleanStream(engine.redactor) }
  function pass(channel: 'text' | 'reasoning', text: string) {
    if (text === '') return
    const { session_id } = state
    if (run.visibility === 'public')
      engine.ephemeral({ session_id, run_id: run.run_id, turn_id, round, offset: offsets[channel], channel, text })
    offsets[channel] += text.length
    pieces.add(channel, text)
  }
  return {
    add: (channel: 'text' | 'reasoning', raw: string) => pass(channel, clean[channel].add(raw)),
    feel: (payload: Emotion) =>
      write((batch) => batch.record('turn.emotion_detected', { actor: 'reasoning', payload }, about)),
    /** The rest of the text is in the next rune. Reasoning is recorded only here. */
    async finish(isCut: boolean) {
      if (!isCut) pass('reasoning', clean.reasoning.end())
      pieces.finish('reasoning')
      await writing
      return refused
    },
  }
}
