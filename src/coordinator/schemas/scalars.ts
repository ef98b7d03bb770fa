import { z } from 'zod'
import { readDay } from '../../kernel/instant.ts'
import { withoutInvisible } from '../look-alikes.ts'

/** The words that several artifacts share. Lists are in rising order where the words have one. */

export const riskLevels = ['low', 'medium', 'high', 'critical'] as const
export const effects = ['read', 'write', 'network', 'deploy', 'security', 'data'] as const
export const phases = [
  'setup',
  'analysis',
  'design',
  'implementation',
  'validation',
  'review',
  'release',
  'operations',
  'postmortem',
] as const
export const modes = ['interactive', 'semi_auto', 'full_auto'] as const
export const reviewCategories = ['security', 'data', 'release', 'architecture', 'cost', 'compliance'] as const
/** Strongest first: the first class with a match decides. */
export const verdicts = ['deny', 'require_review', 'warn', 'allow'] as const
export const severities = ['info', 'warn', 'error', 'block'] as const
const contentKinds = ['workflow', 'agent', 'command', 'rule'] as const
export const areas = ['frontend', 'backend', 'infra', 'docs', 'tests', 'ops', 'security', 'data'] as const

export const riskLevel = z.enum(riskLevels)
export const effect = z.enum(effects)
export const phaseName = z.enum(phases)
export const mode = z.enum(modes)
export const reviewCategory = z.enum(reviewCategories)
export const verdict = z.enum(verdicts)
export const severity = z.enum(severities)
export const contentKind = z.enum(contentKinds)

export const sha256Hex = z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hex digits')
export const semver = z.string().regex(/^\d+\.\d+\.\d+$/, 'must be a version such as 1.0.0')
export const contentId = z
  .string()
  .regex(/^[a-z][a-z0-9_]{1,63}$/, 'must be 2 to 64 lower-case letters, digits and _, of which the first is a letter')
const showsSomething = (text: string) => /[\p{L}\p{N}\p{P}\p{S}]/u.test(withoutInvisible(text))
const unseen = 'must have a character that can be seen'
/** What rests on it must be able to name it, so it shows something. */
export const evidenceRef = z.string().min(1).max(300).refine(showsSomething, unseen)
export const sentence = z.string().min(1).max(4000)
/** A blank text answers nothing. */
export const answerText = sentence.refine(showsSomething, unseen)
/** RFC 3339: with `Z` or an offset, in capitals or not, with a leap second or not. */
export const timestamp = z
  .string()
  .refine(isTimestamp, 'must be a time as in RFC 3339, such as 2026-01-25T12:00:00Z or 2026-01-25T14:00:00+02:00')

export type RiskLevel = (typeof riskLevels)[number]
export type Effect = (typeof effects)[number]
export type PhaseName = (typeof phases)[number]
export type Mode = (typeof modes)[number]
export type ReviewCategory = (typeof reviewCategories)[number]
export type Verdict = (typeof verdicts)[number]
export type ContentKind = (typeof contentKinds)[number]

function isTimestamp(text: string): boolean {
  const parts = /^(\d{4}-\d\d-\d\d)[T ](\d\d):(\d\d):(\d\d)(?:\.\d{1,9})?(?:Z|[+-](\d\d):(\d\d))$/i.exec(text)
  if (parts === null || readDay(parts[1] ?? '') === undefined) return false
  const [hour = 0, minute = 0, second = 0, ahead = 0, past = 0] = parts.slice(2).map((part) => Number(part ?? 0))
  return hour <= 23 && minute <= 59 && second <= 60 && ahead <= 23 && past <= 59
}

export function highestRisk(levels: readonly RiskLevel[]): RiskLevel {
  return riskLevels.findLast((level) => levels.includes(level)) ?? 'low'
}
