import { faults } from '../../faults/catalogue.ts'
import type { Json } from '../../kernel/json.ts'
import type { Model, ModelEvent, ModelRequest, ProviderModel } from '../../runtime/model.ts'
import { withoutUndefined } from '../../runtime/options.ts'
import { refuseUnknown } from '../../runtime/shape-problems.ts'
import { classifyError, errorEvent } from './classify-error.ts'
import { toPrompt } from './prompt.ts'
import {
  type CallOptions,
  type ProviderOptions,
  type StreamingModel,
  type WireNames,
  wireNames,
} from './provider-shapes.ts'
import { createPartReader } from './read-part.ts'

/** Settings of a model call. */
export interface ModelSettings {
  /** The longest answer, in tokens. Default: that of the provider. */
  readonly maxOutputTokens?: number
  /** The temperature of the model. Default: that of the provider. */
  readonly temperature?: number
  /** Passed on as they are, by provider: `{ anthropic: { … } }`. */
  readonly providerOptions?: ProviderOptions
  /** Called with warnings of the provider, such as a setting that it ignores. */
  readonly warn?: (message: string) => void
}

/** Makes a `Model` of the model object of any AI SDK provider package (`LanguageModelV3` or `V4`). */
export function aiSdkModel(given: ProviderModel, settings: ModelSettings = {}): Model {
  if (typeof (given as Partial<StreamingModel> | null | undefined)?.doStream !== 'function') {
    const problem = 'It has no doStream. Pass the model object of a provider package, such as openai("gpt-5").'
    throw faults.bad_definition({ what: 'model', name: 'aiSdkModel', problem })
  }
  const known = ['maxOutputTokens', 'temperature', 'providerOptions', 'warn']
  refuseUnknown({ what: 'model', name: 'aiSdkModel' }, settings, known)
  const { maxOutputTokens, temperature, providerOptions } = settings
  const callSettings = withoutUndefined({ maxOutputTokens, temperature, providerOptions })
  // biome-ignore lint/plugin: each version of the interface is declared apart; both have the members used here.
  const model = given as unknown as StreamingModel
  const id = `${model.provider}:${model.modelId}`
  const warn = onceEach(settings.warn)

  async function* eventsOf(request: ModelRequest, abortSignal: AbortSignal): AsyncGenerator<ModelEvent, undefined> {
    const names = wireNames(request.tools.map((tool) => tool.name))
    const parts = createPartReader(id, names, warn)
    try {
      const prompt = toPrompt(request, names, id)
      const { stream } = await model.doStream({ prompt, ...toolOptions(request, names), ...callSettings, abortSignal })
      const reader = stream.getReader()
      try {
        while (!parts.isOver()) {
          const { done, value } = await reader.read()
          if (done) break
          yield* parts.read(value)
        }
      } finally {
        reader.cancel().catch(() => {})
      }
      if (!parts.isOver()) yield errorEvent('stream_truncated')
    } catch (error) {
      // Our own signal decides whether the caller left, not the error.
      if (!abortSignal.aborted) yield classifyError(error, Date.now())
    }
  }

  return {
    id,
    problem: () => keyProblem(given),
    stream(request, signal) {
      // Leaving the stream must end the request even while it is silent. A generator cannot be left while it waits, so
      // leaving aborts it.
      const left = new AbortController()
      const events = eventsOf(request, AbortSignal.any([signal, left.signal]))
      return {
        [Symbol.asyncIterator]: () => ({
          next: () => events.next(),
          async return() {
            left.abort()
            await events.return(undefined)
            return { done: true, value: undefined }
          },
        }),
      }
    },
  }
}

function toolOptions(request: ModelRequest, names: WireNames): Pick<CallOptions, 'tools' | 'toolChoice'> {
  const tools = request.tools.map(({ name, description, input_schema }) => ({
    type: 'function' as const,
    name: names.toWire(name),
    description,
    inputSchema: plainSchema(input_schema),
  }))
  return tools.length > 0 ? { tools, toolChoice: { type: 'auto' } } : {}
}

function onceEach(warn: (message: string) => void = () => {}): (message: string) => void {
  const warned = new Set<string>()
  return (message) => {
    if (warned.has(message)) return
    warned.add(message)
    warn(message)
  }
}

/** Why a provider's package has no key. Packages look for it when they make headers; an async one is not asked. */
function keyProblem(model: ProviderModel): string | undefined {
  const { config } = Object(model)
  const headers = Object(config).headers
  if (typeof headers !== 'function' || headers.constructor.name === 'AsyncFunction') return undefined
  try {
    headers.call(config)?.then?.(undefined, () => {})
    return undefined
  } catch (error) {
    const { name, message } = Object(error)
    return name === 'AI_LoadAPIKeyError' || name === 'AI_LoadSettingError' ? String(message) : undefined
  }
}

type Schema = Readonly<Record<string, Json>>

/** Arguments as providers accept them: one object with the fields of all shapes. The real shape is checked later. */
export function plainSchema(schema: Json): Schema {
  const { oneOf, anyOf, allOf, ...rest } = Object(schema) as Schema
  const one = shapesOf(oneOf ?? anyOf)
  const all = shapesOf(allOf)
  if (one.length + all.length === 0) return { type: 'object', ...rest }

  const fields = new Map<string, Json[]>()
  for (const { properties } of [rest, ...all, ...one])
    for (const [name, field] of Object.entries(Object(properties) as Schema)) {
      const known = fields.get(name) ?? []
      if (!known.some((other) => JSON.stringify(other) === JSON.stringify(field))) known.push(field)
      fields.set(name, known)
    }
  const { additionalProperties: _closed, ...open } = rest
  return {
    ...open,
    type: 'object',
    properties: Object.fromEntries([...fields].map(([name, kinds]) => [name, eitherOf(kinds)])),
    required: [...fields.keys()].filter(
      (name) => [rest, ...all].some(requires(name)) || (one.length > 0 && one.every(requires(name))),
    ),
  }
}

const shapesOf = (shapes: Json | undefined) => ((shapes ?? []) as readonly Json[]).map(plainSchema)

const requires = (name: string) => (shape: Schema) => ((shape.required ?? []) as readonly string[]).includes(name)

const eitherOf = (kinds: readonly Json[]): Json =>
  kinds.length === 1 && kinds[0] !== undefined ? kinds[0] : { anyOf: [...kinds] }
