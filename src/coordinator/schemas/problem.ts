import { z } from 'zod'

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
