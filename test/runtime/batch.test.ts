import { expect, test } from 'vitest'
import { newSessionState } from '../../src/observation/fold-session.ts'
import { createBatch, subject } from '../../src/runtime/batch.ts'

/** A run that waits, in a record that has neither a question nor a turn of it. */
function waiting() {
  const state = newSessionState('ses_1')
  state.subjects.set('run_1', { machine: 'run', state: 'waiting_user', version: 4 })
  return createBatch(state, 1).on(subject.run({ run_id: 'run_1', agent_id: 'agt_1' }), 'recovery')
}

test('batch: a fact of the record is not overridden by an object that happens to have its name', () => {
  const wide = { is_configured: true, open_questions: 1, has_turn: true }
  const decision = waiting().decide('restart.preserve_waiting', {}, wide)
  expect(decision).toMatchObject({ allowed: false, refusal: 'guarded' })
  expect(decision.readings.map(({ guard, holds }) => [guard, holds])).toEqual([
    ['interaction_is_open', false],
    ['agent_is_configured', true],
    ['checkpoint_verifies', false],
  ])
})
