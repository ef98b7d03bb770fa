import type { Json } from '../../kernel/json.ts'
import type { Payload } from '../../runes/kinds.ts'

export interface Settlement {
  readonly outcome: 'happened' | 'did_not' | 'leave'
  readonly result?: Json
  readonly reason: string
}

/** Reads back what a person said about an unknown outcome. It was checked before it was recorded; an erased one says nothing. */
export function readSettlement({ reply }: Payload<'interaction.answered'>): Settlement {
  const {
    outcome = 'leave',
    result,
    reason,
  } = reply as { outcome?: Settlement['outcome']; result?: Json; reason?: string }
  return {
    outcome,
    ...(result === undefined ? {} : { result }),
    reason: reason ?? 'A person says that it did not happen.',
  }
}
