import { z } from 'zod'
import type { Goals } from '../autonomy/goals/goals.ts'
import { faults } from '../faults/catalogue.ts'
import { mostTold, type Problem } from '../kernel/problem.ts'
import { budget } from '../runes/kinds/agent.ts'
import type { Submission, Submitted } from '../runtime/commands/submit.ts'
import type { RunHandle } from '../runtime/run-handle.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { closedObject, fieldProblems } from '../runtime/shape-problems.ts'
import { readThrown } from '../runtime/thrown.ts'
import { id } from '../wire/common.ts'
import { expectedWaiting } from '../wire/interaction.ts'
import { planState } from '../wire/plan.ts'
import { submissionBody } from '../wire/run.ts'
import { sessionState } from '../wire/session.ts'
import type { PlansOfStore } from './open-plans.ts'

interface Library {
  submit(submission: Submission): Promise<RunHandle & Submitted>
  run(run_id: string): Promise<RunHandle>
  readonly goals: Goals
  readonly plans: PlansOfStore
}

/** The arguments of a function, in order, by the names that a refusal calls them. */
type Arguments = Readonly<Record<string, z.ZodType>>

const said = z
  .string()
  .max(10_000)
  .refine((given) => given.isWellFormed(), 'It has half of a surrogate pair.')
const text = said.min(1)
const reason = said.optional()
const person = z.string().trim().min(1).max(200).optional()
/** A server puts the names of operation and sender before the key that it was sent. */
const key = z.string().min(1).max(1_000).optional()
const limit = z.int().min(1).optional()
/** JSON that is judged where it is taken in, with the limits that hold there. */
const anything = z.unknown().optional()

const { agent, ...submission } = submissionBody.shape
const given = closedObject({
  reply: anything,
  replied_by: person,
  idempotency_key: key,
  expected_waiting: expectedWaiting,
})
const newSession = closedObject({
  agent,
  session_budget: submission.session_budget,
  title: z.string().max(10_000).optional(),
  idempotency_key: key,
})
const decision = { task: text.optional(), reason, replied_by: person, idempotency_key: key }

/** What may be asked of a Statewright, function by function, in the shapes of HTTP where it has the same. */
const statewright = {
  submit: { submission: closedObject({ agent, ...submission, input: anything, idempotency_key: key }) },
  run: { run_id: id },
  find: { run_id: id },
  reply: { interaction_id: id, reply: given },
  resume: { execution_id: id, reply: given },
  allowAgain: { execution_id: id, allowed_by: person },
  cancel: { run_id: id, reason },
  interrupt: { run_id: id, reason },
  steer: { run_id: id, input: anything },
  createSession: { session: newSession },
  openSession: { session: newSession },
  pause: { session_id: id, reason },
  resumeSession: { session_id: id, reason },
  replenish: { session_id: id, budget, reason },
  reset: { session_id: id, reason },
  closeSession: { session_id: id, reason },
  archiveSession: { session_id: id },
  sessions: {
    query: closedObject({
      state: sessionState.optional(),
      limit,
      backward: z.boolean().optional(),
      after: z.object({ session_id: id, updated_at: z.int() }).optional(),
    }).optional(),
  },
  spawnAgent: {
    session_id: id,
    agent,
    how: closedObject({ parent_id: id.optional(), budget: budget.optional() }).optional(),
  },
  killAgent: { agent_id: id, how: closedObject({ reason, force: z.boolean().optional() }).optional() },
  redact: { session_id: id, event_id: z.int().min(1), reason: text, principal: person },
  inbox: {},
  unsettled: {},
  abandoned: {},
  interaction: { interaction_id: id },
  graphState: {
    session_id: id,
    of: closedObject({ agent_id: id.optional(), at_event_id: z.int().min(0).optional() }).optional(),
  },
  memory: { session_id: id, query: closedObject({ agent_id: id.optional() }).optional() },
  output: { ref: z.string().min(1).max(1_000) },
} satisfies Partial<Record<keyof Runtime | keyof Library | 'memory' | 'output', Arguments>>

