import { budget } from '../runes/kinds/agent.ts'
import type { Arguments, Command } from './command.ts'
import { badUsage } from './usage.ts'

const limits = Object.keys(budget.shape) as readonly (keyof typeof budget.shape)[]

/** How a budget is typed. */
export const budgetWords = `LIMIT=NUMBER, several separated by commas: ${limits.join(', ')}`

/** A budget that was given as an option, such as `--budget tokens=50000,cost_usd=0.5`. */
export function budgetOf(command: Command, { values }: Arguments, name: string) {
  const given = values[name] as string | undefined
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
