import type { z } from 'zod'
import { callKinds } from './kinds/call.ts'
import { planKinds } from './kinds/plan.ts'
import { workKinds } from './kinds/work.ts'

/** Every kind of rune that may be written down, with the shape of its payload. */
export const kinds = { ...workKinds, ...callKinds, ...planKinds }

/** The kind of a rune. */
export type Kind = keyof typeof kinds
/** The payload of a kind. */
export type Payload<K extends Kind> = z.infer<(typeof kinds)[K]>

/** Whether a string names a kind of rune. */
export function isKind(kind: string): kind is Kind {
  return Object.hasOwn(kinds, kind)
}

/** What is wrong with a payload; nothing if it has the shape of its kind. */
export function payloadProblem(kind: Kind, payload: unknown): string | undefined {
  const checked = (kinds[kind] as z.ZodType).safeParse(payload)
  if (checked.success) return undefined
  return checked.error.issues.map((issue) => `payload ${issue.path.join('.')}: ${issue.message}`).join('; ')
}
