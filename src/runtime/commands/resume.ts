import { subjectOf } from '../../runelog/queries.ts'
import type { ExecutionSnapshot } from '../../wire/contract.ts'
import type { Engine } from '../engine.ts'
import { look, notWaiting } from './alignment.ts'
import { type Replied, type Reply, reply } from './reply.ts'

export interface Resumed extends Replied {
  /** The contract as it was right before; as it is now, where the reply had been accepted before. */
  readonly snapshot: ExecutionSnapshot
}

/**
 * Resumes one contract with what a person answered: it is the reply to the
 * question that the contract waits for, addressed by the contract.
 */
export async function resume(engine: Engine, execution_id: string, given: Reply): Promise<Resumed> {
  const { session_id } = await subjectOf(engine.runelog, 'contract', execution_id)
  const state = await engine.sessions.load(session_id)
  const call = [...state.calls.values()].find((c) => c.execution_id === execution_id)
  if (call?.contract !== 'waiting' || call.interaction_id === null) throw notWaiting(await look(engine, execution_id))
  const replied = await reply(engine, call.interaction_id, given)
  return { ...replied, snapshot: replied.snapshot ?? (await look(engine, execution_id)) }
}
