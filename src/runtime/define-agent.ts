import { faults } from '../faults/catalogue.ts'
import type { Sha256 } from '../kernel/digest.ts'
import type { Budget } from '../observation/session-state.ts'
import { askPerson } from './ecs/request.ts'
import type { AnyModel, Model } from './model.ts'
import { asRecord, type BudgetOptions, budgetOptions } from './options.ts'
import { fieldProblems, isPlain, problemSentence, unknownField } from './shape-problems.ts'
import { sayValue } from './thrown.ts'
import { createRegistry, type Registry } from './tools/registry.ts'
import type { Tool } from './tools/tool.ts'
import { type Price, type RetryPolicy, usualRetries } from './turns/model-call.ts'

/** An agent as a developer declares it. */
export interface Agent {
  /** A short name of the agent's job, such as `support`. It is recorded and shown; the model does not see it. */
  readonly role: string
  /** The model object of an AI SDK provider package, such as `anthropic('…')`, or an implementation of `Model`. */
  readonly model: AnyModel
  /** The tools that the agent may call, each made with `tool({ … })`. Default: none. */
  readonly tools: readonly Tool[]
  /** The system message for the model. Default: empty. */
  readonly instructions: string
  /** The limits of the agent in one session, over all its runs. Null, the default: no limits. */
  readonly budget: BudgetOptions | null
  /** The price of the model. Without it, costs are not counted, and `costUsd` has no effect. Default: null. */
  readonly price: Price | null
  /** How many rounds of calls one turn may take before the run fails with `ROUND_LIMIT`. Default: 50. */
  readonly maxRounds: number
  /** How often and when a failed answer is tried again. Default: 3 tries, with at most 1 s and 2 s in between. */
  readonly retries: RetryPolicy
  /** Whether the agent gets the built-in tool that hands a step to a person. Default: true. */
  readonly mayAsk: boolean
  /** Names of configured agents that it may hand tasks to, each through a tool `delegate.<name>`. Default: none. */
  readonly delegates: readonly string[]
  /** Tools of MCP servers in the config: a whole server by its name, or one tool as `server.tool`. Default: none. */
  readonly mcp: readonly string[]
  /** Awaited whenever an agent of this name is spawned. If it throws, the agent is refused with `agent_unfit`. */
  readonly prepare?: () => void | Promise<void>
}

/** An agent as the runtime works with it. */
export interface AgentDefinition extends Omit<Agent, 'budget'> {
  readonly model: Model
  /** The budget as it is recorded when the agent is spawned. */
  readonly budget: Budget | null
  readonly registry: Registry
}

/** The argument of `agent`: `role`, `model`, and any other field of an agent. */
export type AgentOptions = Pick<Agent, 'role' | 'model'> &
  Partial<Pick<Agent, 'tools' | 'instructions' | 'maxRounds' | 'mayAsk' | 'delegates' | 'mcp' | 'prepare'>> & {
    /** As in `Agent`. */
    readonly budget?: BudgetOptions | null
    /** As in `Agent`. */
    readonly price?: Price | null
    /** As in `Agent`. A field that is left out has its default. */
    readonly retries?: Partial<RetryPolicy>
  }

/**
 * Defines an agent: `role` and `model` are required. Returns the agent with its defaults, frozen. Throws
 * `bad_definition` if a field is unknown or does not fit; the message names the field and what is allowed.
 */
export function agent(given: AgentOptions): Agent {
  const role: unknown = given?.role
  return checkedAgent(given, typeof role === 'string' ? role.slice(0, longestQuote) : sayValue(role), '')
}

/** Fills in defaults and refuses fields that do not fit, with their path: `path` is such as `agents.support.`. */
export function checkedAgent(written: AgentOptions | undefined, name: string, path: string): Agent {
  const given: AgentOptions = Object(typeof written === 'object' ? written : {})
  const defined: Agent = {
    role: given.role,
    model: given.model,
    tools: listOf(given.tools),
    instructions: given.instructions ?? '',
    budget: given.budget ?? null,
    price: given.price ?? null,
    maxRounds: given.maxRounds ?? 50,
    retries: { ...usualRetries, ...given.retries },
    mayAsk: given.mayAsk === undefined ? true : given.mayAsk,
    delegates: listOf(given.delegates),
    mcp: listOf(given.mcp),
    ...(given.prepare !== undefined && { prepare: given.prepare }),
  }
  const problem = misspelled(given, defined) ?? unreadRetries(given) ?? problemWith(defined)
  if (problem !== undefined)
    throw faults.bad_definition({ what: 'agent', name, problem: `${path}${problem.field}: ${problem.says}` })
  return Object.freeze(defined)
}

const listOf = <T>(given: readonly T[] = []): readonly T[] => (Array.isArray(given) ? [...given] : given)

/** Makes an agent ready for work: its tools by name, each with the digest of its definition. */
export function equip(agent: Agent, model: Model, sha256: Sha256, more: readonly Tool[] = []): AgentDefinition {
  const registry = createRegistry([...agent.tools, ...more], sha256, agent.mayAsk ? [askPerson] : [])
  return { ...agent, model, registry, budget: agent.budget === null ? null : asRecord(agent.budget) }
}

type Problem = { readonly field: string; readonly says: string }

/** Refuses a field that is not known: it would have no effect. */
function misspelled(given: object, defined: object): Problem | undefined {
  const field = Object.keys(given).find((key) => !Object.hasOwn(defined, key))
  return field === undefined ? undefined : { field, says: unknownField(field, Object.keys(defined)) }
}

