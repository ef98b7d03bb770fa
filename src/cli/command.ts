import { faults } from '../faults/catalogue.ts'
import type { Io } from './host.ts'

/** A command is a value. It prints through `io` and returns its exit code; it never exits by itself. */
export interface Command<O extends Options = Options> {
  readonly name: string
  readonly usage: string
  readonly summary: string
  readonly options: O
  run(args: Arguments<O>, io: Io): Promise<number>
}

/** The options of a command, by name. */
export type Options = Readonly<Record<string, Option>>

/** One option of a command. */
export interface Option {
  readonly type: 'boolean' | 'string'
  readonly short?: string
  readonly summary: string
}

/** The arguments of a command. The type of each value follows from the declaration of its option. */
export interface Arguments<O extends Options = Options> {
  readonly positionals: readonly string[]
  readonly values: Values<O>
}

interface TypeOf {
  readonly boolean: boolean
  readonly string: string
}

/** The values of options, by name. */
export type Values<O extends Options> = { readonly [N in keyof O]?: TypeOf[O[N]['type']] | undefined }

/** Declares a command, so that its arguments are typed by its options. */
export function command<const O extends Options>(declared: Command<O>): Command<O> {
  return declared
}

type Work<O extends Options> = (command: Command<O>, args: Arguments<O>, io: Io) => Promise<number>

/** The `run` of a command whose work is loaded when it is first called: help and other commands do not load it. */
export function lazily<O extends Options>(load: () => Promise<Work<O>>) {
  return async function (this: Command<O>, args: Arguments<O>, io: Io): Promise<number> {
    return (await load())(this, args, io)
  }
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
