import { z } from 'zod'
import { boundedJson, jsonLimits } from '../../kernel/bounded-json.ts'
import type { Json } from '../../kernel/json.ts'
import type { Problem } from '../../kernel/problem.ts'
import { jsonObject, jsonValue } from '../../runes/json-value.ts'
import { checkAnswer } from '../ecs/answers.ts'
import { readEcsRequest } from '../ecs/request.ts'
import { shapeProblems } from '../shape-problems.ts'

/** What a person may say to each kind of interaction. */
export const replyShapes = {
  approval: z.strictObject({
    decision: z.enum(['approve', 'deny']),
    reason: z.string().optional(),
    /** What the person saw: given, it must be the digest of what would run. */
    digest: z.string().optional(),
  }),
  ecs: z.strictObject({
    action: z.enum(['approve', 'edit', 'reject']),
    data: jsonObject.optional(),
    reason: z.string().optional(),
  }),
  question: z.strictObject({ answer: z.string().trim().min(1, 'An answer says something.') }),
  /** A person has seen it. */
  notice: z.strictObject({ acknowledged: z.literal(true), note: z.string().optional() }),
  settlement: z
    .strictObject({
      outcome: z.enum(['happened', 'did_not', 'leave']),
      result: jsonValue.optional(),
      reason: z.string().optional(),
    })
    .refine(({ outcome, result }) => result === undefined || outcome === 'happened', {
      path: ['result'],
      message: 'Only what happened has a result.',
    }),
}

export type ReplyKind = keyof typeof replyShapes

type Checked = { readonly reply: Json } | { readonly problems: readonly Problem[] }

/**
 * Holds a reply against the kind of interaction and what was asked. What comes
 * back is what is recorded: for a form, the data with its defaults filled in.
 */
export function checkReply(kind: ReplyKind, request: Json, reply: unknown): Checked {
  const parsed = replyShapes[kind].safeParse(reply)
  if (!parsed.success) return { problems: shapeProblems(parsed.error) }
  if (kind !== 'ecs') return recordable(parsed.data)

  const given = parsed.data as z.output<typeof replyShapes.ecs>
  const asked = readEcsRequest(request)
  if ('problem' in asked) return { problems: [{ pointer: '', problem: asked.problem }] }
  const checked = checkAnswer(asked.request, given)
  if ('problems' in checked) return checked
  const { data, ...rest } = given
  return recordable(given.action === 'reject' ? rest : { ...rest, data: checked.data })
}

/** A caller in the same process may hand over what no record can hold. */
function recordable(reply: object): Checked {
  const said = Object.fromEntries(Object.entries(reply).filter(([, value]) => value !== undefined))
  const read = boundedJson(said, jsonLimits.result)
  return 'value' in read ? { reply: read.value } : { problems: [{ pointer: '', problem: read.problem }] }
}
