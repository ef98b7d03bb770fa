import type { Json } from '../../src/kernel/json.ts'
import { isTerminal } from '../../src/kernel/machine.ts'
import { declaredState } from '../../src/machines/all.ts'
import { contractMachine } from '../../src/machines/contract.ts'
import { describeRune } from '../../src/observation/describe.ts'
import type { Rune } from '../../src/runes/rune.ts'

/** The tone of the state that a rune led to, or that a person did it. */
type LineTone = 'plain' | 'good' | 'bad' | 'person'

/** A run that begins to wait is shown by the call that asks. */
const isAsking = ({ kind, trigger, to }: Rune) =>
  kind === 'run.moved' && to === 'waiting_user' && trigger !== 'restart.preserve_waiting'

function toneOfLine({ machine, to, actor_category }: Rune): LineTone {
  const tone = machine === undefined || machine === 'interaction' ? undefined : declaredState(machine, to)?.tone
  if (tone === 'good' || tone === 'bad') return tone
  return actor_category === 'human' || machine === 'interaction' || tone === 'waiting' ? 'person' : 'plain'
}

/** One entry of a transcript. `event_id` is the rune that began it, and its address. */
export type Entry =
  | { readonly type: 'user'; readonly event_id: number; readonly at: number; readonly content: Json }
  | {
      readonly type: 'assistant'
      readonly event_id: number
      readonly at: number
      text: string
      isOpen: boolean
      isPartial: boolean
    }
  | ToolEntry
  | {
      readonly type: 'line'
      readonly event_id: number
      readonly at: number
      readonly text: string
      readonly tone: LineTone
    }

/** A tool call in the transcript. */
export interface ToolEntry {
  readonly type: 'tool'
  readonly event_id: number
  readonly at: number
  readonly call_id: string
  readonly name: string
  readonly arguments: Json
  readonly isStep: boolean
  summary: string
  tool: string | null
  contract: string | null
  isUnknown: boolean
  irreversible: boolean
  execution_id: string | null
  interaction_id: string | null
  isAsking: boolean
  result: Json | null
  error: string | null
  ended_at: number | null
}

type Of<K extends Rune['kind']> = Extract<Rune, { kind: K }>

interface Transcript {
  readonly entries: Entry[]
  readonly take: (rune: Rune) => void
}

