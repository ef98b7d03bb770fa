import { z } from 'zod'
import { openQuestion } from '../../coordinator/schemas/question.ts'
import {
  contentId,
  effect,
  evidenceRef,
  phaseName,
  reviewCategory,
  riskLevel,
  sentence,
} from '../../coordinator/schemas/scalars.ts'
import type { Json } from '../../kernel/json.ts'
import { priorities } from '../../observation/goal-state.ts'
import { closedObject, problemSentence, shapeProblems } from '../../runtime/shape-problems.ts'

const draftTask = closedObject({
  id: contentId,
  /** A command of the registry: it decides which tools the task may use. */
  command: contentId,
  intent: sentence,
  /** An agent of the registry that is also configured here. Without it, whoever leads the phase. */
  owner: contentId.optional(),
  depends_on: z.array(contentId).max(30).default([]),
  priority: z.enum(priorities).default('medium'),
  /** It is done only if that task fails, and then stands for it. */
  instead_of: contentId.optional(),
  effects: z.array(effect).min(1).max(6).optional(),
  risk_level: riskLevel.optional(),
  evidence: z.array(evidenceRef).min(1).max(30).optional(),
  workflow: contentId.optional(),
  phase: phaseName.optional(),
  condition: sentence.optional(),
})

/** A plan as a planner or a caller drafts it. The rest of an intent follows from the goal and the registry. */
export const planDraft = closedObject({
  title: z.string().min(5).max(160).optional(),
  success_criteria: z.array(sentence).min(1).max(20).optional(),
  tasks: z.array(draftTask).min(1).max(80),
  risk: closedObject({
    overall: riskLevel.optional(),
    drivers: z.array(sentence).min(1).max(20).optional(),
    requires_review: z.array(reviewCategory).optional(),
  }).optional(),
  open_questions: z
    .array(openQuestion.safeExtend({ evidence_refs: z.array(evidenceRef).max(30) }))
    .max(50)
    .optional(),
}).superRefine(({ tasks }, issues) => {
  const ids = tasks.map((task) => task.id)
  const say = (i: number, field: string, message: string) =>
    issues.addIssue({ code: 'custom', path: ['tasks', i, field], message })
  tasks.forEach(({ id, depends_on, instead_of }, i) => {
    if (ids.indexOf(id) < i) say(i, 'id', `There are two tasks ${id}.`)
    for (const before of depends_on) if (!ids.includes(before)) say(i, 'depends_on', `There is no task ${before}.`)
    if (instead_of === undefined) return
    if (!ids.includes(instead_of) || instead_of === id) say(i, 'instead_of', `There is no other task ${instead_of}.`)
    if (tasks.findIndex((task) => task.instead_of === instead_of) < i)
      say(i, 'instead_of', `Another task stands in for ${instead_of} already.`)
  })
})

export type PlanDraft = z.output<typeof planDraft>

export type ReadDraft = { readonly draft: PlanDraft } | { readonly intent: Json } | { readonly problem: string }

/** Reads what a caller gave or a model wrote: a draft, or a whole intent, which is taken as it is. */
export function readDraft(given: Json): ReadDraft {
  const value = typeof given === 'string' ? writtenJson(given) : given
  if (value === undefined) return { problem: 'It is not JSON.' }
  if (isIntent(value)) return { intent: value }
  const read = planDraft.safeParse(value)
  return read.success ? { draft: read.data } : { problem: problemSentence(shapeProblems(read.error)) }
}

function isIntent(value: Json): boolean {
  return (Object(value) as { type?: unknown }).type === 'execution_intent'
}

/** The JSON in what a model wrote: all of it, or what stands between the first brace and the last. */
export function writtenJson(text: string): Json | undefined {
  for (const part of [text, text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)])
    try {
      return JSON.parse(part) as Json
    } catch {
      // The next part may be it.
    }
  return undefined
}
