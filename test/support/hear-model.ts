import { aiSdkModel } from '../../src/adapters/ai-sdk/ai-sdk-model.ts'
import type { ModelEvent, ModelRequest, ProviderModel } from '../../src/runtime/model.ts'

/** A tool may take one of several shapes; providers take no choices at the top of a schema. */
const shape = (field: string) => ({ type: 'object', properties: { [field]: { type: 'string' } }, required: [field] })

export const request: ModelRequest = {
  instructions: 'Be brief.',
  messages: [{ role: 'user', content: 'Hello' }],
  tools: [
    {
      name: 'mail.send',
      description: 'Sends mail.',
      input_schema: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
    },
    {
      name: 'pay.by',
      description: 'Pays.',
      input_schema: { type: 'object', oneOf: [shape('card'), shape('cash')] },
    },
  ],
  memories: [],
}

/** All that a provider's model says to one request. */
export async function hear(model: ProviderModel, asked = request, signal = new AbortController().signal) {
  const events: ModelEvent[] = []
  for await (const event of aiSdkModel(model).stream(asked, signal)) events.push(event)
  return events
}

/** Without signs of life and what only providers read, and with the pieces of each channel joined. */
export function gist(events: readonly ModelEvent[]) {
  const text = (channel: string) =>
    events.map((event) => (event.type === 'delta' && event.channel === channel ? event.text : '')).join('')
  const others = events.filter(({ type }) => type !== 'alive' && type !== 'delta' && type !== 'provider_state')
  return { text: text('text'), reasoning: text('reasoning'), others }
}

export const nameOf = (event: ModelEvent) => (event.type === 'error' ? event.errorType : event.type)
