import type { Json } from '../../../src/kernel/json.ts'
import { type Body, finishOf, isToolName, list, type Said, schemaProblem, usual, type Wire } from './wire.ts'

const event = (value: { type: string; [field: string]: Json }) =>
  `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`

const incomplete = { length: 'max_output_tokens', refused: 'content_filter' } as const

/** The responses API of OpenAI, streaming. It numbers its events. */
export const openaiResponsesWire: Wire = {
  path: '/v1/responses',
  badKeyCode: 'invalid_api_key',
  hasKey: (headers, key) => headers.authorization === `Bearer ${key}`,
  errorFrame: (code, message) =>
    event({ type: 'error', sequence_number: 99, error: { type: code, code, message, param: null } }),
  refusalBody: ({ code, message }) => ({ error: { message, type: code, param: null, code } }),

  frames(said) {
    const { input_tokens, output_tokens } = said.usage ?? usual
    const finish = finishOf(said)
    const response = { id: 'resp_1', object: 'response', created_at: 1_700_000_000, model: 'gpt-test', output: [] }
    const reason = finish === 'length' || finish === 'refused' ? incomplete[finish] : undefined
    const ended = {
      ...response,
      status: reason === undefined ? 'completed' : 'incomplete',
      incomplete_details: reason === undefined ? null : { reason },
      usage: {
        input_tokens,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: input_tokens + output_tokens,
      },
    }
    const events: { type: string; [field: string]: Json }[] = [
      { type: 'response.created', response: { ...response, status: 'in_progress' } },
      { type: 'response.in_progress', response: { ...response, status: 'in_progress' } },
      ...[...itemsOf(said)].flat(),
      { type: reason === undefined ? 'response.completed' : 'response.incomplete', response: ended },
    ]
    const frames = events.map((value, sequence_number) => event({ ...value, sequence_number }))
    return { frames, wholeAfter: frames.length }
  },

  problem({ model, input, tools, stream }) {
    if (typeof model !== 'string') return "Missing required parameter: 'model'."
    if (stream !== true) return 'this server only streams'
    for (const [i, tool] of list(tools).entries()) {
      if (!isToolName(tool.name)) return `Invalid 'tools[${i}].name': string does not match pattern.`
      const problem = schemaProblem(tool.parameters)
      if (problem !== undefined) return `Invalid schema for function '${tool.name}': ${problem}`
    }
    const items = list(input)
    if (items.length === 0) return "Missing required parameter: 'input'."
    const answered = items.filter((item) => item.type === 'function_call_output').map((item) => item.call_id)
    const open = items.find((item) => item.type === 'function_call' && !answered.includes(item.call_id as Json))
    return open === undefined ? undefined : `No tool output found for function call ${open.call_id}.`
  },
}

type Event = { type: string; [field: string]: Json }

function* itemsOf({ thinks = [], says = [], calls = [] }: Said): Iterable<readonly Event[]> {
  let output_index = 0
  if (thinks.length > 0) {
    const item_id = 'rs_1'
    const at = { item_id, output_index, summary_index: 0 }
    yield [
      { type: 'response.output_item.added', output_index, item: { id: item_id, type: 'reasoning', summary: [] } },
      { type: 'response.reasoning_summary_part.added', ...at, part: { type: 'summary_text', text: '' } },
      ...thinks.map((delta) => ({ type: 'response.reasoning_summary_text.delta', ...at, delta })),
      { type: 'response.reasoning_summary_part.done', ...at, part: { type: 'summary_text', text: thinks.join('') } },
      { type: 'response.output_item.done', output_index, item: { id: item_id, type: 'reasoning', summary: [] } },
    ]
    output_index++
  }
  if (says.length > 0) {
    const item_id = 'msg_1'
    const at = { item_id, output_index, content_index: 0 }
    const text = says.join('')
    const item = { id: item_id, type: 'message', role: 'assistant' }
    const part = { type: 'output_text', text, annotations: [] }
    yield [
      { type: 'response.output_item.added', output_index, item: { ...item, status: 'in_progress', content: [] } },
      { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
      ...says.map((delta) => ({ type: 'response.output_text.delta', ...at, delta })),
      { type: 'response.output_text.done', ...at, text },
      { type: 'response.content_part.done', ...at, part },
      { type: 'response.output_item.done', output_index, item: { ...item, status: 'completed', content: [part] } },
    ]
    output_index++
  }
  for (const [i, { name, arguments: pieces }] of calls.entries()) {
    const item_id = `fc_${i}`
    const whole = pieces.join('')
    const item: Body = { id: item_id, type: 'function_call', call_id: `call_${i}`, name }
    yield [
      { type: 'response.output_item.added', output_index, item: { ...item, status: 'in_progress', arguments: '' } },
      ...pieces.map((delta) => ({ type: 'response.function_call_arguments.delta', item_id, output_index, delta })),
      { type: 'response.function_call_arguments.done', item_id, output_index, arguments: whole },
      { type: 'response.output_item.done', output_index, item: { ...item, status: 'completed', arguments: whole } },
    ]
    output_index++
  }
}
