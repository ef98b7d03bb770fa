import * as z from 'zod'
import { readDay } from '../../kernel/instant.ts'
import { withoutInvisible } from '../payload-keys.ts'

/** Words that several artifacts share, in rising order where they have one. */

/** A level of risk. */
export const riskLevel = z.enum(['low', 'medium', 'high', 'critical'])
/** An effect of a command. */
export const effect = z.enum(['read', 'write', 'network', 'deploy', 'security', 'data'])
/** A phase of a workflow. */
// biome-ignore format: a list of words
export const phaseName = z.enum(['setup', 'analysis', 'design', 'implementation', 'validation', 'review', 'release', 'operations', 'postmortem'])
/** How much a plan may ask, the strictest last. */
export const mode = z.enum(['interactive', 'semi_auto', 'full_auto'])
/** A category of review. */
export const reviewCategory = z.enum(['security', 'data', 'release', 'architecture', 'cost', 'compliance'])
/** Strongest first: the first class with a match decides. */
export const verdicts = ['deny', 'require_review', 'warn', 'allow'] as const
/** One of `verdicts`. */
export const verdict = z.enum(verdicts)
/** The severity of a rule. */
export const severity = z.enum(['info', 'warn', 'error', 'block'])
/** A kind of registry content. */
export const contentKind = z.enum(['workflow', 'agent', 'command', 'rule'])
/** An area of a project. */
export const area = z.enum(['frontend', 'backend', 'infra', 'docs', 'tests', 'ops', 'security', 'data'])

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
/** A reference to evidence. It has at least one visible character, so that messages can name it. */
export const evidenceRef = z.string().min(1).max(300).refine(showsSomething, unseen)
/** A text for people. */
export const sentence = z.string().min(1).max(4000)
/** The text of an answer, with at least one visible character. */
export const answerText = sentence.refine(showsSomething, unseen)
/** RFC 3339: with `Z` or an offset, in capitals or not, with a leap second or not. */
export const timestamp = z
  .string()
  .refine(isTimestamp, 'must be a time as in RFC 3339, such as 2026-01-25T12:00:00Z or 2026-01-25T14:00:00+02:00')

/** See `riskLevel`. */
export type RiskLevel = z.infer<typeof riskLevel>
/** See `effect`. */
export type Effect = z.infer<typeof effect>
/** See `phaseName`. */
export type PhaseName = z.infer<typeof phaseName>
/** See `mode`. */
export type Mode = z.infer<typeof mode>
/** See `reviewCategory`. */
export type ReviewCategory = z.infer<typeof reviewCategory>
/** See `verdict`. */
export type Verdict = z.infer<typeof verdict>
/** See `contentKind`. */
export type ContentKind = z.infer<typeof contentKind>

function isTimestamp(text: string): boolean {
  const parts = /^(\d{4}-\d\d-\d\d)[T ](\d\d):(\d\d):(\d\d)(?:\.\d{1,9})?(?:Z|[+-](\d\d):(\d\d))$/i.exec(text)
  if (parts === null || readDay(parts[1] ?? '') === undefined) return false
  const [hour = 0, minute = 0, second = 0, ahead = 0, past = 0] = parts.slice(2).map((part) => Number(part ?? 0))
  return hour <= 23 && minute <= 59 && second <= 60 && ahead <= 23 && past <= 59
}

/** The highest of these levels; `low` if there is none. */
export function highestRisk(levels: readonly RiskLevel[]): RiskLevel {
  return riskLevel.options.findLast((level) => levels.includes(level)) ?? 'low'
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

/** A list of objects with exactly these fields. */
export function listOf<S extends z.core.$ZodLooseShape>(shape: S) {
  return z.array(z.strictObject(shape))
}

/** One problem, with its place and its correction. */
export const problem = z.strictObject({
  code: z.string().regex(/^[a-z][a-z0-9_]*$/),
  message: z.string().min(1),
  /** The place in the input, as in `planned_commands[3].effects`. */
  path: z.string().optional(),
  /** The ids that it concerns: nodes, rules, steps, questions, registry entries. */
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
