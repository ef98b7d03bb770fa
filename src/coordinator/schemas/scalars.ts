import { z } from 'zod'
import { readDay } from '../../kernel/instant.ts'
import { withoutInvisible } from '../payload-keys.ts'

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

/** An object that refuses unknown fields by name and says which fields there are; `gone` says where to look for some of them. */
export function closed<S extends z.core.$ZodLooseShape>(shape: S, gone: Readonly<Record<string, string>> = {}) {
  const known = `Known fields: ${Object.keys(shape).join(', ')}.`
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== 'unrecognized_keys') return undefined
      const keys = issue.keys as readonly string[]
      const hints = keys.flatMap((key) => (Object.hasOwn(gone, key) ? [`${key}: ${gone[key]}`] : []))
      return [`Unknown field ${keys.map((key) => `"${key}"`).join(', ')}.`, known, ...hints].join(' ')
    },
  })
}

/** One thing that is wrong, where, and how to correct it. */
export const problem = z.strictObject({
  code: z.string().regex(/^[a-z][a-z0-9_]*$/),
  message: z.string().min(1),
  /** Where in the input, as in `planned_commands[3].effects`. */
  path: z.string().optional(),
  /** What it concerns: nodes, rules, steps, questions, registry ids. */
  refs: z.array(z.string()).optional(),
})

/** See `problem`. */
export type Problem = z.infer<typeof problem>

/** Every issue that zod found, each with its path, so that a caller can correct all of them at once. */
export function problemsOf(error: z.ZodError, code: string, root = ''): Problem[] {
  return error.issues.map((issue) => ({ code, message: issue.message, path: pathText(issue.path, root) }))
}

function pathText(path: readonly PropertyKey[], root: string): string {
  const text = path.reduce<string>(
    (sofar, key) =>
      typeof key === 'number' ? `${sofar}[${key}]` : sofar === '' ? String(key) : `${sofar}.${String(key)}`,
    root,
  )
  return text === '' ? '(the whole)' : text
}

/** One red line as it was checked at one point of a coordination. */
export const redLine = z.strictObject({
  red_line: z.enum(['RL1', 'RL2', 'RL3', 'RL4', 'RL5']),
  rule: z.string(),
  /** `not_evaluated`: its facts were not there. It is never read as "holds". */
  verdict: z.enum(['holds', 'crossed', 'not_evaluated']),
  reason: z.string(),
  problems: z.array(problem),
})

/** See `redLine`. */
export type RedLine = z.infer<typeof redLine>
/** The name of a red line. */
export type RedLineName = RedLine['red_line']
