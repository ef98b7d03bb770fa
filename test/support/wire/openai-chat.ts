import type { Json } from '../../../src/kernel/json.ts'
import { type Body, finishOf, isToolName, list, schemaProblem, usual, type Wire } from './wire.ts'

const reasons = { stop: 'stop', tool_calls: 'tool_calls', length: 'length', refused: 'content_filter' } as const

const data = (value: Json) => `data: ${JSON.stringify(value)}\n\n`

const chunk = (delta: Json, finish_reason: string | null = null) =>
  data({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1_700_000_000,
    model: 'chat-test',
    choices: [{ index: 0, delta, finish_reason }],
  })

/** The chat completions API of OpenAI, streaming; vLLM, Ollama and many others speak it too. */
export const openaiChatWire: Wire = {
  path: '/v1/chat/completions',
  badKeyCode: 'invalid_api_key',
  hasKey: (headers, key) => headers.authorization === `Bearer ${key}`,
  errorFrame: (code, message) => data({ error: { message, type: code, param: null, code } }),
  refusalBody: ({ code, message }) => ({ error: { message, type: code, param: null, code } }),

  frames(said) {
    const { thinks = [], says = [], calls = [] } = said
    const { input_tokens: prompt_tokens, output_tokens: completion_tokens } = said.usage ?? usual
    const usage = { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens }
    const asked = calls.flatMap(({ name, arguments: pieces }, index) => [
      chunk({ tool_calls: [{ index, id: `call_${index}`, type: 'function', function: { name, arguments: '' } }] }),
      ...pieces.map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ])
    const answer = [
      chunk({ role: 'assistant', content: '' }),
      ...thinks.map((reasoning_content) => chunk({ reasoning_content })),
      ...says.map((content) => chunk({ content })),
      ...asked,
      chunk({}, reasons[finishOf(said)]),
    ]
    const counted = data({
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'chat-test',
      choices: [],
      usage,
    })
    return { frames: [...answer, counted, 'data: [DONE]\n\n'], wholeAfter: answer.length }
  },

  problem({ model, messages, tools, stream }) {
    if (typeof model !== 'string') return 'you must provide a model parameter'
    if (stream !== true) return 'this server only streams'
    for (const [i, tool] of list(tools).entries()) {
      const { name, parameters } = Object(tool.function)
      if (!isToolName(name)) return `Invalid 'tools[${i}].function.name': string does not match pattern.`
      const problem = schemaProblem(parameters)
      if (problem !== undefined) return `Invalid schema for function '${name}': ${problem}`
    }
    return dialogueProblem(list(messages))
  },
}

function dialogueProblem(messages: readonly Body[]): string | undefined {
  if (messages.length === 0) return "Invalid 'messages': empty array."
  for (const [i, message] of messages.entries()) {
    const called = list(message.tool_calls).map((call) => call.id)
    const answered = messages.slice(i + 1, i + 1 + called.length)
    if (called.some((id) => !answered.some((other) => other.role === 'tool' && other.tool_call_id === id)))
      return "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
    if (message.role === 'tool' && !messages.slice(0, i).some((other) => other.tool_calls !== undefined))
      return "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
  }
  return undefined
}
