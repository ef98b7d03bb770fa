import { boundedJson, jsonLimits } from '../../kernel/bounded-json.ts'
import type { Json } from '../../kernel/json.ts'
import type { CallView } from '../../observation/session-state.ts'
import { inputWithdrawn } from '../contracts/endings.ts'
import { ask, type Question } from '../contracts/openings.ts'
import { defaultsOf } from '../ecs/answers.ts'
import { readEcsRequest } from '../ecs/request.ts'
import type { EcsRequest } from '../ecs/shapes.ts'
import type { Asked } from '../tools/tool.ts'
import type { Engine } from './engine.ts'
import { batchFor, commit, type Hold } from './hold.ts'

/**
 * The questions of one call at work. They are put one after the other: when the
 * call ends, the one that is open is withdrawn, and there is never another.
 */
export function createAsking(engine: Engine, hold: Hold, call: CallView, signal: AbortSignal) {
  let last: Promise<unknown> | undefined
  let opening: Promise<unknown> = Promise.resolve()
  let isOver = false

  return {
    ask(request: Json, moot: AbortSignal = signal): Promise<Asked> {
      const put = async (): Promise<Asked> => {
        if (isOver) return { action: 'silence' }
        const { promise, resolve } = Promise.withResolvers<void>()
        opening = promise
        return askWhileAtWork(engine, hold, call, request, AbortSignal.any([signal, moot]), resolve).finally(resolve)
      }
      const asked = last === undefined ? put() : last.then(put, put)
      last = asked
      const leave = () => {
        if (last === asked) last = undefined
      }
      // Whoever asks and does not wait must not end the process with an answer that nobody hears.
      asked.then(leave, leave)
      return asked
    },
    /** The tool has returned, or was given up: it asks nothing more. Resolves when what it asked last is on record. */
    end(): Promise<unknown> {
      isOver = true
      return opening
    },
  }
}

/**
 * Asks a person on behalf of a tool that is at work. The contract stays
 * running, since nobody knows what the tool has done already; the question is
 * withdrawn when the call ends first, and the run waits without a worker's
 * slot. In a run that nobody watches, the defaults answer or nobody does.
 */
async function askWhileAtWork(
  engine: Engine,
  hold: Hold,
  call: CallView,
  asked: Json,
  signal: AbortSignal,
  opened: () => void,
): Promise<Asked> {
  const copied = boundedJson(asked, jsonLimits.arguments)
  const read = readEcsRequest('value' in copied ? copied.value : asked)
  if ('problem' in copied || 'problem' in read) throw new Error('problem' in read ? read.problem : 'It cannot be read.')
  if (hold.run.mode === 'auto') return silenceOf(read.request)
  signal.throwIfAborted()

  const interaction_id = engine.ids.next('int')
  const question = questionOf(engine, hold, copied.value, read.request)
  const batch = batchFor(engine, hold)
  ask(batch, call, interaction_id, question)
  await commit(engine, hold, batch)
  opened()
  if (question.deadline !== null) engine.deadline(interaction_id, hold.state.session_id, question.deadline)

  const takeBack = engine.lendSlot(call.run_id)
  try {
    const end = await answered(engine, hold, interaction_id, signal)
    if (end === 'moot') {
      const withdrawal = batchFor(engine, hold)
      inputWithdrawn(withdrawal, hold.state.calls.get(call.call_id) ?? call, 'Whoever asked needs it no more.')
      if (withdrawal.runes.length > 0) await commit(engine, hold, withdrawal)
      return { action: 'silence' }
    }
    const reply = hold.state.interactions.get(interaction_id)?.answered?.reply
    return reply === undefined ? silenceOf(read.request) : (reply as unknown as Asked)
  } finally {
    takeBack()
  }
}

function silenceOf(request: EcsRequest): Asked {
  const data = defaultsOf(request)
  return data === undefined ? { action: 'silence' } : { action: 'approve', data, is_default: true }
}

/** Resolves when the question is closed, or when nobody needs the answer: the call is over, or the run is to stop. */
function answered(engine: Engine, hold: Hold, interaction_id: string, signal: AbortSignal) {
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
  const deaf = engine.sessions.listen(hold.state.session_id, look)
  signal.addEventListener('abort', look, { once: true })
  nudged()
  return promise.finally(() => {
    isOver = true
    deaf()
    signal.removeEventListener('abort', look)
  })
}

function questionOf(engine: Engine, hold: Hold, given: Json, request: EcsRequest): Question {
  const common = {
    interaction_kind: 'ecs' as const,
    prompt: request.title,
    request: given as Readonly<Record<string, Json>>,
    evidence: [],
    digest: null,
  }
  if (hold.run.strict) return { ...common, deadline: null, on_silence: 'wait' }
  const deadline = engine.clock.now() + engine.settings.reply_timeout_ms
  return { ...common, deadline, on_silence: defaultsOf(request) === undefined ? 'cancel' : 'use_default' }
}
