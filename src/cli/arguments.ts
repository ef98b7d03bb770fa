import { faults } from '../faults/catalogue.ts'
import type { Fault } from '../faults/fault.ts'
import type { Json } from '../kernel/json.ts'
import { budget } from '../runes/kinds/agent.ts'
import type { Arguments, Command, Options } from './command.ts'

/** `--json`, for commands whose result programs read. */
export const jsonOption = {
  json: { type: 'boolean', summary: 'for programs: JSON, one object per line where there are several' },
} as const satisfies Options

/** `-m`, for commands whose reason is recorded. */
export const reasonOption = {
  message: { type: 'string', short: 'm', summary: 'why; it is recorded' },
} as const satisfies Options

/** How a command reaches the operations: through a server, or on the store itself. */
export const whereOptions = {
  server: {
    type: 'string',
    summary: 'the URL of a server; its token is in $STATEWRIGHT_TOKEN, or in the token file',
  },
  store: {
    type: 'string',
    summary: 'sqlite:FILE or postgres://…; else $STATEWRIGHT_STORE, else what the config says',
  },
  config: { type: 'string', summary: 'agents, tools and store; else ./statewright.config.ts' },
} as const satisfies Options

/** The store of a command that opens it directly. */
export const storeOption = {
  store: {
    type: 'string',
    summary: 'sqlite:FILE or postgres://…; else $STATEWRIGHT_STORE, else what ./statewright.config.ts says',
  },
} as const satisfies Options

/** The store or the server of a command that can use either. */
export const hereOrThereOptions = { ...storeOption, server: whereOptions.server } as const satisfies Options

type Usage = Pick<Command, 'usage'>

/** A refusal of the arguments, with the usage of the command. */
export function badUsage({ usage }: Usage, problem: string): Fault {
  return faults.bad_usage({ problem, usage })
}

/** The positional arguments, if there are as many as the command takes. */
export function take(
  command: Usage,
  { positionals }: Pick<Arguments, 'positionals'>,
  least: number,
  most = least,
): readonly string[] {
  if (positionals.length >= least && positionals.length <= most) return positionals
  const wanted = least === most ? `${most || 'no'}` : `${least} to ${most}`
  throw badUsage(command, `It takes ${wanted} ${most === 1 ? 'argument' : 'arguments'}, not ${positionals.length}.`)
}

/** Arguments that may have these options. */
interface Having<N extends string, T> {
  readonly values: { readonly [K in N]?: T | undefined }
}

/** The one of these options that was given. Refuses several. */
export function onlyOne<const N extends string>(
  command: Usage,
  { values }: Having<N, string | boolean>,
  names: readonly N[],
): N | undefined {
  const chosen = names.filter((name) => values[name] !== undefined && values[name] !== false)
  if (chosen.length > 1) throw badUsage(command, `Choose one of ${chosen.map((name) => `--${name}`).join(', ')}.`)
  return chosen[0]
}

type Bounds = readonly [least: number, most: number]

const largest = Number.MAX_SAFE_INTEGER

/** The whole number that an option holds; undefined if it was not given. */
export function countOf<const N extends string>(
  command: Usage,
  { values }: Having<N, string>,
  name: N,
  bounds?: Bounds,
): number | undefined {
  const given = values[name]
  return given === undefined ? undefined : wholeNumber(command, `--${name}`, given, bounds)
}

/** Reads a whole number. Only decimal digits are accepted: no other notation may stand for an event or a port. */
export function wholeNumber(command: Usage, what: string, given: string, bounds: Bounds = [0, largest]): number {
  const [least, most] = bounds
  const number = Number(given)
  if (/^[0-9]+$/.test(given) && number >= least && number <= most) return number
  const range = most < largest ? ` from ${least} to ${most}` : least > 0 ? ` from ${least}` : ''
  throw badUsage(command, `${what} takes a whole number${range} in decimal digits, not ${JSON.stringify(given)}.`)
}

/** Reads JSON that was given as an option. */
export function jsonOf(command: Usage, text: string, what: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    throw badUsage(command, `${what} takes JSON, not ${text}.`)
  }
}

/** How a budget is typed. */
export const budgetWords = `LIMIT=NUMBER, several separated by commas: ${Object.keys(budget.shape).join(', ')}`

/** The budget that an option holds, such as `--budget tokens=50000,cost_usd=0.5`; undefined if it was not given. */
export function budgetOf<const N extends string>(command: Usage, { values }: Having<N, string>, name: N) {
  const given = values[name]
  if (given === undefined) return undefined
  const refused = () => badUsage(command, `--${name} takes ${budgetWords}; not ${JSON.stringify(given)}.`)
  const pairs = given.split(',').map((part) => {
    const [, limit = '', number = ''] = /^\s*([a-z_]+)\s*=\s*([0-9]+(?:\.[0-9]+)?)\s*$/.exec(part) ?? []
    if (limit === '') throw refused()
    return [limit, Number(number)] as const
  })
  const read = budget.safeParse(Object.fromEntries(pairs))
  if (!read.success || new Set(pairs.map(([limit]) => limit)).size < pairs.length) throw refused()
  return read.data
}
