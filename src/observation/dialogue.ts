import type { Json } from '../kernel/json.ts'
import type { Payload } from '../runes/kinds.ts'
import type { Draft } from '../runes/rune.ts'
import type { ConsequenceView, Message, ModelCall } from '../wire/dialogue.ts'
import { consequenceView, outcomeIsUnknown, statusFlags, statusOf } from './contract.ts'
import { elapsed } from './durations.ts'

/** The conversation of one agent with its model. `messages` grows with each folded rune; copy it to keep it. */
export interface Dialogue {
  readonly messages: Message[]
  /** Calls that may still get a message, or another one instead. */
  readonly open: Map<string, OpenCall>
  /** The calls of the last answer, filled by the runes that follow it. */
  calls: ModelCall[]
  /** A text that is added to the next input (`run.briefed`). */
  brief: string | null
}

interface OpenCall {
  readonly tool: Draft<'tool.call'> | null
  contract: [Draft<'contract.opened'>, ...Draft<'contract.moved'>[]] | null
  result: Draft<'tool.result'> | null
  /** The reason of the refusal. */
  reason: string | null
  /** The position of its message. */
  position: number | null
}

const emptyCall: OpenCall = { tool: null, contract: null, result: null, reason: null, position: null }

/** A dialogue before its first message. */
export function newDialogue(): Dialogue {
  return { messages: [], open: new Map(), calls: [], brief: null }
}

/** The whole dialogue of an agent. */
export function dialogueOf(runes: Iterable<Draft>, agent_id: string): readonly Message[] {
  const dialogue = newDialogue()
  for (const rune of runes) if (rune.agent_id === agent_id) foldDialogue(dialogue, rune)
  return dialogue.messages
}

/** Adds the next rune of an agent in constant time. A call gets one message; a late outcome replaces an unknown one. */
export function foldDialogue(dialogue: Dialogue, rune: Draft) {
  switch (rune.kind) {
    case 'run.briefed':
      dialogue.brief = rune.payload.text
      return
    case 'turn.started':
      return asked(dialogue, rune.payload.input)
    case 'turn.tool_calls_received':
      return called(dialogue, rune.payload)
    case 'turn.completed':
      return answer(dialogue, rune.payload.final_output)
    case 'turn.interrupted':
    case 'turn.error':
      return answer(dialogue, rune.payload.partial_output ?? '', true)
  }
  if (rune.call_id !== undefined) foldCall(dialogue, rune.call_id, rune)
}

function asked(dialogue: Dialogue, input: Json): void {
  const { messages, brief } = dialogue
  if (input === null) return
  dialogue.brief = null
  const text = typeof input === 'string' ? input : JSON.stringify(input)
  messages.push({ role: 'user', content: brief === null ? input : `${text}\n\n${brief}` })
}

function called(dialogue: Dialogue, payload: Payload<'turn.tool_calls_received'>): void {
  const { text, provider_state, provider_model } = payload
  dialogue.calls = []
  const model = provider_model !== undefined && { provider_model }
  const state = provider_state !== undefined && { provider_state, ...model }
  dialogue.messages.push({ role: 'assistant', text, calls: dialogue.calls, ...state })
}

function answer({ messages }: Dialogue, text: string, partial?: true): void {
  if (text === '') return
  messages.push({ role: 'assistant', text, calls: [], ...(partial && { partial }) })
}

function foldCall(dialogue: Dialogue, call_id: string, rune: Draft): void {
  const call = dialogue.open.get(call_id)
  switch (rune.kind) {
    case 'tool.call': {
      const { tool_name, arguments: args } = rune.payload
      dialogue.open.set(call_id, { ...emptyCall, tool: rune })
      dialogue.calls.push({ call_id, name: tool_name, arguments: args })
      return
    }
    case 'contract.opened':
      if (call === undefined) dialogue.calls.push({ call_id, ...askedFor(rune) })
      dialogue.open.set(call_id, Object.assign(call ?? { ...emptyCall }, { contract: [rune] }))
      return
    case 'contract.moved':
      call?.contract?.push(rune)
      break
    case 'tool.denied':
      if (call !== undefined) call.reason = rune.payload.reason
      return
    case 'tool.result':
      if (call !== undefined) call.result = rune
      break
    default:
      return
  }
  if (call !== undefined) conclude(dialogue, call_id, call)
}

function conclude({ messages, open }: Dialogue, call_id: string, call: OpenCall): void {
  const { contract, result } = call
  const over = contract === null ? result !== null : statusFlags(statusOf(contract)).is_terminal
  const unknown = contract !== null && result?.payload.status === 'unknown' && outcomeIsUnknown(contract)
  if (!over && !unknown) return

  const consequence = contract === null ? refusal(call) : consequenceView(contract)
  const message: Message = { role: 'tool', call_id, consequence }
  if (call.position === null) call.position = messages.push(message) - 1
  else messages[call.position] = message
  if (over) open.delete(call_id)
}

/** A call whose key was taken has no contract; its refusal is written in the form of one. */
function refusal({ tool, result, reason }: OpenCall): ConsequenceView {
  return {
    execution_id: '',
    action_type: 'tool_call',
    action_summary: tool?.payload.tool_name ?? '',
    consequence_label: 'REJECTED',
    result: result?.payload.output ?? null,
    error_message: reason ?? result?.payload.error ?? null,
    has_side_effects: false,
    was_suspended: false,
    decided_by: 'policy',
    is_still_pending: false,
    total_duration_ms: tool === null || result === null ? null : elapsed(tool.at, result.at),
  }
}

/** The call of the model that hands a step to a person. */
function askedFor({ payload }: Draft<'contract.opened'>): Omit<ModelCall, 'call_id'> {
  const { name, arguments: args } = payload.action_detail
  return { name: typeof name === 'string' ? name : payload.action_summary, arguments: args ?? {} }
}
