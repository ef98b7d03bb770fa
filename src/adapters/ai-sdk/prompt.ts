import type { Json } from '../../kernel/json.ts'
import { renderConsequence } from '../../observation/contract.ts'
import { type ModelRequest, quoted, untrustedNotice } from '../../runtime/model.ts'
import type { ConsequenceLabel, ConsequenceView, Message, ModelCall } from '../../wire/dialogue.ts'
import type { CallPart, PromptMessage, ResultPart, WireNames } from './provider-shapes.ts'
import { asGiven } from './read-part.ts'

/** A request in the form of the AI SDK. */
export function toPrompt(request: ModelRequest, names: WireNames, model: string): PromptMessage[] {
  const { instructions, memories, messages } = request
  const outcomes = new Map<string, ConsequenceView>()
  for (const message of messages) if (message.role === 'tool') outcomes.set(message.call_id, message.consequence)
  // Before the message that is answered, and not at the end: a model answers the last message.
  const asked = messages.findLastIndex((message) => message.role === 'user')
  return [
    // Only text of the developer. Memories hold text of tools, which must not be in the system message.
    ...(instructions === '' ? [] : [{ role: 'system', content: instructions } as const]),
    ...messages.flatMap((message, i) => [
      ...(i === asked ? remembered(memories) : []),
      ...promptOf(message, messages[i + 1], { outcomes, names, model }),
    ]),
  ]
}

function remembered(memories: readonly string[]): PromptMessage[] {
  if (memories.length === 0) return []
  const lines = [`What was done before. ${untrustedNotice}`, ...memories.map((fact) => `- ${quoted(fact)}`)]
  return [{ role: 'user', content: [{ type: 'text', text: lines.join('\n') }] }]
}

interface Rendering {
  readonly outcomes: ReadonlyMap<string, ConsequenceView>
  readonly names: WireNames
  readonly model: string
}

/** Each call has one outcome, right behind the answer that made it: providers refuse anything else. */
function promptOf(message: Message, next: Message | undefined, { outcomes, names, model }: Rendering): PromptMessage[] {
  switch (message.role) {
    case 'user':
      return [{ role: 'user', content: [{ type: 'text', text: userText(message.content) }] }]
    case 'tool':
      return []
    case 'assistant': {
      // An answer that broke off was tried again, unless a person continued from there. Otherwise the model would have
      // to continue its beginning, which many models refuse.
      if (message.partial === true && next?.role !== 'user') return []
      const text = message.text.trim() === '' ? [] : [{ type: 'text', text: message.text } as const]
      const calls = message.calls.map((call) => callPart(call, names))
      if (text.length + calls.length === 0) return []
      const content = asGiven(message.provider_state, model, calls) ?? [...text, ...calls]
      const answer = { role: 'assistant', content } as const
      if (calls.length === 0) return [answer]
      const results = message.calls.map((call) => resultPart(call, outcomes.get(call.call_id), names))
      return [answer, { role: 'tool', content: results }]
    }
  }
}

function userText(content: Json): string {
  const text = typeof content === 'string' ? content : JSON.stringify(content)
  return text.trim() === '' ? '(an empty message)' : text
}

/** Arguments that are no object are wrapped in one: providers refuse all other values. */
function callPart({ call_id, name, arguments: args }: ModelCall, names: WireNames): CallPart {
  const isObject = typeof args === 'object' && args !== null && !Array.isArray(args)
  const input = isObject ? args : { not_an_object: args }
  return { type: 'tool-call', toolCallId: call_id, toolName: names.toWire(name), input }
}

const good: ReadonlySet<ConsequenceLabel> = new Set(['SUCCESS', 'WAITING', 'IN_PROGRESS', 'NOT_STARTED'])

function resultPart({ call_id, name }: ModelCall, outcome: ConsequenceView | undefined, names: WireNames): ResultPart {
  const type = outcome !== undefined && good.has(outcome.consequence_label) ? 'text' : 'error-text'
  const value = outcome === undefined ? 'Nothing is recorded about this call.' : renderConsequence(outcome)
  return { type: 'tool-result', toolCallId: call_id, toolName: names.toWire(name), output: { type, value } }
}
