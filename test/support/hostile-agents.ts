import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import type { StatewrightOptions } from '../../src/app/statewright.ts'
import type { Json } from '../../src/kernel/json.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import type { Model, ModelEvent } from '../../src/runtime/model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import { hostileSecrets } from './hostile-values.ts'

/** The ways in which a hostile text reaches the runtime. */
export const ways = [
  'result',
  'error',
  'thrown',
  'progress',
  'form',
  'arguments',
  'name',
  'delta',
  'state',
  'mcp',
  'mcp_match',
  'mcp_progress',
  'mcp_form',
] as const

export type Way = (typeof ways)[number]

/** The task of a run: bring the text in `file` in by this way. */
export interface Order {
  readonly way: Way
  readonly file: string
}

const parsed = (text: string): Json => {
  try {
    const value = JSON.parse(text)
    return value?.$repeat === undefined ? value : value.$repeat.repeat(value.times)
  } catch {
    return text
  }
}

const give = tool({
  name: 'hostile.give',
  input: z.looseObject({ way: z.string().optional(), file: z.string().optional() }),
  approval: 'never',
  async run({ way, file }, context) {
    const text = file === undefined ? '' : readFileSync(file, 'utf8')
    if (way === 'error') throw Object.assign(new Error(text), { error_kind: text })
    if (way === 'thrown') throw parsed(text)
    if (way === 'progress') for (let i = 0; i < 20; i++) context.progress(text)
    if (way === 'form') await context.ask({ type: 'form', title: text.slice(0, 3_000), fields: parsed(text) })
    return way === 'result' ? parsed(text) : 'ok'
  },
})

/** Does as it is told in the first message, once, then says that it is done. */
const model: Model = {
  id: 'hostile',
  async *stream({ messages }): AsyncGenerator<ModelEvent> {
    const [first] = messages
    const { way, file } = JSON.parse(JSON.stringify(first?.role === 'user' ? first.content : {})) as Order
    const text = readFileSync(file, 'utf8')
    if (messages.length > 1) yield { type: 'delta', channel: 'text', text: 'done' }
    else if (way === 'delta') for (let i = 0; i < 40; i++) yield { type: 'delta', channel: 'text', text }
    else if (way === 'arguments') yield { type: 'tool_call', name: 'hostile.give', arguments: text }
    else if (way === 'name') yield { type: 'tool_call', name: text.slice(0, 400) || 'x', arguments: {} }
    else if (way === 'mcp_match')
      yield { type: 'tool_call', name: 'evil.match', arguments: { a: text.slice(0, 60_000) } }
    else if (way.startsWith('mcp')) {
      const name = { mcp: 'give', mcp_progress: 'shout', mcp_form: 'ask' }[way as 'mcp']
      yield { type: 'tool_call', name: `evil.${name}`, arguments: { text } }
    } else yield { type: 'tool_call', name: 'hostile.give', arguments: { way, file } }
    if (messages.length === 1 && way === 'state') yield { type: 'provider_state', state: parsed(text) }
    yield { type: 'done', finish: messages.length > 1 || way === 'delta' ? 'stop' : 'tool_calls' }
  },
}

/** A config for `statewright serve` with all of this in it. */
export function hostileConfig(store: string): StatewrightOptions {
  const server = fileURLToPath(new URL('hostile-mcp-server.ts', import.meta.url))
  return {
    store,
    agents: {
      hostile: agent({
        role: 'hostile',
        model,
        tools: [give],
        mcp: ['evil'],
        retries: { tries: 1, firstDelayMs: 1, longestDelayMs: 1 },
      }),
    },
    mcp: {
      evil: {
        command: process.execPath,
        args: [server],
        approval: 'never',
        tools: {
          give: { irreversible: false },
          match: { irreversible: false },
          shout: { irreversible: false },
          ask: { irreversible: false },
        },
      },
    },
    // Every text is searched for these: a plain one, one that looks escaped, and one with letters that have two forms.
    secrets: hostileSecrets,
    policy: { mode: 'full_access' },
    settings: { errorThreshold: 1_000_000 },
    warn: () => {},
  }
}
