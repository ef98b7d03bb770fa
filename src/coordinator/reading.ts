import type { CoordinationGuard } from '../machines/coordination.ts'
import type { Problem } from './schemas/problem.ts'
import type { GuardReading } from './schemas/run-tape.ts'

/** What one guard found. `offenders` empty means that it holds. */
export interface Finding {
  readonly holds: boolean
  readonly reason: string
}

/** A guard that holds unless something offends it; the offenders are named in its reason. */
export function unless(offenders: readonly string[], fine: string, wrong: string): Finding {
  return offenders.length === 0
    ? { holds: true, reason: fine }
    : { holds: false, reason: `${wrong}: ${offenders.join(', ')}.` }
}

export function unlessProblems(problems: readonly Problem[], fine: string): Finding {
  return problems.length === 0
    ? { holds: true, reason: fine }
    : { holds: false, reason: problems.map(({ message }) => message).join(' ') }
}

/** Evaluates guards in the order of their table and records what each found. */
export function readGuards<F>(
  guards: { readonly [G in CoordinationGuard]?: (facts: F) => Finding },
  facts: F,
): readonly GuardReading[] {
  return Object.entries(guards).map(([guard_name, guard]) => {
    const { holds, reason } = guard(facts)
    return { guard_name: guard_name as CoordinationGuard, passed: holds, reason }
  })
}

export function allHold(readings: readonly GuardReading[]): boolean {
  return readings.every(({ passed }) => passed)
}
