/** What is wrong with what an agent was given as its model, if anything, and what to pass instead. */
export function problemWithModel(model: unknown): string | undefined {
  if (typeof model === 'string')
    return `Its model is the text ${JSON.stringify(model)}, but a model is an object: ${importFor(model)}. For a first try without a provider: import { scriptedModel } from 'statewright/testing'.`
  const { id, stream, specificationVersion, doStream, provider, modelId } = Object(model)
  if (typeof id === 'string' && typeof stream === 'function') return undefined
  if (typeof model === 'function' && typeof doStream !== 'function')
    return 'Its model is a provider, not yet a model: call it with the name of one, such as anthropic("…").'
  if (specificationVersion === undefined || typeof doStream !== 'function')
    return "Its model has no id and stream, and no doStream either. Pass the model object of an AI SDK provider package, or for a first try: import { scriptedModel } from 'statewright/testing'."
  if (!spoken.has(specificationVersion))
    return `Its model speaks version ${JSON.stringify(specificationVersion)} of the AI SDK's model interface; v3 and v4 are understood. Install a release of its provider package that fits.`
  if (typeof provider !== 'string' || typeof modelId !== 'string')
    return 'Its model does not say its provider and modelId.'
  return undefined
}

const spoken: ReadonlySet<unknown> = new Set(['v3', 'v4'])

/** How the model that a name most likely means is imported. */
function importFor(name: string): string {
  const [maker, ...rest] = name.split('/')
  const model = JSON.stringify(rest.length > 0 ? rest.join('/') : name)
  const known = makers.find(({ names }) => names.test(rest.length > 0 ? `${maker}/` : name))
  return known === undefined
    ? `import { createOpenAICompatible } from '@ai-sdk/openai-compatible' (or the package of your provider) and pass createOpenAICompatible({ name: "…", baseURL: "…" })(${model})`
    : `import { ${known.exported} } from '@ai-sdk/${known.exported}' and pass ${known.exported}(${model})`
}

const makers = [
  { names: /^(anthropic\/|claude)/i, exported: 'anthropic' },
  { names: /^(openai\/|gpt|chatgpt|o\d)/i, exported: 'openai' },
  { names: /^(google\/|gemini)/i, exported: 'google' },
  { names: /^(mistral\/|mistral|codestral)/i, exported: 'mistral' },
] as const