const goals = {
  // The rest of a goal is checked where it is set.
  start: { goal: z.looseObject({ session_id: id.optional(), idempotency_key: key }) },
  show: { goal_id: id },
  list: {},
  approve: { goal_id: id, decision: closedObject(decision).optional() },
  reject: { goal_id: id, rejection: closedObject({ ...decision, plan: anything }).optional() },
  cancel: { goal_id: id, reason },
  result: { goal_id: id },
} satisfies Partial<Record<keyof Goals, Arguments>>

const plans = {
  show: { coordination_id: id },
  list: { query: closedObject({ state: planState.optional(), limit, after: anything }).optional() },
  rest: { coordination_id: id },
  files: { coordination_id: id },
  documents: { coordination_id: id },
  verify: { coordination_id: id },
  recovery: { coordination_id: id },
  export: { coordination_id: id, folder: z.string().min(1) },
} satisfies Partial<Record<keyof PlansOfStore, Arguments>>

const handle = {
  cancel: { reason },
  interrupt: { reason },
  steer: { input: anything },
} satisfies Partial<Record<keyof RunHandle, Arguments>>

const events: Arguments = { options: closedObject({ after: z.int().min(0).optional() }).optional() }
const watch: Arguments = { goal_id: id, signal: z.instanceof(AbortSignal).optional() }

/** The same Statewright, which refuses what does not fit before anything is looked at or recorded. */
export function checkingArguments<S extends Library>(sw: S): S {
  const checked = checking('', sw, statewright)
  return {
    ...checked,
    submit: async (asked: Submission) => checkingHandle(await checked.submit(asked)),
    run: async (run_id: string) => checkingHandle(await checked.run(run_id)),
    goals: { ...checking('goals.', sw.goals, goals), watch: checkingItems('goals.watch', watch, sw.goals.watch) },
    plans: checking('plans.', sw.plans, plans),
  }
}

function checkingHandle<H extends RunHandle>(run: H): H {
  return { ...checking('run.', run, handle), events: checkingItems('run.events', events, run.events) }
}

/** What does not fit is refused when the first item is asked for. */
function checkingItems<A extends unknown[], T>(
  operation: string,
  shape: Arguments,
  items: (...args: A) => AsyncIterable<T>,
): (...args: A) => AsyncIterable<T> {
  return async function* (...args) {
    yield* items(...(readArguments(operation, shape, args) as A))
  }
}

function checking<T extends object>(of: string, target: T, shapes: Readonly<Record<string, Arguments>>): T {
  const functions = target as Readonly<Record<string, (...args: unknown[]) => unknown>>
  const checked = Object.entries(shapes).map(([name, shape]) => {
    const call = async (...args: unknown[]) => functions[name]?.(...readArguments(`${of}${name}`, shape, args))
    return [name, call] as const
  })
  return { ...target, ...Object.fromEntries(checked) }
}

/** A copy of what was passed, each member read once: a getter may throw, or say something else the next time. */
function readArguments(operation: string, shapes: Arguments, args: readonly unknown[]): unknown[] {
  const problems: (Problem & { in: string })[] = []
  // One more argument than a function has is let go by, as where it is passed to `map`. One that has none ignores nothing.
  if (Object.keys(shapes).length === 0 && args.some((one) => one !== undefined))
    problems.push({ in: 'arguments', pointer: '', problem: 'It takes none; call it without.' })
  const read = Object.entries(shapes).map(([name, shape], at) => {
    const { value, wrong = [] } = readArgument(shape, args[at])
    problems.push(...wrong.map((problem) => ({ in: name, ...problem })))
    return value
  })
  if (problems.length > 0) throw faults.bad_request({ operation, problems: problems.slice(0, mostTold) })
  return read
}

function readArgument(shape: z.ZodType, given: unknown): { value?: unknown; wrong?: readonly Problem[] } {
  try {
    const { data, error } = shape.safeParse(given)
    return error === undefined ? { value: data } : { wrong: fieldProblems(error) }
  } catch (error) {
    return { wrong: [{ pointer: '', problem: `It cannot be read: ${readThrown(error).message}` }] }
  }
}
