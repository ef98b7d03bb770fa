/** Compiled, never run: the inferred types of the public API. `npm run types` fails when one of these changes. */
import {
  type Agent,
  agent,
  createStatewright,
  defineConfig,
  type FaultCode,
  type FaultOf,
  isFault,
  type Json,
  type Model,
  type ModelEvent,
  type Payload,
  type RunEvent,
  type RunResult,
  type RunStatus,
  type Statewright,
  type Topology,
  tool,
} from 'statewright'
import type { GoalOptions, GoalReport, GoalState } from 'statewright/goals'
import type { McpTools } from 'statewright/mcp'
import { openMcp } from 'statewright/mcp'
import { consequenceView, contractHistories, type machines, memoryFacts, type topology } from 'statewright/observation'
import {
  answersFrom,
  type Coordination,
  type CoordinationState,
  type coordinate,
  type FrozenFiles,
  type PlanProblem,
  type PlanView,
  type Ports,
  type QuestionPack,
  type RuleEngine,
  verifyPlan,
} from 'statewright/plans'
import type { PostgresStore } from 'statewright/postgres'
import { openPostgres } from 'statewright/postgres'
import { type RunningServer, serve } from 'statewright/server'
import { type breakOff, checkFcmp, type Scripted, say, scriptedModel, type TestClock } from 'statewright/testing'
import { z } from 'zod'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const holds = <T extends true>(): T | undefined => undefined

const refund = tool({
  name: 'orders.refund',
  input: z.object({ order: z.int(), note: z.string().default('') }),
  // The functions next to `run` get the output of the schema, too.
  key(args) {
    holds<Same<typeof args, { order: number; note: string }>>()
    return String(args.order)
  },
  async probe(key, args, signal) {
    holds<Same<typeof key, string>>()
    holds<Same<typeof args.order, number>>()
    holds<Same<typeof signal, AbortSignal>>()
    return { outcome: 'cannot_tell' }
  },
  run(input, context) {
    // The input of `run` is the output of the schema: a default is filled in.
    holds<Same<typeof input, { order: number; note: string }>>()
    holds<Same<typeof context.signal, AbortSignal>>()
    return { refunded: input.order }
  },
})

// @ts-expect-error A tool has a schema for its input.
tool({ name: 'orders.look', run: () => null })

// @ts-expect-error A probe answers with one of three outcomes.
tool({ name: 'orders.pay', input: z.object({}), run: () => null, probe: async () => ({ outcome: 'perhaps' }) })

// @ts-expect-error A store is named.
void createStatewright({ agents: {} })

// @ts-expect-error A store is a URL or one that is open, and an object is neither.
void createStatewright({ store: { url: 'memory:' }, agents: {} })

const support = agent({
  role: 'support',
  model: scriptedModel([say('Hello.')]),
  tools: [refund],
  retries: { tries: 2 },
})
holds<Same<typeof support, Agent>>()

// @ts-expect-error An agent has a model.
agent({ role: 'support' })

// @ts-expect-error Options are camelCase.
agent({ role: 'support', model: scriptedModel([]), max_rounds: 3 })

const config = defineConfig({ store: 'memory:', agents: { support }, policy: { mode: 'auto' } })
holds<Same<(typeof config)['maxConcurrentRuns'], number | undefined>>()

// @ts-expect-error A mode of the policy is one of three.
defineConfig({ store: 'memory:', agents: {}, policy: { mode: 'careful' } })

export const model: Model = {
  id: 'mine',
  async *stream(request) {
    holds<Same<(typeof request.tools)[number]['input_schema'], Json>>()
    yield { type: 'usage', inputTokens: 1, outputTokens: request.messages.length }
    yield { type: 'done', finish: 'stop' }
  },
}

// @ts-expect-error The fields of an event are camelCase.
export const misspelled: ModelEvent = { type: 'usage', input_tokens: 1, output_tokens: 1 }

export const results = (result: RunResult) => {
  holds<Same<typeof result.runId, string>>()
  holds<Same<typeof result.status, RunStatus>>()
}

export const narrowed = (event: RunEvent) => {
  if (event.type === 'delta') return holds<Same<typeof event.delta.run_id, string>>()
  const { rune } = event
  // The kind of a rune narrows its payload.
  if (rune.kind === 'tool.result') {
    holds<Same<typeof rune.payload, Payload<'tool.result'>>>()
    holds<Same<typeof rune.payload.call_id, string>>()
  }
  if (rune.kind === 'run.submitted') holds<Same<typeof rune.payload, Payload<'run.submitted'>>>()
  // @ts-expect-error There is no such kind.
  return rune.kind === 'tool.results'
}

