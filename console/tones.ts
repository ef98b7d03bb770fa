import type { Tone } from '../src/kernel/machine.ts'
import { declaredState } from '../src/machines/all.ts'
import type { Rune } from '../src/runes/rune.ts'

/** The tone of a state, or of an unknown outcome, which is not a state. */
export type Look = Tone | 'unknown'

/** A shape and a word for each tone, since some people cannot tell colours apart. */
export const looks: { readonly [L in Look]: { readonly sign: string; readonly meaning: string } } = {
  idle: { sign: '○', meaning: 'at rest' },
  active: { sign: '●', meaning: 'at work' },
  waiting: { sign: '⬡', meaning: 'waits for an answer or an act' },
  good: { sign: '✓', meaning: 'ended well' },
  bad: { sign: '✕', meaning: 'failed or refused' },
  unknown: { sign: '±', meaning: 'outcome unknown' },
}

/** The declared tone of a state. A state that this console does not know yet is shown at work. */
export function toneOf(machine: string, state: string): Tone {
  return declaredState(machine, state)?.tone ?? 'active'
}

/** Whether a rune moved its subject into a state with the tone `bad`. */
export function isProblem({ machine, to }: Pick<Rune, 'machine' | 'to'>): boolean {
  return machine !== undefined && declaredState(machine, to)?.tone === 'bad'
}
