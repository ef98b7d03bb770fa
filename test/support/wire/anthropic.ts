import type { Json } from '../../../src/kernel/json.ts'
import { type Body, finishOf, isToolName, list, type Said, schemaProblem, usual, type Wire } from './wire.ts'

const reasons = { stop: 'end_turn', tool_calls: 'tool_use', length: 'max_tokens', refused: 'refusal' } as const

const event = (value: { type: string; [field: string]: Json }) =>
  `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`

/** The messages API of Anthropic, streaming. */
export const anthropicWire: Wire = {
  path: '/v1/messages',
  badKeyCode: 'authentication_error',
  hasKey: (headers, key) => headers['x-api-key'] === key,
  errorFrame: (code, message) => event({ type: 'error', error: { type: code, message } }),
  refusalBody: ({ code, message }) => ({
    type: 'error',
    error: { type: code, message },
    request_id: 'req_011CSHoEeqs5',
  }),

  frames(said) {
    const { input_tokens, output_tokens } = said.usage ?? usual
    const message = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-test',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens, output_tokens: 1 },
    }
    const blocks = [...blocksOf(said)].flatMap(([content_block, deltas], index) => [
      event({ type: 'content_block_start', index, content_block }),
      ...deltas.map((delta) => event({ type: 'content_block_delta', index, delta })),
      event({ type: 'content_block_stop', index }),
    ])
    const delta = { stop_reason: reasons[finishOf(said)], stop_sequence: null }
    const frames = [
      event({ type: 'message_start', message }),
      event({ type: 'ping' }),
      ...blocks,
      event({ type: 'message_delta', delta, usage: { output_tokens } }),
      event({ type: 'message_stop' }),
    ]
    return { frames, wholeAfter: frames.length }
  },

  problem({ model, max_tokens, messages, tools, stream }) {
    if (typeof model !== 'string') return 'model: Field required'
    if (typeof max_tokens !== 'number') return 'max_tokens: Field required'
    if (stream !== true) return 'this server only streams'
    for (const [i, tool] of list(tools).entries()) {
      if (!isToolName(tool.name)) return `tools.${i}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'`
      const problem = schemaProblem(tool.input_schema)
      if (problem !== undefined) return `tools.${i}.custom.input_schema: ${problem}`
    }
    return dialogueProblem(list(messages))
  },
}

function* blocksOf({ thinks = [], says = [], calls = [] }: Said): Iterable<[Body, readonly Body[]]> {
  if (thinks.length > 0) {
    const pieces = thinks.map((thinking) => ({ type: 'thinking_delta', thinking }))
    yield [{ type: 'thinking', thinking: '' }, [...pieces, { type: 'signature_delta', signature: 'c2lnbmVk' }]]
  }
  if (says.length > 0) yield [{ type: 'text', text: '' }, says.map((text) => ({ type: 'text_delta', text }))]
  for (const [i, call] of calls.entries())
    yield [
      { type: 'tool_use', id: `toolu_${i}`, name: call.name, input: {} },
      call.arguments.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
    ]
}

function dialogueProblem(messages: readonly Body[]): string | undefined {
  if (messages.length === 0) return 'messages: at least one message is required'
  if (messages[0]?.role !== 'user') return 'messages: first message must use the "user" role'
  if (messages.at(-1)?.role === 'assistant')
    return 'This model does not support assistant message prefill. The conversation must end with a user message.'
  for (const [i, message] of messages.entries()) {
    const blocks =
      typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : list(message.content)
    if (message.role === messages[i - 1]?.role) return `messages.${i}: roles must alternate`
    if (blocks.some((block) => block.type === 'text' && block.text === ''))
      return `messages.${i}: text content blocks must be non-empty`
    if (
      blocks.some(
        (block) => block.type === 'tool_use' && (typeof block.input !== 'object' || Array.isArray(block.input)),
      )
    )
      return `messages.${i}: tool_use.input: Input should be a valid dictionary`
    const called = blocks.filter((block) => block.type === 'tool_use').map((block) => block.id)
    const next = list(messages[i + 1]?.content)
    const answered = next.filter((block) => block.type === 'tool_result').map((block) => block.tool_use_id)
    if (called.some((id) => !answered.includes(id as Json)))
      return `messages.${i}: tool_use ids were found without tool_result blocks immediately after`
  }
  return undefined
}
