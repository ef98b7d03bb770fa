import type { Json } from '../kernel/json.ts'
import type { ConsequenceView } from './consequence.ts'

export type Message =
  | { readonly role: 'user'; readonly content: Json }
  | {
      readonly role: 'assistant'
      readonly text: string
      readonly calls: readonly ModelCall[]
      /** The answer was cut short: by an interrupt, a steer, or an error. */
      readonly partial?: true
    }
  /** What became of a call. This is all that reasoning ever learns about it. */
  | { readonly role: 'tool'; readonly call_id: string; readonly consequence: ConsequenceView }

export interface ModelCall {
  readonly call_id: string
  readonly name: string
  readonly arguments: Json
}
