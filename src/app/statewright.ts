import { aiSdkModel } from '../adapters/ai-sdk/ai-sdk-model.ts'
import { watchCrashes } from '../adapters/host/crashes.ts'
import { hostPorts } from '../adapters/host/ports.ts'
import { type McpServers, openServers } from '../adapters/mcp/open-servers.ts'
import { type McpServerOptions, pickTools } from '../adapters/mcp/server-config.ts'
import { faults } from '../faults/catalogue.ts'
import type { Sha256 } from '../kernel/digest.ts'
import { shownStore } from '../kernel/printable.ts'
import { type Agent, type AgentDefinition, checkedAgent, equip } from '../runtime/define-agent.ts'
import { delegateTool } from '../runtime/delegation.ts'
import { type Assignment, createAssignment } from '../runtime/dispatch/dispatch.ts'
import type { Asked } from '../runtime/dispatch/dispatcher.ts'
import type { Engine, Settings } from '../runtime/engine.ts'
import type { Model } from '../runtime/model.ts'
import type { PolicyOptions } from '../runtime/options.ts'
import type { Log } from '../runtime/ports.ts'
import type { Policy } from '../runtime/tools/policy.ts'
import type { Limits } from '../server/limits.ts'
import type { StoreKey } from '../surface/backend.ts'
import { type Client, localClient } from '../surface/client.ts'
import type { Scope } from '../surface/operation.ts'
import type { AgentCard } from '../wire/run.ts'
import { backendOf } from './backend.ts'
import { checkConfig } from './config.ts'
import { connect, type PortOptions } from './connect.ts'
import { withDefaults } from './defaults.ts'
import { createGroups, type Statewright } from './library.ts'
import { checkingArguments } from './library-arguments.ts'
import { checkSigningKey, type PlanOptions } from './open-plans.ts'
import { closeStore, type OpenStore, openStore, type Store } from './open-store.ts'
import { packageVersion } from './package-version.ts'
import { atLevel, cleaning, knownSecrets, logLevel, silent, type Warn, warnOnStderr } from './warnings.ts'

export type { Statewright } from './library.ts'

/** The options of a Statewright. `store` and `agents` are required. */
export interface StatewrightOptions {
  /** `sqlite:./file.db`, `postgres://…`, `memory:`, or a store that is open already. */
  readonly store: string | OpenStore
  /** The agents by name, each made with `agent({ … })`. At least one, unless `maxConcurrentRuns` is 0. */
  readonly agents: Readonly<Record<string, Agent>>
  /** The policy of tool calls. Default: tools that only read run, all others ask. */
  readonly policy?: PolicyOptions
  /** MCP servers by name. An agent gets their tools with `agent({ mcp: ['name'] })`. */
  readonly mcp?: Readonly<Record<string, McpServerOptions>>
  /** The registry, policy and signing key of plans. Goals need a registry too. */
  readonly plans?: PlanOptions
  /** Values that are removed from everything before it is recorded, shown or sent to a model, by name. */
  readonly secrets?: Readonly<Record<string, string>>
  /** How the worker of this process behaves: lease, timeouts and limits. */
  readonly settings?: Partial<Settings>
  /**
   * How many runs this process works on at once. 0: it is no worker, and only gives commands. Default: 64.
   */
  readonly maxConcurrentRuns?: number
  /** Called with each problem that fails no request. Default: one line on stderr. */
  readonly warn?: (message: string, details: object) => void
  /**
   * Called with what tools, probes and models threw (`info`) and with each step (`debug`). Default: stderr, as
   * `STATEWRIGHT_LOG` says.
   */
  readonly log?: Partial<Log>
  /** How `statewright serve` serves it. */
  readonly server?: ServerConfig
  /** Clock, timers, ids and randomness, for tests that move time by hand. */
  readonly ports?: PortOptions
}

