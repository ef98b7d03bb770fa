import { faults } from '../faults/catalogue.ts'
import type { Fault } from '../faults/fault.ts'
import type { Json } from '../kernel/json.ts'
import type { Arguments, Command } from './command.ts'

export function badUsage(command: Command, problem: string): Fault {
  return faults.bad_usage({ problem, usage: command.usage })
}

/** The one of these options that was given; refused if there are several. */
export function onlyOne<const N extends string>(
  command: Command,
  { values }: Arguments,
  names: readonly N[],
): N | undefined {
  const chosen = names.filter((name) => values[name] !== undefined && values[name] !== false)
  if (chosen.length > 1) throw badUsage(command, `Choose one of ${chosen.map((name) => `--${name}`).join(', ')}.`)
  return chosen[0]
}

type Bounds = readonly [least: number, most: number]

/** A whole number that was given as an option. */
export function countOf(command: Command, { values }: Arguments, name: string, bounds?: Bounds): number | undefined {
  const given = values[name] as string | undefined
  return given === undefined ? undefined : wholeNumber(command, `--${name}`, given, bounds)
}

/** Plain decimal digits only: no other notation of a number may stand for an event or a port. */
export function wholeNumber(command: Command, what: string, given: string, bounds: Bounds = [0, largest]): number {
  const [least, most] = bounds
  const number = Number(given)
  if (/^[0-9]+$/.test(given) && number >= least && number <= most) return number
  const range = most < largest ? ` from ${least} to ${most}` : least > 0 ? ` from ${least}` : ''
  throw badUsage(command, `${what} takes a whole number${range} in decimal digits, not ${JSON.stringify(given)}.`)
}

const largest = Number.MAX_SAFE_INTEGER

export function jsonOf(command: Command, text: string, what: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    throw badUsage(command, `${what} takes JSON, not ${text}.`)
  }
}
