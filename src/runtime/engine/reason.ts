import { canonicalJson } from '../../kernel/canonical-json.ts'
import { readCall } from '../tools/read-call.ts'
import { answer, type WrittenCall } from '../turns/answer.ts'
import { coalesce } from '../turns/coalesce.ts'
import { isRepeated } from '../turns/repeated-calls.ts'
import { buildRequest } from '../turns/request.ts'
import { retryDelay } from '../turns/retry.ts'
import { exhausted } from './budget.ts'
import { cancelHeld, endTurn, failRun, release, spend } from './end.ts'
import type { Engine } from './engine.ts'
import { aboutRun, aboutTurn, batchFor, commit, type Hold, turnOf } from './hold.ts'
import { receive } from './receive.ts'

/** Lets the model answer once, and records what it said. */
export async function reason(engine: Engine, hold: Hold): Promise<'on' | 'over'> {
  const stop = await stopBefore(engine, hold, 0)
  if (stop !== undefined) return stop

  const turn = turnOf(hold)
  const request = buildRequest({
    instructions: hold.definition.instructions,
    messages: hold.agent.dialogue.messages,
    tools: hold.definition.registry.descriptions,
    memories: hold.agent.facts,
  })
  hold.interruption = new AbortController()
  if (hold.run.cancel !== null || hold.run.steers.length > 0 || hold.isLeaving) hold.interruption.abort()
  const signal = AbortSignal.any([hold.interruption.signal, hold.lease.signal])
  const deltas = writeDeltas(engine, hold)
  const said = await answer(hold.definition.model, request, {
    signal,
    onDelta: deltas.add,
    clock: engine.clock,
    timers: engine.timers,
  })
  await deltas.finish()
  if (hold.lease.signal.aborted) return 'over'

  switch (said.kind) {
    case 'aborted':
      return stopped(engine, hold, said.partial)
    case 'error':
      return broken(engine, hold, said)
    case 'final': {
      if (hold.run.steers.length > 0) return steer(engine, hold, said.text)
      const batch = batchFor(engine, hold)
      const finish = said.finish === 'length' ? 'truncated' : said.finish === 'content_filter' ? 'filtered' : 'stop'
      const payload = { final_output: said.text, usage: said.usage, round: turn.round, finish } as const
      batch.move(
        'turn',
        turn.turn_id,
        'response_done',
        'turn.completed',
        { actor: 'reasoning', payload },
        aboutTurn(hold),
        {
          no_tool_calls: true,
        },
      )
      const result = { actor: 'graph_runner' as const, payload: { result: said.text } }
      batch.move('run', hold.run.run_id, 'turn.succeeded', 'run.moved', result, aboutRun(hold.run))
      await commit(engine, hold, batch)
      return 'over'
    }
    case 'calls': {
      if (turn.round >= hold.definition.max_rounds)
        return failRun(
          engine,
          hold,
          'ROUND_LIMIT',
          `The turn took ${turn.round} rounds of calls, which is the limit.`,
          said.text,
        )
      if (isRepeated(hold.agent.dialogue.messages, asRecorded(hold, said.calls), canonicalJson))
        return failRun(engine, hold, 'REPEATED_CALLS', 'The model made the same call three times in a row.', said.text)
      const over = await stopBefore(engine, hold, said.calls.length, said.text)
      if (over !== undefined) return over
      return receive(engine, hold, said.text, said.calls, said.usage)
    }
  }
}

/** The dialogue has the arguments as they were read, with defaults filled in. */
function asRecorded(hold: Hold, calls: readonly WrittenCall[]) {
  return calls.map((call) => ({ name: call.name, arguments: readCall(hold.definition.registry, call).args }))
}

/** Checked before each step begins: a budget that is used up, a session that may not go on. */
async function stopBefore(engine: Engine, hold: Hold, calls: number, partial = ''): Promise<'over' | undefined> {
  if (hold.state.subjects.get(hold.state.session_id)?.state === 'suspended')
    return release(engine, hold, 'the session is suspended', partial)
  const spent = exhausted(engine, hold, calls)
  if (spent === undefined) return undefined
  if (spent.scope === 'agent') return spend(engine, hold, spent.message, partial)
  if (spent.scope === 'run') return failRun(engine, hold, 'BUDGET_EXHAUSTED', spent.message, partial)
  const batch = batchFor(engine, hold)
  const payload = { reason: spent.message, budget_info: { ...hold.state.used } }
  batch.move('session', hold.state.session_id, 'budget_exhausted', 'session.suspended', { actor: 'policy', payload })
  await commit(engine, hold, batch)
  return release(engine, hold, spent.message, partial)
}

