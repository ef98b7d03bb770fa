import type { Json } from '../kernel/json.ts'
import { isRecord } from './checksum.ts'
import { type AuditDraft, noted } from './guard-table.ts'
import { payloadName } from './payload-keys.ts'
import {
  type Mode,
  type Problem,
  type RedLine,
  type RedLineName,
  type RiskLevel,
  riskLevel,
} from './schemas/scalars.ts'

/** The problems that a check of one red line found, or the reason why it could not be made yet. */
export type RedLineFinding = { readonly problems: readonly Problem[] } | { readonly not_evaluated: string }

/** Each red line in one sentence. */
export const redLineRules: Readonly<Record<RedLineName, string>> = {
  RL1: 'An intent carries nothing to execute.',
  RL2: 'full_auto never asks.',
  RL3: 'High or critical risk is never full_auto.',
  RL4: 'No action without evidence.',
  RL5: 'Only content of the registry is used.',
}

/** One entry for each red line. A line that was not checked says so and gives the reason. */
export function redLinesOf(findings: Readonly<Record<RedLineName, RedLineFinding>>): RedLine[] {
  return (Object.keys(redLineRules) as RedLineName[]).map((red_line) => {
    const found = findings[red_line]
    const rule = redLineRules[red_line]
    if ('not_evaluated' in found)
      return { red_line, rule, verdict: 'not_evaluated', reason: found.not_evaluated, problems: [] }
    const problems = [...found.problems]
    const reason = problems.map(({ message }) => message).join(' ')
    return problems.length === 0
      ? { red_line, rule, verdict: 'holds', reason: rule, problems }
      : { red_line, rule, verdict: 'crossed', reason, problems }
  })
}

/** Checks red line 3. */
export function fullAutoRisk(mode: Mode, risk: RiskLevel): Problem[] {
  if (mode !== 'full_auto' || (risk !== 'high' && risk !== 'critical')) return []
  const message = `The plan's risk is ${risk} and its mode is full_auto; no person could be asked.`
  return [{ code: 'full_auto_risk', message }]
}

/** How the audit log reports each red line. */
export function redLineChecks(lines: readonly RedLine[]): AuditDraft[] {
  const words = { holds: 'holds', crossed: 'is crossed', not_evaluated: 'is not evaluated' } as const
  return lines.map(({ red_line, verdict, reason }) => {
    const severity = verdict === 'crossed' ? 'critical' : 'info'
    return noted('red_line_check', severity, `${red_line} ${words[verdict]}: ${reason}`, [red_line])
  })
}

/** Checks red line 1: keys at any depth that read as one of `payloadNames`. Keys of `set_risk` are names of steps. */
export function executionPayloads(value: Json, path = '', parent = ''): Problem[] {
  if (Array.isArray(value)) return value.flatMap((item, i) => executionPayloads(item, `${path}[${i}]`))
  if (!isRecord(value)) return []
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([key, member]) => {
      const shown = key.length > 80 ? `${key.slice(0, 80).toWellFormed()}…` : key
      const here = path === '' ? shown : `${path}.${shown}`
      const name = parent === 'set_risk' && riskLevel.safeParse(member).success ? null : payloadName(key)
      const message = `The key "${shown}" carries something to execute: it reads as "${name}".`
      const found = name === null ? [] : [{ code: 'execution_payload', message, path: here }]
      return [...found, ...executionPayloads(member, here, key)]
    })
}
