import { parseArgs } from 'node:util'
import { faults } from '../faults/catalogue.ts'
import { Fault } from '../faults/fault.ts'
import type { Command } from './command.ts'
import { type Exit, exitFor, exitMeanings, exits } from './exits.ts'
import type { Io } from './host.ts'
import type { Arguments } from './options.ts'
import { guarded, safeJson } from './render/text.ts'

type Cli = { readonly commands: readonly Command[]; readonly version: string }

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
    problem: `Unknown command "${name}". Known commands: ${commands.map((c) => c.name).join(', ')}.`,
    usage: 'statewright <command> [options]',
  })
}

function read(command: Command, args: readonly string[]): Arguments {
  try {
    const { tokens, ...read } = parseArgs({
      args: [...args],
      options: command.options,
      allowPositionals: true,
      strict: true,
      tokens: true,
    })
    const names = tokens.flatMap((token) => (token.kind === 'option' && token.value !== undefined ? [token.name] : []))
    const twice = names.find((name, i) => names.indexOf(name) < i)
    if (twice === undefined) return read
    throw faults.bad_usage({ problem: `--${twice} is given more than once.`, usage: command.usage })
  } catch (error) {
    if (!isParseError(error)) throw error
    throw faults.bad_usage({ problem: optionProblem(command, error.message), usage: command.usage })
  }
}

function optionProblem({ options }: Command, message: string): string {
  const [, unknown] = /^Unknown option '([^']+)'/.exec(message) ?? []
  const known = Object.keys(options).map((name) => `--${name}`)
  if (unknown !== undefined) return `Unknown option ${unknown}. Known options: ${[...known, '--help'].join(', ')}.`
  const [, dashed] = /(--[^ ,']+)' argument is ambiguous/.exec(message) ?? []
  return dashed === undefined
    ? message
    : `${dashed} needs a value. One that begins with a dash is written ${dashed}=-1.`
}

function isParseError(error: unknown): error is Error {
  return error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS')
}

/** The help of the command line: every command and exit code. */
export function overview(commands: readonly Command[]): string {
  const width = Math.max(...commands.map((c) => c.name.length), '--version'.length)
  const line = (name: string, text: string) => `  ${name.padEnd(width)}  ${text}`
  return [
    'usage: statewright <command> [options]',
    '',
    ...commands.map((c) => line(c.name, c.summary)),
    '',
    line('--help', 'Show this help, or the help of a command.'),
    line('--version', 'Show the version.'),
    '',
    'Exit codes:',
    ...Object.entries(exitMeanings).map(
      ([name, meaning]) => `  ${String(exits[name as Exit]).padStart(3)}  ${meaning}`,
    ),
  ].join('\n')
}

/** The help of one command. */
export function helpFor(command: Command): string {
  const flags = Object.entries(command.options).map(([name, { short, summary }]) => ({
    flag: `${short === undefined ? '' : `-${short}, `}--${name}`,
    summary,
  }))
  const width = Math.max(0, ...flags.map((f) => f.flag.length))
  return [
    `usage: ${command.usage}`,
    '',
    command.summary,
    ...(flags.length > 0 ? ['', ...flags.map((f) => `  ${f.flag.padEnd(width)}  ${f.summary}`)] : []),
  ].join('\n')
}
