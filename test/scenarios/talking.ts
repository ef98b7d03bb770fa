import type { ModelRequest } from '../../src/runtime/model.ts'
import { type Scripted, say, scriptedModel } from '../../src/runtime/scripted-model.ts'

/**
 * A model that stops before each piece of a text until the test lets it go on,
 * and remembers everything it was told. It stops only where `holds` says so.
 */
export function talkingModel(script: readonly Scripted[], { pieces = 2, holds = (_n: number): boolean => true } = {}) {
  const requests: ModelRequest[] = []
  const stops: PromiseWithResolvers<void>[] = []
  const bells: PromiseWithResolvers<void>[] = []
  const at = <T>(list: PromiseWithResolvers<T>[], n: number) => {
    list[n] ??= Promise.withResolvers<T>()
    return list[n]
  }
  let pauses = 0
  const model = scriptedModel(
    (request, answered) => {
      requests.push(structuredClone(request))
      return script[answered] ?? say('?')
    },
    {
      pieces,
      beforeDelta: (_index, signal) => {
        const n = ++pauses
        at(bells, n).resolve()
        if (!holds(n)) return
        signal.addEventListener('abort', () => at(stops, n).resolve())
        return at(stops, n).promise
      },
    },
  )
  return {
    model,
    requests,
    /** Resolves when the model is about to say the n-th piece of all it says. */
    isAbout: (n: number) => at(bells, n).promise,
    /** Lets it say the n-th piece. */
    goOn: (n: number) => at(stops, n).resolve(),
    /** The dialogue that it was told last, in short. */
    told: () =>
      requests
        .at(-1)
        ?.messages.map((m) =>
          m.role === 'assistant'
            ? `said ${m.text}`
            : m.role === 'user'
              ? `user ${m.content}`
              : `${m.consequence.consequence_label}`,
        ),
  }
}