/** Where the server listens, what it is called, and who may ask it for what. */
export interface ServerConfig {
  /** The address to listen on. Any other machine needs TLS to reach it. Default: `127.0.0.1`. */
  readonly host?: string
  /** The port to listen on. Default: 4400, or any free port if that one is taken. */
  readonly port?: number
  /** Names in the `Host` header that the server accepts, besides those of this machine. */
  readonly hosts?: readonly string[]
  /** Origins of other pages that may send requests, such as `https://ops.example.com`. */
  readonly origins?: readonly string[]
  /** More tokens, each with a name that is recorded and a scope. The owner's token is made at the first start. */
  readonly tokens?: readonly { readonly name: string; readonly token: string; readonly scope: Scope }[]
  /** Limits of requests, streams and answers. */
  readonly limits?: Partial<Limits>
}

/** Types and returns the options that `statewright.config.ts` exports. The command line and the server read it. */
export function defineConfig(options: StatewrightOptions): StatewrightOptions {
  return options
}

/**
 * Opens the store, recovers what the last process left behind, and begins to work. Throws `bad_definition` before
 * anything is opened if an option does not fit, `store_locked` if another process holds the store, and `store_unusable`
 * or `store_unreachable` if it cannot be opened.
 */
export async function createStatewright(options: StatewrightOptions): Promise<Statewright> {
  return (await openStatewright(options)).sw
}

/** A Statewright that recovers and works on what it is asked for, and nothing else of the store. */
export function openForCommand(options: StatewrightOptions): Promise<Opened> {
  return openStatewright(options, createAssignment())
}

type Opened = { readonly sw: Statewright; readonly workOn: (asked: Asked) => Promise<void> }

async function openStatewright(options: StatewrightOptions, assignment?: Assignment): Promise<Opened> {
  // Check the config before anything is opened, so that a refused one leaves nothing behind.
  const { policy, servers, store } = checkConfig(options)
  if (options.plans !== undefined) await checkSigningKey(options.plans)
  const secrets = knownSecrets(options)
  const { clean, cleanWarn } = cleaning(secrets, typeof store === 'string' ? undefined : store.redactor)
  const warn = cleanWarn(withDefaults(options).warn)
  const { info = silent, debug = silent } =
    options.log ?? atLevel(logLevel('warn'), { info: warnOnStderr, debug: warnOnStderr })
  const log: Log = { info: cleanWarn(info), debug: cleanWarn(debug) }
  const mcp = await openServers(servers, { warn, clean, version: packageVersion() })
  try {
    return await openWith(mcp, policy, { ...options, store, secrets, warn, log, assignment })
  } catch (error) {
    await mcp.close()
    throw error
  }
}

