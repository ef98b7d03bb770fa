import type { Fault } from '../../faults/fault.ts'
import { createBatch } from '../batch.ts'
import { align } from '../commands/alignment.ts'
import { attempt } from '../decide-and-append.ts'
import type { Engine } from '../engine.ts'
import { subject } from '../subject.ts'
import { takeUp } from './take-up.ts'

/**
 * A deadline has passed. If an answer came first, there is nothing to do; of the
 * two, one wins. Answers with the time that is left, if it has not passed yet.
 */
export async function expire(engine: Engine, session_id: string, interaction_id: string): Promise<number> {
  let left = 0
  let isBeside = false
  let refused: Fault | undefined
  const run_id = await attempt(engine, session_id, async (state) => {
    left = 0
    isBeside = false
    refused = undefined
    const question = state.interactions.get(interaction_id)
    const run = question?.run_id == null ? undefined : state.runs.get(question.run_id)
    const effect = question?.opened.on_silence
    if (question?.state !== 'open' || effect === undefined || effect === 'wait') return { answer: () => null }
    const at = engine.clock.now()
    left = Math.max(0, (question.opened.deadline ?? at) - at)
    if (question.opened.deadline === null || left > 0) return { answer: () => null }

    const batch = createBatch(state, at)
    const { refusal } = await align(engine, state, batch, { question })
    refused = refusal
    if (refusal !== undefined) return { answer: () => null }
    const call = state.calls.get(question.call_id ?? '')
    batch.on(subject.question(question, call), 'timer').move('expire', { effect })
    if (run?.status === 'waiting_user') batch.on(subject.run(run), 'timer').move('interaction.auto_decide.timeout', {})
    isBeside = run === undefined
    return { batch, read: run === undefined ? [] : [run.run_id], answer: () => question.run_id }
  })
  const problem = (refused as Fault | undefined)?.message
  if (problem !== undefined)
    engine.warn('a deadline passed for a contract that does not wait', { interaction_id, problem })
  if (run_id !== null) engine.wake(session_id, run_id)
  if (isBeside) takeUp(engine, session_id)
  return left
}
