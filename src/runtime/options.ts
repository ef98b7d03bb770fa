import { budget } from '../runes/kinds.ts'
import { closedObject, plainObject } from './shape-problems.ts'
import { type Policy, permissionPolicy } from './tools/policy.ts'

/*
 * Options are camelCase; records, digests and HTTP are snake_case. This file maps the one to the other
 * where an option is recorded, digested or sent. Every other option keeps its name inside the runtime.
 */

type Camel<S> = S extends `${infer A}_${infer B}` ? `${A}${Capitalize<Camel<B>>}` : S
type Snake<S> = S extends `${infer A}${infer B}` ? `${A extends Lowercase<A> ? A : `_${Lowercase<A>}`}${Snake<B>}` : S

const nested = ['budget', 'session_budget', 'task_budget', 'sessionBudget', 'taskBudget'] as const
type Nested = (typeof nested)[number]

/** A record, as a developer writes it. */
export type OptionsOf<T> = { [K in keyof T as Camel<K>]: K extends Nested ? OptionsOf<T[K]> : T[K] }

/** Options, as they are recorded. */
export type RecordOf<T> = { [K in keyof T as Snake<K>]: K extends Nested ? RecordOf<T[K]> : T[K] }

type Given<T> = { [K in keyof T]: Exclude<T[K], undefined> }

/** Options from a record. */
export function asOptions<T extends object>(record: T): OptionsOf<Given<T>> {
  return renamed(record, (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase())) as OptionsOf<
    Given<T>
  >
}

/** A record from options. */
export function asRecord<T extends object>(options: T): RecordOf<Given<T>> {
  return renamed(options, (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)) as RecordOf<
    Given<T>
  >
}

/** The same object without the fields that are undefined. */
export function withoutUndefined<T extends object>(given: T): Given<T> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Given<T>
}

function renamed(given: object, rename: (name: string) => string): object {
  const rewritten = ([name, value]: [string, unknown]) =>
    nested.some((known) => known === name) && typeof value === 'object' && value !== null
      ? renamed(value, rename)
      : value
  return Object.fromEntries(
    Object.entries(withoutUndefined(given)).map((field) => [rename(field[0]), rewritten(field)]),
  )
}

/** The limits of an agent, a run or a session. A limit that is left out does not exist; 0 allows nothing. */
export interface BudgetOptions {
  /** Input and output tokens of the model together. */
  readonly tokens?: number | undefined
  /** Calls of tools. */
  readonly toolCalls?: number | undefined
  /** Milliseconds of work of models and tools. Time in the queue or spent waiting for a person does not count. */
  readonly wallTimeMs?: number | undefined
  /** US dollars by the `price` of the agent. */
  readonly costUsd?: number | undefined
}

const { tokens, tool_calls, wall_time_ms, cost_usd } = budget.shape

/** The shape of `BudgetOptions`. */
export const budgetOptions = plainObject({
  tokens,
  toolCalls: tool_calls,
  wallTimeMs: wall_time_ms,
  costUsd: cost_usd,
})

/** The actions that agents may take without asking. */
export interface PolicyOptions {
  /** `read_only` denies changes, `auto` asks before them, `full_access` runs everything. Default: `auto`. */
  readonly mode?: Policy['mode']
  /** By tool name: ask each time, or never. Counts for tools that inherit, and wins over the mode. */
  readonly perToolOverrides?: Policy['per_tool_overrides']
  /** Names of tools that are approved beforehand, also for runs that no person watches. */
  readonly preApproved?: readonly string[]
}

const { mode, per_tool_overrides, pre_approved } = permissionPolicy.shape

/** Reads `PolicyOptions` as the policy that approvals are bound to. */
export const policyOptions = closedObject({
  mode,
  perToolOverrides: per_tool_overrides,
  preApproved: pre_approved,
}).transform((options): Policy => asRecord(options))
