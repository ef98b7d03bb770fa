import type { CritiqueReport } from '../../wire/goal.ts'
import type { Paint } from './paint.ts'
import { safeLine } from './safe.ts'

/** Each review with its findings, and below each finding what it rests on. */
export function critiqueLines(critiques: readonly CritiqueReport[], paint: Paint): readonly string[] {
  return critiques.flatMap(({ iteration, plan_id, findings, is_redacted }) => [
    `${paint.strong(`review ${iteration}`)}  ${paint.faint(plan_id)}`,
    ...(findings.length > 0 ? [] : [is_redacted ? '  What was found is redacted.' : '  Nothing was found.']),
    ...findings.flatMap((finding) => findingLines(finding, paint)),
  ])
}

function findingLines(finding: CritiqueReport['findings'][number], paint: Paint): readonly string[] {
  const { severity, category, title, task, description, evidence, suggested_fix } = finding
  const more = [
    description,
    evidence.length === 0 ? '' : `Evidence: ${evidence.join(', ')}`,
    suggested_fix === null ? '' : `To mend it: ${suggested_fix}`,
  ]
  return [
    `  ${tint(severity, paint)(severity)}  ${category}  ${safeLine(title)}${task === null ? '' : `  (${task})`}`,
    ...more.filter((line) => line !== '').map((line) => paint.faint(`    ${safeLine(line)}`)),
  ]
}

function tint(severity: string, paint: Paint): (text: string) => string {
  if (severity === 'error') return paint.bad
  return severity === 'warning' ? paint.warn : paint.faint
}
