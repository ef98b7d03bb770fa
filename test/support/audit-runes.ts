import { checkSequence, type Recorded } from '../../src/observation/sequence.ts'
import { moveProblem } from '../../src/runes/move-problem.ts'

/** The problems of whole logs, oldest rune first, by the product's own check of moves, for runes that are in no store. */
export function auditRunes(runes: readonly Recorded[]): readonly string[] {
  return [...Map.groupBy(runes, ({ session_id }) => session_id).values()].flatMap((log) => {
    const sequenceProblem = checkSequence()
    return log.flatMap((rune, i) => {
      const problem = moveProblem(rune) ?? sequenceProblem(rune)
      return problem === undefined ? [] : [`rune ${i + 1} (${rune.kind}): ${problem}`]
    })
  })
}
