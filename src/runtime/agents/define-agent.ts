import { faults } from '../../faults/catalogue.ts'
import type { Sha256 } from '../../kernel/digest.ts'
import type { Budget } from '../../observation/session-state.ts'
import { budget as budgetShape } from '../../runes/kinds/agent.ts'
import { askPerson } from '../ecs/ask-person.ts'
import type { Model } from '../model.ts'
import { problemSentence, shapeProblems } from '../shape-problems.ts'
import { createRegistry, type Registry } from '../tools/registry.ts'
import type { Tool } from '../tools/tool.ts'
import { type RetryPolicy, usualRetries } from '../turns/retry.ts'

/** An agent as a developer declares it. */
export interface Agent {
  readonly role: string
  readonly model: Model
  readonly tools: readonly Tool[]
  readonly instructions: string
  readonly budget: Budget | null
  /** How many rounds of calls one turn may take. */
  readonly max_rounds: number
  readonly retries: RetryPolicy
  /** It may hand a step to a person through the built-in tool. */
  readonly may_ask: boolean
  /** Names of agents that it may hand tasks to, each through a tool `delegate.<name>`. */
  readonly delegates: readonly string[]
  /** What it has of the MCP servers in the config: a whole server by its name, or one tool as `server.tool`. */
  readonly mcp: readonly string[]
  /** Is awaited whenever such an agent is spawned. If it throws, the agent cannot be set up and is given no work. */
  readonly prepare?: () => void | Promise<void>
}

/** An agent as the runtime works with it. */
export interface AgentDefinition extends Agent {
  readonly registry: Registry
}

type Given = Pick<Agent, 'role' | 'model'> &
  Partial<Pick<Agent, 'tools' | 'instructions' | 'max_rounds' | 'may_ask' | 'delegates' | 'mcp' | 'prepare'>> & {
    readonly budget?: Budget
    readonly retries?: Partial<RetryPolicy>
  }

export function agent(given: Given): Agent {
  const defined: Agent = {
    role: given.role,
    model: given.model,
    tools: [...(given.tools ?? [])],
    instructions: given.instructions ?? '',
    budget: given.budget ?? null,
    max_rounds: given.max_rounds ?? 50,
    retries: { ...usualRetries, ...given.retries },
    may_ask: given.may_ask ?? true,
    delegates: [...(given.delegates ?? [])],
    mcp: [...(given.mcp ?? [])],
    ...(given.prepare !== undefined && { prepare: given.prepare }),
  }
  const problem = problemWith(defined)
  if (problem !== undefined) throw faults.bad_definition({ what: 'agent', name: String(given.role), problem })
  return Object.freeze(defined)
}

/** Makes an agent ready for work: its tools by name, each with the digest of its definition. */
export function equip(agent: Agent, sha256: Sha256, more: readonly Tool[] = []): AgentDefinition {
  const registry = createRegistry([...agent.tools, ...more], sha256, agent.may_ask ? [askPerson] : [])
  return { ...agent, registry }
}

function problemWith({ role, model, tools, budget, max_rounds, retries }: Agent): string | undefined {
  if (typeof role !== 'string' || role.trim() === '') return 'An agent needs a role, such as "support".'
  const modelProblem = problemWithModel(model)
  if (modelProblem !== undefined) return modelProblem
  const names = tools.map((tool) => tool.name)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) return `Two of its tools are called ${twice}.`
  if (!isCount(max_rounds)) return `max_rounds is ${max_rounds}; it must be a whole number, at least 1.`
  if (!isCount(retries.tries)) return `retries.tries is ${retries.tries}; it must be a whole number, at least 1.`
  if (!(retries.first_delay_ms >= 0 && retries.longest_delay_ms >= 0)) return 'A wait between tries cannot be negative.'
  const checked = budgetShape.nullable().safeParse(budget)
  return checked.success ? undefined : `Its budget does not fit: ${problemSentence(shapeProblems(checked.error))}.`
}

function problemWithModel(model: unknown): string | undefined {
  if (typeof model === 'string')
    return `Its model is the text ${JSON.stringify(model)}, but a model is an object. Import one from the package of your provider and pass it, or for a first try: import { scriptedModel } from 'statewright'.`
  const { id, stream } = Object(model)
  return typeof id === 'string' && typeof stream === 'function'
    ? undefined
    : "Its model has no id and stream. Wrap the model of your provider in an adapter, or for a first try: import { scriptedModel } from 'statewright'."
}

const isCount = (value: number) => Number.isSafeInteger(value) && value >= 1
