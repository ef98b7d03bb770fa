import { z } from 'zod'
import { openQuestion } from '../../coordinator/schemas/questions.ts'
import {
  contentId,
  effect,
  evidenceRef,
  phaseName,
  reviewCategory,
  riskLevel,
  sentence,
} from '../../coordinator/schemas/scalars.ts'
import { boundedJson, jsonLimits } from '../../kernel/bounded-json.ts'
import type { Json } from '../../kernel/json.ts'
import { priorities } from '../../observation/goal-state.ts'
import { quoted } from '../../runtime/model.ts'
import { closedObject, fieldProblems, problemSentence } from '../../runtime/shape-problems.ts'

const draftTask = closedObject({
  id: contentId,
  /** A command of the registry: it decides which tools the task may use. */
  command: contentId,
  intent: sentence,
  /** An agent of the registry that is also configured here. Without it, the agent that leads the phase. */
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

/** What a planner may fill in. The rest of an intent follows from the goal, the operator and the registry. */
const plannersOwn = {
  title: z.string().min(5).max(160).optional(),
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
}

type Tasks = z.output<typeof plannersOwn.tasks>

function checkTasks({ tasks }: { readonly tasks: Tasks }, issues: z.RefinementCtx) {
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
    const circle = standInCircle(tasks, id)
    if (circle !== null) say(i, 'instead_of', circle)
  })
}

/** Tasks that stand in for each other in a circle: each would begin when the other one failed. Null: this one does not. */
export function standInCircle(tasks: readonly StandIn[], id: string): string | null {
  const primaries = new Map(tasks.map((task) => [task.id, task.instead_of ?? null]))
  const chain = [id]
  for (let at = primaries.get(id) ?? null; at !== null; at = primaries.get(at) ?? null) {
    if (at === id)
      return `${[...chain, id].join(' stands in for ')}: that is a circle; let one of them stand in for none.`
    if (chain.includes(at)) return null
    chain.push(at)
  }
  return null
}

type StandIn = { readonly id: string; readonly instead_of?: string | null | undefined }

const plannersDraft = closedObject(plannersOwn).superRefine(checkTasks)

/** The person who sets the goal may also say when it is reached. */
const callersDraft = closedObject({
  success_criteria: z.array(sentence).min(1).max(20).optional(),
  ...plannersOwn,
}).superRefine(checkTasks)

/** A plan as a planner or caller wrote it. */
export type PlanDraft = z.output<typeof callersDraft>

type ReadDraft = { readonly draft: PlanDraft } | { readonly intent: Json } | { readonly problem: string }

/**
 * Reads what a caller gave or a planner wrote. A caller may give a whole intent. A planner drafts: the objective, the
 * status, the source, the budgets and the evidence of the intent come from the goal, and the policy from the operator.
 */
export function readDraft(given: Json, by: 'caller' | 'planner'): ReadDraft {
  const written = typeof given === 'string' ? writtenJson(given) : { value: given }
  if ('problem' in written) return written
  const { value } = written
  if (isIntent(value)) return by === 'caller' ? { intent: value } : { problem: wholeIntent }
  const read = (by === 'caller' ? callersDraft : plannersDraft).safeParse(value)
  return read.success ? { draft: read.data } : { problem: problemSentence(fieldProblems(read.error)) }
}

const wholeIntent =
  'It is a whole execution intent. A planner drafts tasks; objective, status, source, evidence and budgets come from the goal.'

/** Evidence that a draft cites and that the goal does not have. A planner may cite evidence, and not make it up. */
export function unknownEvidence({ tasks, open_questions = [] }: PlanDraft, known: ReadonlySet<string>): string | null {
  const cited = [
    ...tasks.map(({ id, evidence = [] }) => [id, evidence] as const),
    ...open_questions.map(({ key, evidence_refs }) => [key, evidence_refs] as const),
  ]
  const unknown = cited.flatMap(([name, refs]) =>
    refs.filter((ref) => !known.has(ref)).map((ref) => `${name} cites ${quoted(ref)}`),
  )
  if (unknown.length === 0) return null
  return `${unknown.slice(0, 20).join('; ')}: the goal has no such evidence; it has ${[...known].slice(0, 50).join(', ')}.`
}

function isIntent(value: Json): boolean {
  return (Object(value) as { type?: unknown }).type === 'execution_intent'
}

/**
 * The JSON in what a model wrote: all of it, or what stands between the first brace and the last. It is taken within the
 * limits of what a model may write, and without what has no canonical text, such as a lone surrogate.
 */
export function writtenJson(text: string): { readonly value: Json } | { readonly problem: string } {
  for (const part of [text, text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)])
    try {
      return boundedJson(JSON.parse(part), jsonLimits.arguments)
    } catch {
      // The next part may be it.
    }
  return { problem: 'It is not JSON.' }
}
