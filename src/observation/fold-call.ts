import type { Json } from '../kernel/json.ts'
import { isTerminal } from '../kernel/machine.ts'
import { type ContractStatus, contractMachine } from '../machines/contract.ts'
import type { InteractionState } from '../machines/interaction.ts'
import { type ToolState, toolMachine } from '../machines/tool.ts'
import type { Concerns, Rune } from '../runes/rune.ts'
import type { CallView, SessionState } from './session-state.ts'

/** Calls with their contracts and interactions. */
export function foldCall(state: SessionState, rune: Rune) {
  foldRuneOfCall(state, rune)
  const call = rune.visibility === 'secret' ? state.calls.get(rune.call_id ?? '') : undefined
  if (call !== undefined && rune.execution_id !== undefined) call.is_secret = true
}

function foldRuneOfCall(state: SessionState, rune: Rune) {
  switch (rune.kind) {
    case 'tool.call': {
      const { call_id, tool_name: name, arguments: given, definition_sha256 } = rune.payload
      const made = { name, arguments: given, definition_sha256, is_erased: rune.redacted === true }
      state.calls.set(call_id, { ...blankCall(rune, call_id, 'tool_call'), ...made, tool: toolMachine.initial })
      return
    }
    case 'contract.opened':
      return contractOpened(state, rune)
    case 'contract.repeat_allowed':
      state.repeats.set(rune.payload.idempotency_key, rune.payload.salted_key)
      return
    case 'contract.evidence_added':
      state.calls.get(rune.call_id ?? '')?.evidence.push(rune.payload)
      return
    case 'contract.moved': {
      const call = state.calls.get(rune.call_id ?? '')
      if (call === undefined) return
      call.contract = rune.to as ContractStatus
      call.reason = rune.to === 'waiting' ? (rune.payload.reason ?? null) : null
      call.decided_by = rune.payload.decided_by ?? call.decided_by
      if (rune.to === 'running') call.started_at = rune.at
      // It was settled after its turn was over, so no run waits for it.
      if (!state.turns.has(call.turn_id) && isTerminal(contractMachine, call.contract)) forgetCall(state, call)
      return
    }
    case 'interaction.opened': {
      const { interaction_id = '', run_id = null, call_id = null, coordination_id = null } = rune
      const { goal_id = null, task_id = null, at: opened_at, payload: opened } = rune
      const about = { interaction_id, run_id, call_id, coordination_id, goal_id, task_id }
      state.interactions.set(interaction_id, { ...about, opened_at, opened, state: 'open', answered: null })
      const call = state.calls.get(rune.call_id ?? '')
      if (call !== undefined) call.interaction_id = interaction_id
      return
    }
    case 'interaction.answered':
    case 'interaction.expired':
    case 'interaction.withdrawn': {
      const interaction = state.interactions.get(rune.interaction_id ?? '')
      if (interaction === undefined) return
      interaction.state = rune.to as InteractionState
      if (rune.kind === 'interaction.answered') interaction.answered = rune.payload
      return
    }
  }
  if (rune.machine === toolMachine.name) {
    const call = state.calls.get(rune.call_id ?? '')
    if (call !== undefined) call.tool = rune.to as ToolState
  }
}

/** Drops a call, its contract and its questions from the fold. */
export function forgetCall(state: SessionState, { call_id, execution_id }: CallView) {
  state.calls.delete(call_id)
  state.subjects.delete(call_id)
  if (execution_id !== null) state.subjects.delete(execution_id)
  for (const asked of state.interactions.values()) {
    if (asked.call_id !== call_id) continue
    state.interactions.delete(asked.interaction_id)
    state.subjects.delete(asked.interaction_id)
  }
}

function contractOpened(state: SessionState, rune: Rune<'contract.opened'>) {
  const { action_type, action_detail, action_summary, irreversible, idempotency_key, timeout_ms } = rune.payload
  const { ends_turn = false, read_only = false, idempotent = false } = rune.payload
  const call_id = rune.call_id ?? ''
  const known = state.calls.get(call_id)
  const call: CallView = known ?? {
    ...blankCall(rune, call_id, action_type),
    name: String(action_detail.name ?? ''),
    arguments: (action_detail.arguments ?? null) as Json,
  }
  call.is_erased ||= rune.redacted === true
  call.execution_id = rune.execution_id ?? null
  call.contract = 'pending'
  const declared = { irreversible, ends_turn, read_only, idempotent, idempotency_key, timeout_ms, action_summary }
  Object.assign(call, declared satisfies Partial<CallView>)
  if (known === undefined) state.calls.set(call_id, call)
}

/** A call with only its ids and its time. */
export function blankCall(
  rune: Concerns & Pick<Rune, 'at'>,
  call_id: string,
  action_type: CallView['action_type'],
): CallView {
  return {
    call_id,
    run_id: rune.run_id ?? '',
    agent_id: rune.agent_id ?? '',
    turn_id: rune.turn_id ?? '',
    action_type,
    name: '',
    arguments: null,
    definition_sha256: null,
    ends_turn: false,
    is_erased: false,
    is_secret: false,
    execution_id: null,
    tool: null,
    contract: null,
    reason: null,
    decided_by: null,
    irreversible: false,
    read_only: false,
    idempotent: false,
    idempotency_key: null,
    timeout_ms: null,
    action_summary: '',
    started_at: 0,
    opened_at: rune.at,
    interaction_id: null,
    evidence: [],
  }
}
