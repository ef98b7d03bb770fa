import { sayValue } from '../say-value.ts'
import type { Clean } from '../thrown.ts'
import type { Probed } from './tool.ts'

const outcomes = ['happened', 'did_not', 'cannot_tell'] as const satisfies readonly Probed['outcome'][]

export interface Unusable {
  readonly outcome: 'unusable'
  readonly problem: string
}

/**
 * The answer of a probe, each member read once. An answer of another form says nothing about the action: it is never
 * taken for `did_not`, which would permit the action a second time.
 */
export function readProbed(answer: unknown, clean: Clean): Probed | Unusable {
  const { outcome: said, result } = Object(answer)
  const outcome = typeof answer === 'object' ? outcomes.find((known) => known === said) : undefined
  if (outcome === 'happened') return { outcome, result }
  if (outcome !== undefined) return { outcome }
  const kind = sayValue(answer, clean)
  const shown = kind === 'an object' ? `an object whose outcome is ${sayValue(said, clean)}` : kind
  const allowed = outcomes.map((known) => `"${known}"`).join(', ')
  return {
    outcome: 'unusable',
    problem: `The probe returned ${shown}. It must return an object whose outcome is one of ${allowed}.`,
  }
}
