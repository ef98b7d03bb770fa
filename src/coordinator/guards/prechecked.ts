import { type Finding, unlessProblems } from '../reading.ts'
import type { PrecheckReport } from '../schemas/precheck-report.ts'

export const precheckGuards = {
  intent_schema_valid: ({ schema_problems, intent_schema_version }: PrecheckReport): Finding => {
    const places = schema_problems.map(({ path, message }) => ({ code: 'at', message: `${path}: ${message}.` }))
    return unlessProblems(places, `The intent has the shape of ${intent_schema_version}.`)
  },
  checksum_matches: ({ checksum: { declared, computed } }: PrecheckReport): Finding =>
    declared === computed
      ? { holds: true, reason: `The checksum is ${computed}, as declared.` }
      : { holds: false, reason: `The checksum is ${computed}; the intent declares ${declared ?? 'none'}.` },
  red_lines_satisfied: ({ red_lines, policy_problems }: PrecheckReport): Finding =>
    unlessProblems(
      [...red_lines.flatMap(({ problems }) => problems), ...policy_problems],
      `No red line is crossed and the policy forbids nothing in it.${unevaluated(red_lines)}`,
    ),
  registry_references_active: ({ registry }: PrecheckReport): Finding =>
    unlessProblems(registry.problems, `All ${registry.confirmed.length} pieces of content are active or frozen.`),
  no_version_drift: ({ registry }: PrecheckReport): Finding =>
    unlessProblems(registry.drift, 'Every pinned version is the one in the registry.'),
} as const

function unevaluated(red_lines: PrecheckReport['red_lines']): string {
  const open = red_lines.filter(({ verdict }) => verdict === 'not_evaluated').map(({ red_line }) => red_line)
  return open.length === 0 ? '' : ` Not evaluated yet: ${open.join(', ')}.`
}
