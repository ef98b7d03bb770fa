import type { Failure, FailureCause } from '../failures.ts'
import type { GuardReading } from '../schemas/run-tape.ts'

/** What a broken guard comes to: its name, the cause, and the sentence. The first of a list counts. */
export type GuardCause = readonly [guard: GuardReading['guard_name'], cause: FailureCause, message: string]

/** Why a state cannot be left as it should, if one of its guards does not hold; every broken one is named. */
export function failureOf(guards: readonly GuardReading[], causes: readonly GuardCause[]): Failure | null {
  const broken = guards.filter(({ passed }) => !passed)
  const first = causes.find(([name]) => broken.some(({ guard_name }) => guard_name === name))
  if (first === undefined) return null
  return {
    cause: first[1],
    message: first[2],
    problems: broken.map(({ guard_name, reason }) => ({ code: guard_name, message: reason })),
  }
}
