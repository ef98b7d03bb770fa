import * as z from 'zod'
import { goalOptions } from '../autonomy/goals/goal-context.ts'
import { faults } from '../faults/catalogue.ts'
import { boundedJson, jsonLimits, mostProblems, type Problem } from '../kernel/json.ts'
import { allModels } from '../runelog/models.ts'
import type { Listener, ReadModel, RunelogReader } from '../runelog/port.ts'
import { wordsOf } from '../runelog/words.ts'
import { asOptions, budgetOptions } from '../runtime/options.ts'
import type { RunHandle } from '../runtime/run-handle.ts'
import { harmless } from '../runtime/scopes.ts'
import { closedObject, fieldProblems, plainObject } from '../runtime/shape-problems.ts'
import { readThrown } from '../runtime/thrown.ts'
import { id } from '../wire/common.ts'
import { expectedWaiting, settlementOutcome } from '../wire/interaction.ts'
import { planState } from '../wire/plan.ts'
import { submissionBody } from '../wire/run.ts'
import { runStatus, sessionState } from '../wire/session.ts'
import type { Statewright } from './library.ts'
import { models } from './open-store.ts'
import type { Warn } from './warnings.ts'

/** The arguments of a function, in order, by the names that a refusal calls them. */
type Arguments = Readonly<Record<string, z.ZodType>>

const isWellFormed = (given: string) => given.isWellFormed()
const halfPair = 'It has half of a surrogate pair.'
const prose = z.string().max(10_000).refine(isWellFormed, halfPair)
const text = prose.min(1)
const reason = prose.optional()
const person = prose.trim().min(1).max(200).optional()
/** Longer than over HTTP: a server puts operation and sender before the key. */
const key = prose.min(1).max(1_000).optional()
const limit = z.int().min(1)
/** JSON that the method itself copies, with its own limits. */
const anything = z.unknown().optional()
/** A copy of JSON, whose content the method checks. */
const json = z
  .unknown()
  .optional()
  .transform((given, issues) => {
    const read = given === undefined ? { value: undefined } : boundedJson(given, jsonLimits.plan)
    if ('value' in read) return read.value
    issues.addIssue(read.problem)
    return z.NEVER
  })

const budget = budgetOptions.optional()
const { agent, budget: _each, session_budget: _all, ...submission } = submissionBody.shape
const signed = { repliedBy: person, idempotencyKey: key, expectedWaiting }
const decision = { task: text.optional(), reason, repliedBy: person, idempotencyKey: key }

/** The place of a row in a list. */
const row = closedObject({ sort: z.number().nullable(), key: prose })
const optional = (shape: z.ZodRawShape) => plainObject(shape).optional()
const anId = id.optional()

type Shapes<T> = { readonly [N in keyof T]?: Arguments }

const run = { runId: id }
const stop = { ...run, reason }
const session = { sessionId: id }
const pause = { ...session, reason }
const execution = { executionId: id }
const question = { interactionId: id }
const goal = { goalId: id }
const plan = { coordinationId: id }