/** Agents, store, runtime with plans and goals, start: in this order, so that a mistake leaves no file and no lock. */
async function openWith(
  mcp: McpServers,
  policy: Policy,
  options: Omit<StatewrightOptions, 'store'> &
    Required<Pick<StatewrightOptions, 'warn' | 'secrets'>> & {
      readonly store: string | Store
      readonly log: Log
      readonly assignment: Assignment | undefined
    },
): Promise<Opened> {
  const { ports, settings, plans: judging, secrets, assignment, warn, log } = options
  const storePorts = ports?.store ?? hostPorts
  // Tools that delegate act through the runtime, which is made after them.
  const made: { engine?: Engine } = {}
  const engine = () => made.engine as Engine
  const agents = equipAll(options.agents, mcp, { sha256: storePorts.sha256, engine, warn })
  const strange = strangeNames(policy, agents)
  if (strange.length > 0) warn('the policy names tools that no agent here has', { tools: strange })

  const { leaseMs, maxConcurrentRuns } = withDefaults(options)
  const isOurs = typeof options.store === 'string'
  const store =
    typeof options.store === 'string'
      ? await openStore(options.store, { ports: storePorts, secrets, leaseMs, warn })
      : options.store

  const { runtime, plans, goals, ...connected } = connect(store, {
    agents,
    policy,
    maxConcurrentRuns,
    assignment,
    warn,
    log,
    ...(settings && { settings }),
    ...(judging && { plans: judging }),
    ...(ports && { ports }),
  })
  made.engine = runtime.engine
  const unwatch = watchCrashes()
  try {
    await runtime.start()
    if (assignment === undefined) {
      await connected.planning.resumeAll()
      await connected.beginGoals()
    }
  } catch (error) {
    unwatch()
    connected.member?.abandon()
    if (isOurs) await closeStore(store)
    throw error
  }

  const stop = async () => {
    await connected.stop()
    unwatch()
    await mcp.close()
    if (!isOurs) return
    // A tool that ignores its signal may still act, so the next process must not take this one for dead.
    const at_work = runtime.engine.atWork.here()
    const stays = store.isExclusive
      ? 'the store stays locked until this process ends'
      : 'its outcome stays open until it returns or this process ends'
    if (at_work.length > 0) warn(`an irreversible action is still under way; ${stays}`, { at_work })
    if (store.isExclusive && at_work.length > 0) return
    isClosed = true
    await closeStore(store)
  }
  let isClosed = false
  const refuseClosed = () => {
    if (isClosed) throw faults.store_closed({ store: shownStore(String(options.store)) })
  }
  let stopped: Promise<void> | undefined
  let client: Client | undefined
  const look = () => (client ??= localClient(backendOf(sw, keyless, runtime.engine.clock.now), async () => {}))
  const sw: Statewright = checkingArguments(
    {
      ...createGroups(runtime, { look, agents: () => [...agents].map(cardOf) }),
      runelog: store.runelog,
      plans,
      goals,
      isExclusive: store.isExclusive,
      output: store.blobs.fetch,
      idle: connected.idle,
      close: () => (stopped ??= stop()),
    },
    warn,
    refuseClosed,
  )
  return { sw, workOn: runtime.workOn }
}

/** Observation signs nothing, so it needs no key of the store. */
const keyless: StoreKey = {
  signer: () => {
    throw new Error('An observation has asked for the key of the store.')
  },
  publicKey: () => undefined,
}

function cardOf([name, definition]: readonly [string, AgentDefinition]): AgentCard {
  const { role, model, registry, delegates, budget, mayAsk } = definition
  return { name, role, model: model.id, tools: [...registry.names], delegates, budget, may_ask: mayAsk }
}

/** Every agent with its model and its tools by name, and with a tool for each agent that it may hand tasks to. */
function equipAll(
  agents: Readonly<Record<string, Agent>>,
  { tools }: McpServers,
  { sha256, engine, warn }: { readonly sha256: Sha256; readonly engine: () => Engine; readonly warn: Warn },
) {
  return new Map(
    Object.entries(agents).map(([name, given]) => {
      const path = `agents.${name}.`
      const refused = (problem: string) => faults.bad_definition({ what: 'agent', name, problem })
      const agent = checkedAgent(given, name, path)
      for (const other of agent.delegates)
        if (!Object.hasOwn(agents, other))
          throw refused(
            `It delegates to ${other}, which is not configured. Configured agents: ${Object.keys(agents).join(', ')}.`,
          )
      const report = { warn: (message: string) => warn('a model warns', { agent: name, message }) }
      const model: Model = 'doStream' in agent.model ? aiSdkModel(agent.model, report) : agent.model
      const problem = model.problem?.()
      if (problem !== undefined) throw refused(`${path}model: ${problem}`)
      const delegating = agent.delegates.map((other) => delegateTool(other, engine))
      const more = [...delegating, ...pickTools(name, agent.mcp, tools)]
      return [name, equip(agent, model, sha256, more)] as const
    }),
  )
}

/** Tools of the policy that no agent here has: agents of other processes may have them, or they are misspelled. */
function strangeNames({ per_tool_overrides, pre_approved }: Policy, agents: ReadonlyMap<string, AgentDefinition>) {
  const known = new Set([...agents.values()].flatMap(({ registry }) => registry.names))
  if (known.size === 0) return []
  return [...Object.keys(per_tool_overrides), ...pre_approved].filter((name) => !known.has(name))
}
