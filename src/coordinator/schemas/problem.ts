import { z } from 'zod'

/** One thing that is wrong, where, and what would mend it. */
export const problem = z.strictObject({
  code: z.string().regex(/^[a-z][a-z0-9_]*$/),
  message: z.string().min(1),
  /** Where in the input, as in `planned_commands[3].effects`. */
  path: z.string().optional(),
  /** What it concerns: nodes, rules, steps, questions, registry ids. */
  refs: z.array(z.string()).optional(),
})

export type Problem = z.infer<typeof problem>

/** Every issue zod found, each with its path; a caller mends them all in one go. */
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