/** The arguments of every method, in the shapes of HTTP where it has the same. `listen` checks its own. */
const shapes = {
  runs: {
    start: {
      submission: closedObject({
        agent,
        ...asOptions(submission),
        budget,
        sessionBudget: budget,
        input: anything,
        idempotencyKey: key,
      }),
    },
    get: run,
    show: run,
    list: {
      query: optional({
        status: runStatus.optional(),
        limit: limit.max(200).optional(),
        cursor: z.string().max(500).optional(),
      }),
    },
    cancel: stop,
    interrupt: stop,
    steer: { ...run, input: anything },
    trace: run,
    fcmp: run,
    abandoned: {},
  },
  sessions: {
    create: {
      session: closedObject({
        agent,
        sessionBudget: budget,
        title: z.string().max(10_000).optional(),
        idempotencyKey: key,
      }),
    },
    list: {
      query: optional({
        state: sessionState.optional(),
        limit: limit.optional(),
        backward: z.boolean().optional(),
        after: z.object({ session_id: id, updated_at: z.int() }).optional(),
      }),
    },
    get: session,
    pause,
    resume: pause,
    replenish: { ...session, budget: budgetOptions, reason },
    reset: pause,
    close: pause,
    archive: session,
    redact: { ...session, eventId: z.int().min(1), reason: text, principal: person },
    memory: { ...session, query: optional({ agentId: anId }) },
    timeline: session,
    graphState: { ...session, of: optional({ agentId: anId, atEventId: z.int().min(0).optional() }) },
  },
  inbox: {
    list: {},
    unsettled: {},
    get: question,
    reply: { ...question, reply: closedObject({ reply: anything, ...signed }) },
    approve: { ...question, approval: optional({ digest: z.string().max(200).nullish(), ...signed }) },
    deny: { ...question, denial: optional({ reason, ...signed }) },
    answer: { ...question, answer: anything, options: optional(signed) },
    settle: {
      ...question,
      settlement: closedObject({ outcome: settlementOutcome, result: anything, reason, ...signed }),
    },
  },
  agents: {
    spawn: { ...session, agent, how: optional({ parentId: anId, budget }) },
    kill: { agentId: id, how: optional({ reason, force: z.boolean().optional() }) },
  },
  executions: {
    snapshot: execution,
    consequence: execution,
    transitions: execution,
    resume: { ...execution, reply: closedObject({ reply: anything, ...signed }) },
    allowAgain: { ...execution, allowedBy: person },
  },
  machines: { topology: { machine: text } },
  goals: {
    start: {
      submission: closedObject({
        goal: z.string().max(100_000).refine(isWellFormed, halfPair),
        sessionId: anId,
        idempotencyKey: key,
        ...goalOptions.shape,
        plan: json,
        facts: json,
        memory: json,
      }),
    },
    show: goal,
    list: {},
    approve: { ...goal, decision: optional(decision) },
    reject: { ...goal, rejection: optional({ ...decision, plan: json }) },
    cancel: { ...goal, reason },
    result: goal,
  },
  plans: {
    submit: {
      submission: closedObject({
        intent: anything,
        policy: anything,
        registry: anything,
        memory: anything,
        facts: anything,
        recovers: anything,
        sessionId: anId,
        goalId: anId,
        coordinationId: anId,
        answerTimeoutMs: z.int().min(1).optional(),
      }),
    },
    answer: {
      ...plan,
      answer: closedObject({ answerPack: anything, choices: anything, repliedBy: person, idempotencyKey: key }),
    },
    show: plan,
    list: { query: optional({ state: planState.optional(), limit: limit.optional(), after: row.optional() }) },
    rest: plan,
    files: plan,
    documents: plan,
    verify: plan,
    recovery: plan,
    export: { ...plan, folder: z.string().min(1) },
  },
} satisfies { readonly [G in keyof Statewright]?: Shapes<Statewright[G]> }

const from = z.int().min(0)
const readModels = new Set(allModels(models).map(({ name }) => name))
const model = z.custom<ReadModel>((given) => readModels.has(Object(given).name), 'Expected a read model of the store.')
const mostWords = 100
const runelog = {
  read: {
    ...session,
    range: closedObject({
      after: from.optional(),
      before: from.optional(),
      limit: from.optional(),
      backward: z.boolean().optional(),
    }).optional(),
  },
  head: session,
  sessionIds: {},
  search: {
    query: closedObject({
      // Cut before it is read: a list may claim to have four billion items.
      words: z
        .preprocess((given) => (Array.isArray(given) ? given.slice(0, mostWords + 1) : given), z.array(prose))
        .transform((words) => (words.length > mostWords ? words : words.flatMap(wordsOf)))
        .refine(({ length }) => length <= mostWords, `Expected at most ${mostWords} words.`),
      before: z.number().optional(),
      limit: from,
    }),
  },
  row: { model, key: prose },
  rows: {
    model,
    query: closedObject({
      tag: prose.optional(),
      prefix: prose.optional(),
      after: row.optional(),
      limit: from.optional(),
      backward: z.boolean().optional(),
      byKey: z.boolean().optional(),
    }).optional(),
  },
  tags: { model },
  count: { model, tag: prose, limit: from },
} satisfies Shapes<RunelogReader>
const follow = { ...session, after: from, signal: z.instanceof(AbortSignal) }
const records = { ...session, after: from.optional() }
const listening = { options: closedObject({ sessionId: z.string().optional() }) }
const listener = { listener: z.custom<Listener>((given) => typeof given === 'function', 'It is not a function.') }

const output = { ref: z.string().min(1).max(1_000) }
const handle = { cancel: { reason }, interrupt: { reason }, steer: { input: anything } } satisfies Shapes<RunHandle>
const signal = z.instanceof(AbortSignal).optional()
const events = { options: optional({ after: z.int().min(0).optional(), signal }) }
const watch = { ...goal, signal }

