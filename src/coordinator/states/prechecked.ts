import { finding } from '../../kernel/machine.ts'
import { type GuardTable, judge, unlessProblems } from '../guard-table.ts'
import type { Handler } from '../handler.ts'
import { precheck } from '../precheck.ts'
import { redLineChecks } from '../red-lines.ts'
import type { PrecheckReport } from '../schemas/judgement.ts'

/** Every finding is listed; the gravest names the cause. */
export const prechecked: Handler = (progress, ports) => {
  const report = precheck(progress, ports)
  return {
    ...judge(precheckGuards, report, 'validation_passed', 'every'),
    produced: [{ type: 'precheck_report', artifact: report }],
    audit: redLineChecks(report.red_lines),
  }
}

/** The guards of PRECHECKED. */
// biome-ignore format: tables are audited by eye
export const precheckGuards: GuardTable<PrecheckReport> = [
  ['intent_schema_valid', ({ schema_problems, intent_schema_version }) => {
    const places = schema_problems.map(({ path, message }) => ({ code: 'at', message: `${path}: ${message}.` }))
    return unlessProblems(places, `The intent has the shape of ${intent_schema_version}.`) },
    ['schema_invalid', 'The intent does not have the shape of an intent.', 'validation_failed', (report) => report.schema_problems]],

  ['checksum_matches', ({ checksum: { declared, computed } }) =>
    finding(declared === computed,
      `The checksum is ${computed}, as declared.`,
      `The checksum is ${computed}; the intent declares ${declared ?? 'none'}.`),
    ['checksum_mismatch', 'The intent is not the one that was sealed.', 'validation_failed',
      (_, message) => [{ code: 'checksum_mismatch', message, path: 'audit.checksum' }]]],

  ['red_lines_satisfied', ({ red_lines, policy_problems }) => unlessProblems(
    [...red_lines.flatMap(({ problems }) => problems), ...policy_problems],
    `No red line is crossed and the policy forbids nothing in it.${unevaluated(red_lines)}`),
    ['execution_payload', 'The intent carries something to execute.', 'red_line_crossed', crossing('RL1')],
    ['full_auto_risk', 'A plan of high or critical risk may not be full_auto.', 'validation_failed', crossing('RL3')],
    ['operation_forbidden', 'The policy forbids an operation that is planned.', 'validation_failed', (report) => report.policy_problems]],

  ['registry_references_active', ({ registry }) =>
    unlessProblems(registry.problems, `All ${registry.confirmed.length} pieces of content are active or frozen.`),
    ['reference_missing', 'The intent refers to content that may not be used.', 'validation_failed', references((areInactive) => !areInactive)],
    ['reference_inactive', 'The intent refers to content that may not be used.', 'validation_failed', references((areInactive) => areInactive)]],

  ['no_version_drift', ({ registry }) => unlessProblems(registry.drift, 'Every pinned version is the one in the registry.'),
    ['version_drift', 'The registry has moved since the intent was written.', 'validation_failed', (report) => report.registry.drift]],
]

function crossing(line: string) {
  return ({ red_lines }: PrecheckReport) => red_lines.find(({ red_line }) => red_line === line)?.problems ?? []
}

/** The problems of the references, if the cause applies: content that only is inactive has a cause of its own. */
function references(applies: (areInactive: boolean) => boolean) {
  return ({ registry: { problems } }: PrecheckReport) =>
    applies(problems.every(({ code }) => code === 'reference_inactive')) ? problems : []
}

function unevaluated(red_lines: PrecheckReport['red_lines']): string {
  const open = red_lines.filter(({ verdict }) => verdict === 'not_evaluated').map(({ red_line }) => red_line)
  return open.length === 0 ? '' : ` Not evaluated yet: ${open.join(', ')}.`
}