/** The transcript of a session, rune by rune. It can begin in the middle; entries that began before are left out. */
export function createTranscript(): Transcript {
  const entries: Entry[] = []
  const calls = new Map<string, ToolEntry>()
  const asking = new Map<string, ToolEntry>()
  const open = new Map<string, Extract<Entry, { type: 'assistant' }>>()

  function speak(rune: Rune, text: string, isPartial = false) {
    const turn = rune.turn_id ?? ''
    const begun = open.get(turn)
    open.delete(turn)
    if (begun !== undefined) {
      begun.isOpen = false
      begun.isPartial = isPartial
      if (text !== '') begun.text = text
    } else if (text !== '')
      entries.push({ type: 'assistant', event_id: rune.event_id, at: rune.at, text, isOpen: false, isPartial })
  }

  function line(rune: Rune) {
    const text = describeRune(rune)
    if (text !== undefined)
      entries.push({ type: 'line', event_id: rune.event_id, at: rune.at, text, tone: toneOfLine(rune) })
  }

  function addCall(rune: Rune, call: Pick<ToolEntry, 'call_id' | 'name' | 'arguments' | 'isStep'>): ToolEntry {
    const entry: ToolEntry = {
      type: 'tool',
      event_id: rune.event_id,
      at: rune.at,
      ...call,
      summary: '',
      tool: call.isStep ? null : 'pending_call',
      contract: null,
      isUnknown: false,
      irreversible: false,
      execution_id: null,
      interaction_id: null,
      isAsking: false,
      result: null,
      error: null,
      ended_at: null,
    }
    calls.set(call.call_id, entry)
    entries.push(entry)
    return entry
  }

  function hear(rune: Of<'turn.assistant_delta'>) {
    if (rune.payload.channel !== 'text') return
    const turn = rune.turn_id ?? ''
    const begun = open.get(turn)
    if (begun !== undefined) {
      begun.text += rune.payload.content
      return
    }
    const { event_id, at } = rune
    const entry = {
      type: 'assistant' as const,
      event_id,
      at,
      text: rune.payload.content,
      isOpen: true,
      isPartial: false,
    }
    open.set(turn, entry)
    entries.push(entry)
  }

  function openContract(rune: Of<'contract.opened'>) {
    const { action_summary, action_detail, irreversible } = rune.payload
    const call_id = rune.call_id ?? rune.execution_id ?? ''
    const name = String(action_detail.name ?? action_summary)
    const entry =
      calls.get(call_id) ?? addCall(rune, { call_id, name, arguments: action_detail.arguments ?? null, isStep: true })
    entry.summary = action_summary
    entry.irreversible = irreversible
    entry.execution_id = rune.execution_id ?? null
    entry.contract = rune.to ?? 'pending'
  }

  function moveContract(rune: Of<'contract.moved'>) {
    const entry = calls.get(rune.call_id ?? rune.execution_id ?? '')
    if (entry === undefined) return
    entry.contract = rune.to ?? entry.contract
    entry.isUnknown = rune.payload.reason === 'outcome_unknown'
    if (rune.payload.result !== undefined) entry.result = rune.payload.result
    if (rune.payload.error_message !== undefined) entry.error = rune.payload.error_message
    if (isTerminal(contractMachine, rune.to)) entry.ended_at = rune.at
  }

  function endTool(rune: Of<'tool.result'>) {
    const entry = calls.get(rune.payload.call_id)
    if (entry === undefined) return
    entry.tool = rune.to ?? entry.tool
    entry.result = rune.payload.output ?? entry.result
    entry.error = rune.payload.error ?? entry.error
    entry.ended_at = rune.at
  }

  function askPerson(rune: Of<'interaction.opened'>) {
    const entry = calls.get(rune.call_id ?? '')
    if (entry === undefined) return line(rune)
    entry.interaction_id = rune.interaction_id ?? null
    entry.isAsking = true
    asking.set(rune.interaction_id ?? '', entry)
  }

  function take(rune: Rune) {
    switch (rune.kind) {
      // The turn that begins with the input shows it.
      case 'run.submitted':
        return
      case 'turn.started':
        if (rune.payload.input !== null)
          entries.push({ type: 'user', event_id: rune.event_id, at: rune.at, content: rune.payload.input })
        return
      case 'turn.assistant_delta':
        return hear(rune)
      case 'turn.tool_calls_received':
        return speak(rune, rune.payload.text)
      case 'turn.completed':
        return speak(rune, rune.payload.final_output)
      case 'turn.interrupted':
        speak(rune, rune.payload.partial_output, true)
        return line(rune)
      case 'turn.error':
        speak(rune, rune.payload.partial_output ?? '', true)
        return line(rune)
      case 'tool.call': {
        const { call_id, tool_name: name, arguments: args } = rune.payload
        addCall(rune, { call_id, name, arguments: args, isStep: false })
        return
      }
      case 'contract.opened':
        return openContract(rune)
      case 'contract.moved':
        return moveContract(rune)
      case 'tool.result':
        return endTool(rune)
      case 'interaction.opened':
        return askPerson(rune)
      case 'interaction.answered':
      case 'interaction.expired':
      case 'interaction.withdrawn': {
        const entry = asking.get(rune.interaction_id ?? '')
        if (entry !== undefined && entry.interaction_id === rune.interaction_id) entry.isAsking = false
        asking.delete(rune.interaction_id ?? '')
        return line(rune)
      }
    }
    if (rune.machine === 'tool') {
      const entry = calls.get(rune.call_id ?? '')
      if (entry !== undefined) entry.tool = rune.to ?? entry.tool
      if (rune.kind === 'tool.denied' && entry !== undefined) entry.error = rune.payload.reason
      return
    }
    if (!isAsking(rune)) line(rune)
  }

  return { entries, take }
}