async function stopped(engine: Engine, hold: Hold, partial: string): Promise<'on' | 'over'> {
  if (hold.run.cancel !== null) return cancelHeld(engine, hold, partial)
  if (hold.run.steers.length > 0) return steer(engine, hold, partial)
  return release(engine, hold, 'the worker is shutting down', partial)
}

/** New input ends this turn at a safe boundary; what was said so far is kept, and the input opens the next one. */
async function steer(engine: Engine, hold: Hold, partial_output: string): Promise<'on'> {
  const batch = batchFor(engine, hold)
  const payload = { reason: 'steered', partial_output }
  batch.move(
    'turn',
    turnOf(hold).turn_id,
    'steer',
    'turn.interrupted',
    { actor: 'reasoning', payload },
    aboutTurn(hold),
  )
  openTurn(engine, hold, batch, hold.run.steers[0] ?? null)
  await commit(engine, hold, batch)
  return 'on'
}

type Broken = {
  readonly error_type: string
  readonly message: string
  readonly retryable: boolean
  readonly partial: string
  readonly retry_after_ms?: number
}

async function broken(engine: Engine, hold: Hold, error: Broken): Promise<'on' | 'over'> {
  const delay = error.retryable
    ? retryDelay(hold.run.tries + 1, hold.definition.retries, error.retry_after_ms)
    : undefined
  const batch = batchFor(engine, hold)
  endTurn(engine, hold, batch, error.error_type, error.message, error.partial, delay)
  if (delay === undefined) {
    const payload = { error_code: error.error_type.toUpperCase(), message: error.message }
    batch.move(
      'run',
      hold.run.run_id,
      'turn.failed',
      'run.moved',
      { actor: 'graph_runner', payload },
      aboutRun(hold.run),
    )
  } else openTurn(engine, hold, batch, null)
  if (
    hold.state.turn_errors_in_a_row + 1 >= engine.settings.error_threshold &&
    hold.state.subjects.get(hold.state.session_id)?.state === 'active'
  ) {
    const payload = { reason: `${engine.settings.error_threshold} turn errors in a row`, budget_info: null }
    batch.move('session', hold.state.session_id, 'error_threshold', 'session.suspended', { actor: 'policy', payload })
  }
  await commit(engine, hold, batch)
  if (delay === undefined) return 'over'
  await pause(engine, hold, delay)
  return 'on'
}

function openTurn(engine: Engine, hold: Hold, batch: ReturnType<typeof batchFor>, input: Hold['run']['input']) {
  const turn_id = engine.ids.next('turn')
  const payload = { turn_id, agent_id: hold.run.agent_id, input }
  batch.move(
    'turn',
    turn_id,
    'start_turn',
    'turn.started',
    { actor: 'graph_runner', payload },
    aboutTurn(hold, turn_id),
    {
      input: true,
    },
  )
}

function pause(engine: Engine, hold: Hold, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const cancel = engine.timers.after(ms, resolve)
    const wake = () => {
      cancel()
      resolve()
    }
    hold.interruption.signal.addEventListener('abort', wake, { once: true })
    hold.lease.signal.addEventListener('abort', wake, { once: true })
  })
}

/** Text goes out at once, without an id; it becomes durable in larger pieces, before what follows from it. */
function writeDeltas(engine: Engine, hold: Hold) {
  const { turn_id, round } = turnOf(hold)
  const about = aboutTurn(hold)
  let writing: Promise<unknown> = Promise.resolve()
  const offsets = { text: 0, reasoning: 0 }
  const pieces = coalesce(engine.timers, (channel, content, offset) => {
    const batch = batchFor(engine, hold)
    const payload = { content, channel, round, offset }
    batch.say('turn.assistant_delta', { actor: 'reasoning', payload }, about)
    writing = writing.then(() => commit(engine, hold, batch))
  })
  return {
    add(channel: 'text' | 'reasoning', text: string) {
      const { session_id } = hold.state
      engine.ephemeral({ session_id, run_id: hold.run.run_id, turn_id, round, offset: offsets[channel], channel, text })
      offsets[channel] += text.length
      pieces.add(channel, text)
    },
    async finish() {
      pieces.drop()
      await writing
    },
  }
}
