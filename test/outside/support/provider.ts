import type { ProviderModel } from 'statewright'

interface Prompted {
  readonly prompt: readonly { readonly role: string; readonly content: unknown }[]
}

/** The stream of a provider's package for one answer: a text, or a call of a tool. */
export type Answer = { readonly text: string } | { readonly tool: string; readonly args: object }

/** A model object as AI SDK provider packages make them. It plays its answers and keeps every prompt that it was sent. */
export function providerModel(answers: readonly Answer[]) {
  const prompts: Prompted['prompt'][] = []
  const model: ProviderModel = {
    specificationVersion: 'v3',
    provider: 'outside',
    modelId: 'player',
    async doStream({ prompt }: Prompted) {
      const answer = answers[prompts.push(prompt) - 1] ?? { text: 'It is over.' }
      return { stream: ReadableStream.from(partsOf(answer)) }
    },
  }
  return { model, prompts }
}

function partsOf(answer: Answer): readonly object[] {
  const finish = (unified: string) => ({
    type: 'finish',
    finishReason: { unified, raw: unified },
    usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
  })
  if ('text' in answer)
    return [
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', delta: answer.text },
      { type: 'text-end', id: '1' },
      finish('stop'),
    ]
  const { tool: toolName, args } = answer
  return [{ type: 'tool-call', toolCallId: 'c1', toolName, input: JSON.stringify(args) }, finish('tool-calls')]
}
