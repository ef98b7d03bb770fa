import { isTerminal } from '../kernel/machine.ts'
import type { MachineName } from '../machines/all.ts'
import type { ContractStatus, ContractTrigger } from '../machines/contract.ts'
import { type RunStatus, runMachine } from '../machines/run.ts'
import { actorCategory, type Draft, type Rune } from '../runes/rune.ts'
import type { ExecutionStateEvent, SessionEvent, SessionPayload } from '../wire/session-event.ts'
import { causeOf, hasHappened, statusFlags } from './contract.ts'

/** The machines whose moves change the state that a client shows. */
const followed: readonly MachineName[] = ['session', 'run', 'interaction', 'coordination', 'goal']

/** The events of a rune, in order. A rune that is not public has none. */
export function sessionEvents(rune: Rune, opened?: Draft<'contract.opened'>): readonly SessionEvent[] {
  if (rune.visibility !== 'public') return []
  const { turn_id } = rune
  switch (rune.kind) {
    case 'turn.assistant_delta':
      return [{ type: 'delta', payload: { turn_id, ...rune.payload } }]
    case 'turn.emotion_detected':
      return [{ type: 'emotion', payload: { turn_id, ...rune.payload } }]
    // The round counts up with the calls, and the text belongs to the one before.
    case 'turn.tool_calls_received':
      return textEvents(rune, rune.payload.text, { round: rune.payload.round - 1, is_final: false })
    case 'turn.completed':
      return textEvents(rune, rune.payload.final_output, { round: rune.payload.round, is_final: true })
    case 'turn.interrupted':
      return textEvents(rune, rune.payload.partial_output, { is_partial: true, is_final: false })
    case 'turn.error': {
      const { error_type: code, message, retryable, partial_output = '' } = rune.payload
      const error: SessionEvent = { type: 'error', payload: { code, message, retryable, is_final: false, turn_id } }
      return [...textEvents(rune, partial_output, { is_partial: true, is_final: false }), error]
    }
    case 'tool.result': {
      const { output: result = null, ...rest } = rune.payload
      return [{ type: 'tool_result', payload: { ...rest, result } }]
    }
    case 'contract.moved':
      if (opened === undefined || (opened.visibility ?? 'public') !== 'public') return []
      return [{ type: 'execution_state', payload: executionStateEvent(opened, rune) }]
    case 'memory.committed':
      return [{ type: 'memory_saved', payload: { count: 1, entries: [rune.payload] } }]
    case 'interaction.opened':
      return [{ type: 'ecs', payload: question(rune) }]
    case 'run.moved':
      return [status(rune), ...ending(rune)]
    // A request changes nothing yet.
    case 'run.requested':
      return []
    default:
      return followed.some((name) => name === rune.machine) ? [status(rune)] : []
  }
}

type More = Omit<SessionPayload<'text'>, 'turn_id' | 'content'>

function textEvents({ turn_id }: Rune, content: string, more: More): readonly SessionEvent[] {
  return content === '' ? [] : [{ type: 'text', payload: { turn_id, ...more, content } }]
}

function status(rune: Rune): SessionEvent {
  const { machine = '', subject_id = '', from = null, to = '', trigger = null, session_id } = rune
  return { type: 'status', payload: { machine, subject_id, from, status: to, trigger, session_id } }
}

/** Every run is done once, with any outcome; a failed run first reports its error. */
function ending({ to, run_id = '', payload }: Rune<'run.moved'>): readonly SessionEvent[] {
  const status = to as RunStatus
  if (!isTerminal(runMachine, status)) return []
  const { result = null, error_code = null, message = null } = payload
  const done: SessionEvent = { type: 'done', payload: { run_id, status, result, error_code, message } }
  if (status !== 'failed') return [done]
  return [{ type: 'error', payload: { code: error_code, message, retryable: false, is_final: true, run_id } }, done]
}

/** A question. The members of its request become fields of the event, where forms expect them. */
function question({ payload, interaction_id = '', session_id, call_id, execution_id }: Rune<'interaction.opened'>) {
  const { interaction_kind, prompt, request, deadline, on_silence, digest } = payload
  const about = { session_id, call_id, execution_id, interaction_kind, deadline, on_silence, digest }
  return { type: interaction_kind, title: prompt, ...request, id: interaction_id, ...about }
}

/** Every flag comes from the target state of the move, so that an event is the same at any time. */
export function executionStateEvent(
  opened: Draft<'contract.opened'>,
  move: Draft<'contract.moved'>,
): ExecutionStateEvent {
  const to_status = move.to as ContractStatus
  const { is_terminal, is_resumable } = statusFlags(to_status)
  return {
    execution_id: opened.execution_id ?? '',
    action_summary: opened.payload.action_summary,
    from_status: move.from as ContractStatus,
    to_status,
    trigger: move.trigger as ContractTrigger,
    actor_category: actorCategory(move.actor),
    is_terminal,
    is_resumable,
    has_side_effects: opened.payload.irreversible && hasHappened(to_status),
    timestamp: move.at,
    ...causeOf(move),
  }
}