type Status = Payload<'tool.result'>['status']
holds<Same<Extract<Status, 'success' | 'unknown'>, 'success' | 'unknown'>>()
// @ts-expect-error There is no such kind.
export type Nothing = Payload<'tool.results'>

export const refused = (error: unknown) => {
  // The codes narrow the fault, and with it its details.
  if (isFault(error, 'key_reused')) holds<Same<typeof error.details.idempotency_key, string>>()
  // @ts-expect-error There is no such code.
  isFault(error, 'no_such_code')
  // A switch over the codes is exhaustive.
  if (isFault(error, 'not_found', 'session_over')) {
    if (error.code === 'not_found') return holds<Same<typeof error, FaultOf<'not_found'>>>()
    if (error.code === 'session_over') return holds<Same<typeof error, FaultOf<'session_over'>>>()
    const left: never = error.code
    return left
  }
  if (isFault(error)) {
    holds<Same<typeof error.code, FaultCode>>()
    holds<Same<typeof error, FaultOf<FaultCode>>>()
  }
}

export const grouped = async (sw: Statewright) => {
  const run = await sw.runs.start({ agent: 'support', input: 'Go.' })
  holds<Same<typeof run.isRepeated, boolean>>()
  // @ts-expect-error The log of a Statewright is read, never written.
  void sw.runelog.append
  // @ts-expect-error An outcome is one of three.
  void sw.inbox.settle('int_1', { outcome: 'perhaps' })
  holds<Same<ReturnType<typeof sw.machines.topology>, Promise<Topology>>>()
  // @ts-expect-error There is no such machine.
  void sw.machines.topology('robot')
  const plan = await sw.plans.show('crd_1')
  holds<Same<typeof plan, PlanView>>()
  holds<Same<typeof plan.state, CoordinationState>>()
  const goal = await sw.goals.show('goal_1')
  holds<Same<typeof goal, GoalReport>>()
}

export const plans = (ports: Ports, pack: QuestionPack, files: FrozenFiles, coordination: Coordination) => {
  holds<Same<typeof ports.rules, RuleEngine>>()
  holds<Same<ReturnType<typeof coordinate>, Coordination>>()
  holds<Same<typeof coordination.state, CoordinationState>>()
  const problems = verifyPlan(files, ports)
  holds<Same<(typeof problems)[number], PlanProblem>>()
  answersFrom(pack, { scope: 'all', note: { text: 'Mind the gap.' }, limits: { data: { most: 3 } } }, ports.sha256)
  // @ts-expect-error A choice is a text, `{ text }` or `{ data }`.
  answersFrom(pack, { scope: 3 }, ports.sha256)
}

export const goals = (report: GoalReport, options: GoalOptions) => {
  holds<Same<typeof report.state, GoalState>>()
  holds<Same<typeof options.mode, 'interactive' | 'auto' | undefined>>()
}

export const observation = async (sw: Statewright) => {
  const runes = await sw.runelog.read('ses_1')
  for (const history of contractHistories(runes).values()) consequenceView(history)
  holds<Same<(typeof machines)[number]['name'] & 'run', 'run'>>()
  holds<Same<ReturnType<typeof topology>, Topology>>()
  const [fact] = memoryFacts(runes, { agentId: 'agt_1' })
  holds<Same<NonNullable<typeof fact>['session_id'], string>>()
}

export const mcp = async () => {
  const opened = await openMcp({ files: { command: 'mcp-files', tools: { read: { readOnly: true } } } })
  holds<Same<typeof opened, McpTools>>()
  // @ts-expect-error Options are camelCase.
  void openMcp({ files: { command: 'mcp-files', timeout_ms: 5 } })
}

export const postgres = async () => {
  const store = await openPostgres('postgres://localhost/app')
  holds<Same<typeof store, PostgresStore>>()
  void createStatewright({ store, agents: { support } })
  void store.close()
  // @ts-expect-error A store is opaque: only a Statewright works on it.
  void store.runelog
}

export const server = async () => {
  const running = await serve(config, { port: 0 })
  holds<Same<typeof running, RunningServer>>()
  holds<Same<typeof running.tokenFile, string | null>>()
}

export const testing = (clock: TestClock) => {
  holds<Same<ReturnType<typeof clock.advance>, Promise<void>>>()
  holds<Same<ReturnType<typeof breakOff>, Scripted>>()
  checkFcmp([], { runId: 'run_1', status: 'succeeded' })
  // @ts-expect-error Arguments are camelCase.
  checkFcmp([], { run_id: 'run_1' })
}