/**
 * The same Statewright, which refuses arguments that do not fit before it reads or records anything. `refuseClosed`
 * throws once the store is closed: not every method would reach the store, and a store in memory could still be read.
 */
export function checkingArguments(sw: Statewright, warn: Warn, refuseClosed: () => void): Statewright {
  function readArguments(...given: Parameters<typeof copyArguments>): unknown[] {
    refuseClosed()
    return copyArguments(...given)
  }
  function checkingHandle<H extends RunHandle>(run: H): H {
    return { ...checking('run.', run, handle), events: checkingItems('run.events', events, run.events) }
  }

  /**
   * Refuses unfit arguments when the first item is asked for. A generator in between would delay each item by a turn of the
   * event loop, and text that is not recorded yet would overtake the rune before it.
   */
  function checkingItems<A extends unknown[], T>(
    operation: string,
    shape: Arguments,
    items: (...args: A) => AsyncIterable<T>,
  ): (...args: A) => AsyncIterable<T> {
    return (...args) => ({
      [Symbol.asyncIterator]() {
        try {
          return items(...(readArguments(operation, shape, args) as A))[Symbol.asyncIterator]()
        } catch (error) {
          return { next: () => Promise.reject(error) }
        }
      },
    })
  }

  function checking<T extends object>(of: string, target: T, shapes: Shapes<T>): T {
    const functions = target as Readonly<Record<string, (...args: unknown[]) => unknown>>
    const checked = Object.entries<Arguments | undefined>(shapes).map(([name, shape = {}]) => {
      const call = async (...args: unknown[]) => functions[name]?.(...readArguments(`${of}${name}`, shape, args))
      return [name, call] as const
    })
    return { ...target, ...Object.fromEntries(checked) }
  }

  const runs = checking('runs.', sw.runs, shapes.runs)
  const goals = checking('goals.', sw.goals, shapes.goals)
  const { read, head, sessionIds, search, row, rows, tags, count } = sw.runelog
  return {
    ...sw,
    ...checking('', { output: sw.output }, { output }),
    runs: {
      ...runs,
      start: async (asked) => checkingHandle(await runs.start(asked)),
      get: async (run_id) => checkingHandle(await runs.get(run_id)),
      listen(given, options) {
        refuseClosed()
        if (options !== undefined) readArguments('runs.listen', listening, [options])
        return sw.runs.listen(given, options)
      },
    },
    sessions: checking('sessions.', sw.sessions, shapes.sessions),
    inbox: checking('inbox.', sw.inbox, shapes.inbox),
    agents: checking('agents.', sw.agents, shapes.agents),
    executions: checking('executions.', sw.executions, shapes.executions),
    machines: checking('machines.', sw.machines, shapes.machines),
    goals: { ...goals, watch: checkingItems('goals.watch', watch, sw.goals.watch) },
    plans: checking('plans.', sw.plans, shapes.plans),
    // The reading methods alone: the store itself writes.
    runelog: {
      ...checking('runelog.', { read, head, sessionIds, search, row, rows, tags, count }, runelog),
      follow: checkingItems('runelog.follow', follow, sw.runelog.follow),
      records: checkingItems('runelog.records', records, sw.runelog.records),
      watch(given) {
        readArguments('runelog.watch', listener, [given])
        return sw.runelog.watch(harmless(given, warn))
      },
    },
  }
}

/** A copy of the arguments. Each member is read once: a getter may throw, or return something else the next time. */
function copyArguments(operation: string, shapes: Arguments, args: readonly unknown[]): unknown[] {
  const problems: (Problem & { in: string })[] = []
  // Surplus arguments are ignored, since `map` passes them. A method without arguments refuses them: its caller expects
  // them to have an effect.
  if (Object.keys(shapes).length === 0 && args.some((one) => one !== undefined))
    problems.push({ in: 'arguments', pointer: '', problem: 'It takes no arguments.' })
  const read = Object.entries(shapes).map(([name, shape], at) => {
    const { value, wrong = [] } = readArgument(shape, args[at])
    problems.push(...wrong.map((problem) => ({ in: name, ...problem })))
    return value
  })
  if (problems.length > 0) throw faults.bad_request({ operation, problems: problems.slice(0, mostProblems) })
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
