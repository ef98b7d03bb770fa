/** Compiled, never run: a caller of `move` gives facts that the record does not have, and nothing else. */
import type { Batch, RunIds } from '../../src/runtime/batch.ts'
import { subject } from '../../src/runtime/batch.ts'

export const facts = (batch: Batch, ids: RunIds) => {
  const run = batch.on(subject.run(ids), 'recovery')
  run.move('restart.preserve_waiting', {}, { is_configured: true })
  // @ts-expect-error The fact that lies outside the record is needed.
  run.move('restart.preserve_waiting', {})
  // @ts-expect-error The value of a guard is no fact.
  run.move('restart.preserve_waiting', {}, { is_configured: true, agent_is_configured: true })
  // @ts-expect-error The record says how many questions are open.
  run.move('restart.preserve_waiting', {}, { is_configured: true, open_questions: 1 })
  // @ts-expect-error The record says what the session is.
  run.move('turn.started', {}, { session: 'active' })
  // @ts-expect-error A move without guards takes no facts.
  run.move('turn.succeeded', {}, { session_is_active: true })
}

export const tape = (batch: Batch, coordination_id: string) => {
  const plan = { machine: 'coordination', id: coordination_id, about: { coordination_id } } as const
  const payload = { guards: [], outputs: [], duration_ms: 0 }
  batch.on(plan, 'coordinator').move('context_ready', payload)
  // @ts-expect-error The payload is the tape, and its guards are read from there.
  batch.on(plan, 'coordinator').move('context_ready', payload, { readings: new Map() })
}
