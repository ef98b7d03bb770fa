import { faults } from '../faults/catalogue.ts'
import type { Fault } from '../faults/fault.ts'
import type { Json } from '../kernel/json.ts'
import { budget } from '../runes/kinds.ts'
import type { Client } from '../surface/client.ts'
import type { Use } from '../surface/wiring.ts'
import { exits } from './exits.ts'
import type { Io } from './host.ts'
import { type Arguments, budgetWords, type clientOptions, type Options, type Values } from './options.ts'
import { next } from './print.ts'
import { type Found, type Named, resolveId, withClient } from './reach.ts'
import { inOrder, type Paint, paintFor, safeJson } from './render/text.ts'

/** A command is a value. It prints through `io` and returns its exit code; it never exits by itself. */
export interface Command {
  readonly name: string
  readonly usage: string
  readonly summary: string
  readonly options: Options
  run(args: Arguments, io: Io): Promise<number>
}

interface Declared<O extends Options> extends Pick<Command, 'usage' | 'summary'> {
  /** Its name, where that is not how its usage begins. */
  readonly name?: string
  /** How many words it takes in addition to its options, or the least and the most; none by default. */
  readonly takes?: number | Bounds
  readonly options: O
  /** Resolves with the exit code; with nothing if the command did what it is for. */
  run(call: Call<O>): Done
}

// biome-ignore lint/suspicious/noConfusingVoidType: most commands end without a code of their own
type Done = Promise<number | void>

type Bounds = readonly [least: number, most: number]
type TextOption<O extends Options> = { [N in keyof O & string]: O[N]['type'] extends 'string' ? N : never }[keyof O &
  string]

/** One call of a command: its arguments, and functions to read them, to reach operations and to print. */
export interface Call<O extends Options = Options> {
  readonly values: Values<O>
  /** The arguments without the options. */
  readonly words: readonly string[]
  readonly io: Io
  readonly paint: Paint
  /** A refusal of the arguments, with the usage of the command. */
  refuse(problem: string): Fault
  /** The one of these options that was given. Refuses several. */
  onlyOne<const N extends keyof O & string>(names: readonly N[]): N | undefined
  /** The whole number that an option holds; undefined if it was not given. */
  count(name: TextOption<O>, bounds?: Bounds): number | undefined
  /** Reads a whole number. Only decimal digits are accepted: no other notation may stand for an event or a port. */
  wholeNumber(what: string, given: string, bounds?: Bounds): number
  /** The JSON that an option holds; undefined if it was not given. */
  json(name: TextOption<O>): Json | undefined
  /** The budget that an option holds, such as `--budget tokens=50000,cost_usd=0.5`; undefined if it was not given. */
  budget(name: TextOption<O>): ReturnType<typeof budget.parse> | undefined
  /** Prints a result: as JSON for a program, as lines for a person. */
  print(result: unknown, lines: () => readonly string[]): void
  /** Suggests the next commands, with the places that this one was given. */
  next(...commands: readonly string[]): void
  /** Opens a client, and closes it however the work ends. */
  withClient<T>(use: Use, work: (client: Client) => Promise<T>): Promise<T>
  /** The same, with the one subject of the wanted kinds that the first word names. */
  on<T>(use: Use, wanted: readonly Named[], work: (client: Client, found: Found) => Promise<T>): Promise<T>
}

/** Makes a command from its declaration, so that its options type its call. */
export function command<const O extends Options>(declared: Declared<O>): Command {
  const { takes = 0 } = declared
  const [least, most] = typeof takes === 'number' ? [takes, takes] : takes
  const [, name = ''] = /^statewright ([a-z-]+(?: [a-z-]+)*)/.exec(declared.usage) ?? []
  return {
    name,
    ...declared,
    async run(args, io) {
      const call = createCall(declared.usage, args, io)
      const { length } = args.positionals
      if (length < least || length > most) {
        const wanted = least === most ? `${most || 'no'}` : `${least} to ${most}`
        throw call.refuse(`It takes ${wanted} ${most === 1 ? 'argument' : 'arguments'}, not ${length}.`)
      }
      return (await declared.run(call as Call<O>)) ?? exits.ok
    },
  }
}

