import { z } from 'zod'
import { readDay } from '../../kernel/instant.ts'
import { withoutInvisible } from '../look-alikes.ts'

/** The words that several artifacts share. Lists are in rising order where the words have one. */

/** Levels of risk. */
export const riskLevels = ['low', 'medium', 'high', 'critical'] as const
/** Effects of a command. */
export const effects = ['read', 'write', 'network', 'deploy', 'security', 'data'] as const
/** Phases of a workflow. */
// biome-ignore format: a list of words
const phases = ['setup', 'analysis', 'design', 'implementation', 'validation', 'review', 'release', 'operations', 'postmortem'] as const
/** How much a plan may ask, the strictest last. */
export const modes = ['interactive', 'semi_auto', 'full_auto'] as const
/** Categories of review. */
export const reviewCategories = ['security', 'data', 'release', 'architecture', 'cost', 'compliance'] as const
/** Strongest first: the first class with a match decides. */
export const verdicts = ['deny', 'require_review', 'warn', 'allow'] as const
/** Severities of a rule. */
export const severities = ['info', 'warn', 'error', 'block'] as const
const contentKinds = ['workflow', 'agent', 'command', 'rule'] as const
/** Areas of a project. */
export const areas = ['frontend', 'backend', 'infra', 'docs', 'tests', 'ops', 'security', 'data'] as const

/** One of `riskLevels`. */
export const riskLevel = z.enum(riskLevels)
/** One of `effects`. */
export const effect = z.enum(effects)
/** One of `phases`. */
export const phaseName = z.enum(phases)
/** One of `modes`. */
export const mode = z.enum(modes)
/** One of `reviewCategories`. */
export const reviewCategory = z.enum(reviewCategories)
/** One of `verdicts`. */
export const verdict = z.enum(verdicts)
/** One of `severities`. */
export const severity = z.enum(severities)
/** A kind of registry content. */
export const contentKind = z.enum(contentKinds)

/** A SHA-256 digest. */
export const sha256Hex = z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hex digits')
/** A version. */
export const semver = z.string().regex(/^\d+\.\d+\.\d+$/, 'must be a version such as 1.0.0')
/** The id of content, a step or a question. */
export const contentId = z
  .string()
  .regex(/^[a-z][a-z0-9_]{1,63}$/, 'must be 2 to 64 lower-case letters, digits and _, of which the first is a letter')
const showsSomething = (text: string) => /[\p{L}\p{N}\p{P}\p{S}]/u.test(withoutInvisible(text))
const unseen = 'must have a character that can be seen'
/** What rests on it must be able to name it, so it shows something. */
export const evidenceRef = z.string().min(1).max(300).refine(showsSomething, unseen)
/** A text for people. */
export const sentence = z.string().min(1).max(4000)
/** A blank text answers nothing. */
export const answerText = sentence.refine(showsSomething, unseen)
/** RFC 3339: with `Z` or an offset, in capitals or not, with a leap second or not. */
export const timestamp = z
  .string()
  .refine(isTimestamp, 'must be a time as in RFC 3339, such as 2026-01-25T12:00:00Z or 2026-01-25T14:00:00+02:00')

/** One of `riskLevels`. */
export type RiskLevel = (typeof riskLevels)[number]
/** One of `effects`. */
export type Effect = (typeof effects)[number]
/** One of `phases`. */
export type PhaseName = (typeof phases)[number]
/** One of `modes`. */
export type Mode = (typeof modes)[number]
/** One of `reviewCategories`. */
export type ReviewCategory = (typeof reviewCategories)[number]
/** One of `verdicts`. */
export type Verdict = (typeof verdicts)[number]
/** A kind of registry content. */
export type ContentKind = (typeof contentKinds)[number]

function isTimestamp(text: string): boolean {
  const parts = /^(\d{4}-\d\d-\d\d)[T ](\d\d):(\d\d):(\d\d)(?:\.\d{1,9})?(?:Z|[+-](\d\d):(\d\d))$/i.exec(text)
  if (parts === null || readDay(parts[1] ?? '') === undefined) return false
  const [hour = 0, minute = 0, second = 0, ahead = 0, past = 0] = parts.slice(2).map((part) => Number(part ?? 0))
  return hour <= 23 && minute <= 59 && second <= 60 && ahead <= 23 && past <= 59
}

/** The highest of these levels; `low` if there is none. */
export function highestRisk(levels: readonly RiskLevel[]): RiskLevel {
  return riskLevels.findLast((level) => levels.includes(level)) ?? 'low'
}
