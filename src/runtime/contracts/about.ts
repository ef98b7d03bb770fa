import type { ContractTrigger } from '../../machines/contract.ts'
import type { CallView } from '../../observation/session-state.ts'
import type { Concerns } from '../../runes/rune.ts'
import type { Batch, Said } from '../batch.ts'

/** The ids that every rune of a call carries. */
export function about(call: CallView): Concerns {
  return {
    run_id: call.run_id,
    agent_id: call.agent_id,
    turn_id: call.turn_id,
    call_id: call.call_id,
    ...(call.execution_id === null ? {} : { execution_id: call.execution_id }),
  }
}

export function executionOf(call: CallView): string {
  if (call.execution_id === null) throw new Error(`${call.call_id} has no contract.`)
  return call.execution_id
}

/** Moves the contract of a call. A move that ends its waiting names the question that it waited for. */
export function moveContract(batch: Batch, call: CallView, trigger: ContractTrigger, said: Said<'contract.moved'>) {
  const { interaction_id } = call
  const isAsked = interaction_id !== null && batch.stateOf(executionOf(call)) === 'waiting'
  const payload = isAsked ? { ...said.payload, interaction_id } : said.payload
  batch.move('contract', executionOf(call), trigger, 'contract.moved', { ...said, payload }, about(call))
}
