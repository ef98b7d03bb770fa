import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { createAnthropic as createAnthropicV3 } from 'anthropic-v3'
import { createOpenAICompatible as createOpenAICompatibleV3 } from 'openai-compatible-v3'
import { createOpenAI as createOpenAIV3 } from 'openai-v3'
import type { ProviderModel } from '../../src/runtime/model.ts'
import { anthropicWire } from './wire/anthropic.ts'
import { openaiChatWire } from './wire/openai-chat.ts'
import { openaiResponsesWire } from './wire/openai-responses.ts'
import type { Wire } from './wire/wire.ts'

export interface Provider {
  readonly title: string
  readonly wire: Wire
  model(at: { url: string; key?: string }): ProviderModel
}

/** The real packages of both generations, each with every API that it has for chats. */
export const providers: readonly Provider[] = [
  {
    title: 'anthropic v4',
    wire: anthropicWire,
    model: ({ url, key }) => createAnthropic({ baseURL: url, ...given(key) })('claude-test'),
  },
  {
    title: 'anthropic v3',
    wire: anthropicWire,
    model: ({ url, key }) => createAnthropicV3({ baseURL: url, ...given(key) })('claude-test'),
  },
  {
    title: 'openai v4, responses',
    wire: openaiResponsesWire,
    model: ({ url, key }) => createOpenAI({ baseURL: url, ...given(key) })('gpt-test'),
  },
  {
    title: 'openai v3, responses',
    wire: openaiResponsesWire,
    model: ({ url, key }) => createOpenAIV3({ baseURL: url, ...given(key) })('gpt-test'),
  },
  {
    title: 'openai v4, chat',
    wire: openaiChatWire,
    model: ({ url, key }) => createOpenAI({ baseURL: url, ...given(key) }).chat('gpt-test'),
  },
  {
    title: 'openai v3, chat',
    wire: openaiChatWire,
    model: ({ url, key }) => createOpenAIV3({ baseURL: url, ...given(key) }).chat('gpt-test'),
  },
  {
    title: 'openai-compatible v4',
    wire: openaiChatWire,
    model: ({ url, key }) =>
      createOpenAICompatible({ name: 'local', baseURL: url, includeUsage: true, ...given(key) })('local-test'),
  },
  {
    title: 'openai-compatible v3',
    wire: openaiChatWire,
    model: ({ url, key }) =>
      createOpenAICompatibleV3({ name: 'local', baseURL: url, includeUsage: true, ...given(key) })('local-test'),
  },
]

const given = (key: string | undefined) => (key === undefined ? {} : { apiKey: key })
