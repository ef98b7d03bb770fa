import { parseArgs } from 'node:util'
import { faults } from '../faults/catalogue.ts'
import { Fault } from '../faults/fault.ts'
import type { Arguments, Command } from './command.ts'
import { exitFor, exits } from './exits.ts'
import { helpFor, overview } from './help.ts'
import type { Io } from './host.ts'
import { guarded, safeJson } from './render/safe.ts'

export interface Cli {
  readonly commands: readonly Command[]
  readonly version: string
}

/** Finds the command, reads its arguments, and turns a refusal into a sentence and an exit code. */
export async function run(cli: Cli, args: readonly string[], given: Omit<Io, 'command'>): Promise<number> {
  const io: Io = {
    ...given,
    ...guarded(given),
    command: (words, changes) => run(cli, words, { ...given, ...changes }),
  }
  const [name, ...rest] = args
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    const command = cli.commands.find((c) => c.name === rest[0])
    ;(name === undefined ? io.err : io.out)(command === undefined ? overview(cli.commands) : helpFor(command))
    return name === undefined ? exits.usage : exits.ok
  }
  if (name === '--version' || name === '-v') {
    io.out(cli.version)
    return exits.ok
  }
  try {
    const command = find(cli.commands, name)
    if (rest.includes('--help') || rest.includes('-h')) {
      io.out(helpFor(command))
      return exits.ok
    }
    return await command.run(read(command, rest), io)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    io.err(args.includes('--json') ? safeJson(error) : error.message)
    return exits[exitFor(error)]
  }
}

function find(commands: readonly Command[], name: string): Command {
  const command = commands.find((c) => c.name === name)
  if (command !== undefined) return command
  throw faults.bad_usage({
    problem: `There is no command "${name}"; there is ${commands.map((c) => c.name).join(', ')}.`,
    usage: 'statewright <command> [options]',
  })
}

function read(command: Command, args: readonly string[]): Arguments {
  const options = Object.fromEntries(
    Object.entries(command.options).map(([name, { type, short }]) => [
      name,
      { type, ...(short === undefined ? {} : { short }) },
    ]),
  )
  try {
    const { positionals, values } = parseArgs({ args: [...args], options, allowPositionals: true, strict: true })
    return { positionals, values: values as Arguments['values'] }
  } catch (error) {
    if (!isParseError(error)) throw error
    throw faults.bad_usage({ problem: unknownOption(command, error.message) ?? error.message, usage: command.usage })
  }
}

/** An option that the command does not have, and those that it has. */
function unknownOption({ options }: Command, message: string): string | undefined {
  const [, option] = /^Unknown option '([^']+)'/.exec(message) ?? []
  const known = Object.keys(options).map((name) => `--${name}`)
  return option === undefined ? undefined : `There is no option ${option}; there is ${[...known, '--help'].join(', ')}.`
}

function isParseError(error: unknown): error is Error {
  return error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS')
}