function unreadRetries({ retries }: AgentOptions): Problem | undefined {
  if (retries === undefined || (retries === Object(retries) && isPlain(retries))) return undefined
  return { field: 'retries', says: 'Expected an object, such as { tries: 5 }.' }
}

function problemWith(agent: Agent): Problem | undefined {
  const { role, model, tools, instructions, budget, price, maxRounds, retries, mayAsk, prepare } = agent
  if (typeof role !== 'string' || role.trim() === '' || !role.isWellFormed())
    return { field: 'role', says: 'An agent needs a role, such as "support".' }
  if (typeof instructions !== 'string') return { field: 'instructions', says: 'Expected a text.' }
  if (typeof mayAsk !== 'boolean') return { field: 'mayAsk', says: 'Expected true or false.' }
  if (prepare !== undefined && typeof prepare !== 'function') return { field: 'prepare', says: 'Expected a function.' }
  const modelProblem = problemWithModel(model)
  if (modelProblem !== undefined) return { field: 'model', says: modelProblem }
  for (const field of ['tools', 'delegates', 'mcp'] as const)
    if (!Array.isArray(agent[field])) return { field, says: 'Expected a list, as in [one, another].' }
  for (const field of ['delegates', 'mcp'] as const)
    if (!agent[field].every((one) => typeof one === 'string')) return { field, says: 'Expected a list of names.' }
  const unmade = tools.findIndex((tool) => typeof Object(tool).run !== 'function' || tool.approval === undefined)
  if (unmade >= 0) return { field: 'tools', says: `tools[${unmade}] is not a tool. Make it with tool({ … }).` }
  const names = tools.map((tool) => tool.name)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) return { field: 'tools', says: `Two of its tools are called ${twice}.` }
  if (!isCount(maxRounds))
    return { field: 'maxRounds', says: `maxRounds is ${sayValue(maxRounds)}; it must be a whole number, at least 1.` }
  const { tries, firstDelayMs, longestDelayMs, ...unknown } = retries
  const [strange] = Object.keys(unknown)
  if (strange !== undefined)
    return { field: `retries.${strange}`, says: unknownField(strange, Object.keys(usualRetries)) }
  if (!isCount(tries))
    return { field: 'retries', says: `retries.tries is ${sayValue(tries)}; it must be a whole number, at least 1.` }
  for (const [field, wait] of Object.entries({ firstDelayMs, longestDelayMs }))
    if (typeof wait !== 'number' || !isCount(wait + 1))
      return { field: `retries.${field}`, says: 'It must be a whole number of milliseconds, and not negative.' }
  if (price !== null && !(price.inputUsdPerMillion >= 0 && price.outputUsdPerMillion >= 0))
    return { field: 'price', says: 'It needs inputUsdPerMillion and outputUsdPerMillion, neither negative.' }
  const checked = budgetOptions.nullable().safeParse(budget)
  if (checked.success) return undefined
  return { field: 'budget', says: `Its budget does not fit: ${problemSentence(fieldProblems(checked.error))}.` }
}

/** How much of a text that does not fit a refusal quotes. */
const longestQuote = 200

const isCount = (value: number) => Number.isSafeInteger(value) && value >= 1

function problemWithModel(model: unknown): string | undefined {
  if (typeof model === 'string')
    return `Its model is the text ${sayValue(model)}, but a model is an object: ${importFor(model.slice(0, longestQuote))}. For a first try without a provider: import { scriptedModel } from 'statewright/testing'.`
  const { id, stream, specificationVersion, doStream, provider, modelId } = Object(model)
  if (typeof id === 'string' && typeof stream === 'function') return undefined
  if (typeof model === 'function' && typeof doStream !== 'function')
    return 'Its model is a provider, not yet a model: call it with the name of one, such as anthropic("…").'
  if (specificationVersion === undefined || typeof doStream !== 'function')
    return "Its model has no id and stream, and no doStream either. Pass the model object of an AI SDK provider package, or for a first try: import { scriptedModel } from 'statewright/testing'."
  if (!spoken.has(specificationVersion))
    return `The model implements version ${sayValue(specificationVersion)} of the AI SDK model interface. Supported: v3, v4. Install a release of its provider package that fits.`
  if (typeof provider !== 'string' || typeof modelId !== 'string')
    return 'Its model does not say its provider and modelId.'
  return undefined
}

const spoken: ReadonlySet<unknown> = new Set(['v3', 'v4'])

function importFor(name: string): string {
  const [maker, ...rest] = name.split('/')
  const model = JSON.stringify(rest.length > 0 ? rest.join('/') : name)
  const known = makers.find(({ names }) => names.test(rest.length > 0 ? `${maker}/` : name))
  return known === undefined
    ? `import { createOpenAICompatible } from '@ai-sdk/openai-compatible' (or the package of your provider) and pass createOpenAICompatible({ name: "…", baseURL: "…" })(${model})`
    : `import { ${known.exported} } from '@ai-sdk/${known.exported}' and pass ${known.exported}(${model})`
}

const makers = [
  { names: /^(anthropic\/|claude)/i, exported: 'anthropic' },
  { names: /^(openai\/|gpt|chatgpt|o\d)/i, exported: 'openai' },
  { names: /^(google\/|gemini)/i, exported: 'google' },
  { names: /^(mistral\/|mistral|codestral)/i, exported: 'mistral' },
] as const