const largest = Number.MAX_SAFE_INTEGER

function createCall(usage: string, { positionals: words, values: given }: Arguments, io: Io): Call {
  const values = given as Values<typeof clientOptions> & Readonly<Record<string, string | undefined>>
  const refuse = (problem: string) => faults.bad_usage({ problem, usage })
  const call: Call = {
    values: given,
    words,
    io,
    paint: paintFor(io.terminal.hasColor),
    refuse,
    onlyOne(names) {
      const chosen = names.filter((name) => given[name] !== undefined && given[name] !== false)
      if (chosen.length > 1) throw refuse(`Choose one of ${chosen.map((name) => `--${name}`).join(', ')}.`)
      return chosen[0]
    },
    count: (name, bounds) =>
      values[name] === undefined ? undefined : call.wholeNumber(`--${name}`, values[name], bounds),
    wholeNumber(what, typed, [from, to] = [0, largest]) {
      const number = Number(typed)
      if (/^[0-9]+$/.test(typed) && number >= from && number <= to) return number
      const range = to < largest ? ` from ${from} to ${to}` : from > 0 ? ` from ${from}` : ''
      throw refuse(`${what} takes a whole number${range} in decimal digits, not ${JSON.stringify(typed)}.`)
    },
    json(name) {
      try {
        return values[name] === undefined ? undefined : JSON.parse(values[name])
      } catch {
        throw refuse(`--${name} takes JSON, not ${values[name]}.`)
      }
    },
    budget: (name) => (values[name] === undefined ? undefined : readBudget(name, values[name], refuse)),
    print(result, lines) {
      if (values.json) io.out(safeJson(inOrder(result), 2))
      else for (const line of lines()) io.out(line)
    },
    next: (...commands) => next(io, { values }, ...commands),
    withClient: (use, work) => withClient({ io, values }, use, work),
    on: (use, wanted, work) =>
      call.withClient(use, async (client) => work(client, await resolveId(client, words[0] ?? '', ...wanted))),
  }
  return call
}

function readBudget(name: string, given: string, refuse: (problem: string) => Fault) {
  const pairs = given.split(',').map((part) => {
    const [, limit = '', number = ''] = /^\s*([a-z_]+)\s*=\s*([0-9]+(?:\.[0-9]+)?)\s*$/.exec(part) ?? []
    return [limit, Number(number)] as const
  })
  const read = budget.safeParse(Object.fromEntries(pairs))
  if (read.success && new Set(pairs.map(([limit]) => limit)).size === pairs.length) return read.data
  throw refuse(`--${name} takes ${budgetWords}; not ${JSON.stringify(given)}.`)
}

/** One command made of several: a verb in the first place chooses one, anything else means `main`. */
export function withVerbs(
  given: Pick<Command, 'name' | 'summary'>,
  main: Command,
  verbs: Readonly<Record<string, Command>>,
): Command {
  const all = [main, ...Object.values(verbs)]
  return {
    ...given,
    usage: all.map(({ usage }) => usage).join('\n       '),
    options: Object.assign({}, ...all.map(({ options }) => options)),

    async run({ positionals, values }, io) {
      const [word = '', ...rest] = positionals
      const verb = Object.hasOwn(verbs, word) ? verbs[word] : undefined
      const chosen = verb ?? main
      for (const name of Object.keys(values))
        if (!Object.hasOwn(chosen.options, name))
          throw faults.bad_usage({ problem: `${chosen.name} takes no --${name}.`, usage: chosen.usage })
      return chosen.run({ positionals: verb === undefined ? positionals : rest, values }, io)
    },
  }
}
