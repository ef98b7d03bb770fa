import type { Answer } from './answer.ts'

/** What a model costs, in US dollars per million tokens. */
export interface Price {
  readonly inputUsdPerMillion: number
  readonly outputUsdPerMillion: number
}

/** The answer with what it cost. Without a price nothing is said about that. */
export function priced<A extends Answer>(answer: A, price: Price | null): A {
  if (price === null) return answer
  const { input_tokens, output_tokens } = answer.usage
  const { inputUsdPerMillion, outputUsdPerMillion } = price
  const cost_usd = (input_tokens * inputUsdPerMillion + output_tokens * outputUsdPerMillion) / 1e6
  return { ...answer, usage: { ...answer.usage, cost_usd } }
}
