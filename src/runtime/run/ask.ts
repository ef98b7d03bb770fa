import { boundedJson, type Json, jsonLimits } from '../../kernel/json.ts'
import type { CallView } from '../../observation/session-state.ts'
import type { EcsRequest } from '../../wire/form.ts'
import { defaultsOf, readEcsRequest } from '../ecs/request.ts'
import type { Asked } from '../tools/tool.ts'
import { stepQuestion } from './advance.ts'
import { ask, inputWithdrawn } from './calls.ts'
import { batchFor, commit, type Hold } from './hold.ts'

/** The questions of one call at work, put one after the other. When the call ends, the open one is withdrawn. */
export function createAsking(hold: Hold, call: CallView, signal: AbortSignal) {
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
    /** The tool has returned, or was given up: it asks nothing more. Resolves when what it asked last is on record. */
    end(): Promise<unknown> {
      isOver = true
      return opening
    },
  }
}

type Asking = { readonly asked: Json; readonly signal: AbortSignal; readonly opened: () => void }

/**
 * Asks a person on behalf of a tool that is at work. The contract stays running: the tool may have acted already. The
 * question is withdrawn if the call ends first. The run waits without a worker's slot. In an auto run the defaults
 * answer, if there are any.
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
  await commit(hold, batch)
  opened()
  if (question.deadline !== null) hold.engine.deadline(interaction_id, hold.state.session_id, question.deadline)

  const takeBack = hold.engine.lendSlot(call.run_id)
  try {
    const end = await answered(hold, interaction_id, signal)
    if (end === 'moot') {
      const withdrawal = batchFor(hold)
      inputWithdrawn(withdrawal, hold.state.calls.get(call.call_id) ?? call, 'The tool that asked needs it no more.')
      await commit(hold, withdrawal)
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

/** Resolves when the question is closed, or when its answer has no use: the call is over, or the run is to stop. */
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
