import * as z from 'zod'
import { type McpServer, mcpServers } from '../adapters/mcp/server-config.ts'
import { faults } from '../faults/catalogue.ts'
import type { Problem } from '../kernel/json.ts'
import { shortest_secret } from '../runelog/secret-finder.ts'
import { policyOptions } from '../runtime/options.ts'
import { closedObject, fieldProblems, isPlain, notPlain, problemSentence } from '../runtime/shape-problems.ts'
import type { Policy } from '../runtime/tools/policy.ts'
import { usualLimits } from '../server/limits.ts'
import { scopes } from '../surface/operation.ts'
import { shortestLeaseMs } from './defaults.ts'
import type { Store } from './open-store.ts'

const duration = z.int().positive()
const isFunction = (value: unknown) => typeof value === 'function'

const logFunction = z.custom<unknown>(isFunction, 'Expected a function.')

const having = (...names: readonly string[]) =>
  z.custom<unknown>(
    (given) => names.every((name) => isFunction(Object(given)[name])),
    `Expected an object with the functions ${names.join(', ')}.`,
  )

const store = z.custom<string | Store>(
  (given) => (typeof given === 'string' ? given !== '' : isFunction(Object(Object(given).runelog).append)),
  'Expected "sqlite:./file.db", "postgres://…", "memory:", or a store that is open already.',
)

/** The fields of an agent are checked by `checkedAgent`, with the path of each. */
const agents = z.record(
  z.string(),
  z.custom<object>(
    (given) => given === undefined || given === Object(given),
    'Expected an agent; make one with agent({ role, model, … }).',
  ),
)

const tokenShape = closedObject({
  name: z.string().regex(/^[\w.@-]{1,100}$/, 'Expected 1 to 100 letters, digits and _ . @ - only.'),
  token: z.string().regex(/^[\w.~+/=-]{16,500}$/, 'Expected 16 to 500 letters, digits and . ~ + / = - _ only.'),
  scope: z.enum(scopes),
})

const serverShape = closedObject({
  host: z.string().min(1).optional(),
  port: z.int().min(0).max(65_535).optional(),
  hosts: z.array(z.string().min(1)).optional(),
  origins: z.array(z.url()).optional(),
  tokens: z.array(tokenShape).optional(),
  limits: closedObject(
    Object.fromEntries(Object.keys(usualLimits).map((name) => [name, z.int().positive().optional()])),
  ).optional(),
})

const tooShort = `Expected at least ${shortest_secret} characters: a shorter secret occurs by chance in ids and numbers.`

/** Every part of a config that is data. Agents and tools are checked where they are defined. */
const configShape = closedObject({
  store,
  agents: agents.refine((given) => Object.keys(given).length > 0, 'Expected at least one agent.'),
  policy: policyOptions.prefault({}),
  mcp: mcpServers.default({}),
  plans: closedObject({ registry: z.string().min(1), policy: z.json(), signingKey: z.string().min(1) })
    .partial()
    .optional(),
  secrets: z.record(z.string(), z.string().min(shortest_secret, tooShort)).optional(),
  settings: closedObject({
    worker: z.string().min(1),
    leaseMs: z.int().min(shortestLeaseMs),
    replyTimeoutMs: duration,
    cancelGraceMs: z.int().nonnegative(),
    lateWorkerMs: duration.nullable(),
    requeueLimit: z.int().nonnegative(),
    errorThreshold: z.int().positive(),
    maxDelegationDepth: z.int().nonnegative().max(64),
    maxOpenDelegations: z.int().nonnegative(),
    maxDelegations: z.int().nonnegative(),
  })
    .partial()
    .optional(),
  maxConcurrentRuns: z.int().nonnegative().optional(),
  warn: logFunction.optional(),
  log: closedObject({ info: logFunction, debug: logFunction }).partial().optional(),
  server: serverShape.optional(),
  ports: closedObject({
    clock: having('now', 'monotonic'),
    timers: having('after'),
    ids: having('next'),
    random: logFunction,
    store: having('sha256', 'random', 'now', 'signer'),
  })
    .partial()
    .optional(),
})

/** A process that only gives commands needs no agents: other processes work. */
const commandingShape = configShape.extend({ agents })

const shapeFor = (config: unknown) => (Object(config).maxConcurrentRuns === 0 ? commandingShape : configShape)

/** Everything that is wrong with a config, each with the path of the field and what was expected there. */
export function configProblems(config: unknown): readonly Problem[] {
  const read = readConfig(config)
  return 'problems' in read ? read.problems : []
}

function readConfig(config: unknown) {
  const read = shapeFor(config).safeParse(config)
  if (!read.success) return { problems: fieldProblems(read.error) }
  const { store: _store, ...parts } = config as Readonly<Record<string, unknown>>
  const problems = Object.entries(parts).flatMap(([field, part]) =>
    isPlain(part) ? [] : [{ pointer: `/${field}`, problem: notPlain }],
  )
  return problems.length > 0 ? { problems } : { data: read.data }
}

/** Refuses a config with a mistake in it before anything is opened or started. */
export function checkConfig(config: unknown): {
  readonly policy: Policy
  readonly servers: Readonly<Record<string, McpServer>>
  readonly store: string | Store
} {
  const read = readConfig(config)
  if ('data' in read) return { policy: read.data.policy, servers: read.data.mcp, store: read.data.store }
  const problem = `${problemSentence(read.problems)}.`
  throw faults.bad_definition({ what: 'config', name: 'statewright', problem })
}
