import { faults } from '../faults/catalogue.ts'
import type { Fault } from '../faults/fault.ts'
import type { Json } from '../kernel/json.ts'
import type { Arguments, Command } from './command.ts'

export function badUsage(command: Command, problem: string): Fault {
  return faults.bad_usage({ problem, usage: command.usage })
}

/** A whole number that was given as an option. */
export function countOf(
  command: Command,
  { values }: Arguments,
  name: string,
  [least, most] = [0, Number.MAX_SAFE_INTEGER],
): number | undefined {
  const given = values[name] as string | undefined
  if (given === undefined) return undefined
  const count = Number(given)
  if (/^\d+$/.test(given) && count >= least && count <= most) return count
  const bounds = most < Number.MAX_SAFE_INTEGER ? ` from ${least} to ${most}` : ''
  throw badUsage(command, `--${name} takes a whole number${bounds}, not "${given}".`)
}

export function jsonOf(command: Command, text: string, what: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    throw badUsage(command, `${what} takes JSON, not ${text}.`)
  }
}
