import { faults } from '../faults/catalogue.ts'
import type { Log } from '../runtime/ports.ts'

/** What is written: every step, what failed with its stack, or only what someone should see to. */
export const logLevels = ['debug', 'info', 'warn'] as const

export type LogLevel = (typeof logLevels)[number]

/** What `STATEWRIGHT_LOG` says; else what is usual for this process. */
export function logLevel(usual: LogLevel): LogLevel {
  const { STATEWRIGHT_LOG: given = '' } = process.env
  const level = given === '' ? usual : logLevels.find((name) => name === given)
  if (level !== undefined) return level
  throw faults.bad_usage({
    problem: `STATEWRIGHT_LOG is "${given}".`,
    usage: `set it to ${logLevels.join(', ')}, or leave it out`,
  })
}

/** Leaves out what is below the level. */
export function atLevel(level: LogLevel, { info, debug }: Log): Log {
  const nothing = () => {}
  return { info: level === 'warn' ? nothing : info, debug: level === 'debug' ? debug : nothing }
}
