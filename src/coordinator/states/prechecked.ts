import type { Failure, FailureCause } from '../failures.ts'
import { precheckGuards } from '../guards/prechecked.ts'
import type { Handler } from '../handler.ts'
import { precheck } from '../precheck.ts'
import { readGuards } from '../reading.ts'
import { redLineChecks } from '../red-lines.ts'
import type { PrecheckReport } from '../schemas/precheck-report.ts'
import type { Problem } from '../schemas/problem.ts'

export const prechecked: Handler = (progress, ports) => {
  const report = precheck(progress, ports)
  const guards = readGuards(precheckGuards, report)
  const failure = failureOf(report)
  return {
    trigger:
      failure === null
        ? 'validation_passed'
        : failure.cause === 'execution_payload'
          ? 'red_line_crossed'
          : 'validation_failed',
    guards,
    produced: [{ type: 'precheck_report', artifact: report }],
    audit: redLineChecks(report.red_lines),
    ...(failure === null ? {} : { failure }),
  }
}

/** The gravest finding names the cause; every finding is listed. */
function failureOf(report: PrecheckReport): Failure | null {
  const line = (name: string) => report.red_lines.find(({ red_line }) => red_line === name)?.problems ?? []
  const { declared, computed } = report.checksum
  const seal: Problem[] =
    declared === computed
      ? []
      : [
          {
            code: 'checksum_mismatch',
            message: `The checksum is ${computed}; the intent declares ${declared ?? 'none'}.`,
            path: 'audit.checksum',
          },
        ]
  const inactive = report.registry.problems.every(({ code }) => code === 'reference_inactive')
  const findings: readonly [FailureCause, readonly Problem[], string][] = [
    ['execution_payload', line('RL1'), 'The intent carries something to execute.'],
    ['schema_invalid', report.schema_problems, 'The intent does not have the shape of an intent.'],
    ['checksum_mismatch', seal, 'The intent is not the one that was sealed.'],
    ['full_auto_risk', line('RL3'), 'A plan of high or critical risk may not be full_auto.'],
    ['operation_forbidden', report.policy_problems, 'The policy forbids an operation that is planned.'],
    [
      inactive ? 'reference_inactive' : 'reference_missing',
      report.registry.problems,
      'The intent refers to content that may not be used.',
    ],
    ['version_drift', report.registry.drift, 'The registry has moved since the intent was written.'],
  ]
  const failed = findings.filter(([, problems]) => problems.length > 0)
  const first = failed[0]
  if (first === undefined) return null
  return { cause: first[0], message: first[2], problems: failed.flatMap(([, problems]) => problems) }
}
