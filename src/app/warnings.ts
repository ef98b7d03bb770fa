import { hostPorts } from '../adapters/host/ports.ts'
import { faults } from '../faults/catalogue.ts'
import type { Fault } from '../faults/fault.ts'
import { printable, printableJson } from '../kernel/printable.ts'
import type { Log } from '../runtime/ports.ts'

/** Reports a problem to the operator. */
export type Warn = (message: string, details: object) => void

/** The levels of `STATEWRIGHT_LOG`: every step; failures with their stack; warnings only. */
const logLevels = ['debug', 'info', 'warn'] as const

/** One of the levels. */
export type LogLevel = (typeof logLevels)[number]

/** The level that `STATEWRIGHT_LOG` names, or `usual` if it is not set. */
export function logLevel(usual: LogLevel): LogLevel {
  const { STATEWRIGHT_LOG: given = '' } = process.env
  const level = given === '' ? usual : logLevels.find((name) => name === given)
  if (level !== undefined) return level
  throw faults.bad_usage({
    problem: `STATEWRIGHT_LOG is "${given}".`,
    usage: `set it to ${logLevels.join(', ')}, or leave it out`,
  })
}

/** A log that drops everything below the level. */
export function atLevel(level: LogLevel, { info, debug }: Log): Log {
  const nothing = () => {}
  return { info: level === 'warn' ? nothing : info, debug: level === 'debug' ? debug : nothing }
}

/** Writes a warning to stderr, as one line. */
export function warnOnStderr(message: string, details: object): void {
  process.stderr.write(`${printable(message)}: ${printableJson(details)}\n`)
}

const per_span = 5
const span_ms = 60_000

/**
 * Passes on at most five warnings with the same message per minute: an outage would repeat one thousands of times. The
 * next one that passes says how many were left out. Returns what `warn` returns, which may be a promise that rejects.
 */
export function limitedWarn(warn: Warn, now: () => number): Warn {
  const kinds = new Map<string, { since: number; passed: number; left_out: number }>()
  return (message, details) => {
    const known = kinds.get(message)
    const isNew = known === undefined || now() - known.since >= span_ms
    const kind = isNew ? { since: now(), passed: 0, left_out: known?.left_out ?? 0 } : known
    kinds.set(message, kind)
    if (kind.passed >= per_span) {
      kind.left_out += 1
      return
    }
    kind.passed += 1
    const { left_out } = kind
    kind.left_out = 0
    return warn(message, left_out === 0 ? details : { ...details, left_out })
  }
}

type Printing = { readonly warn: (text: string) => void }

const printed =
  (io: Printing): Warn =>
  (message, details) =>
    io.warn(`${message}: ${printableJson(details)}`)

/** Warnings of a worker: limited, and none once its store is broken, which the worker reports itself. */
export function workingWarn(given: Warn | undefined, io: Printing, broken: Promise<Fault>): Warn {
  let isBroken = false
  void broken.then(() => {
    isBroken = true
  })
  const warn = limitedWarn(given ?? printed(io), hostPorts.now)
  return (message, details) => (isBroken ? undefined : warn(message, details))
}

/** The log of a worker: the config's own, else failures (limited) and each step as far as the level allows. */
export function workingLog(
  { log }: { readonly log?: Partial<Log> },
  io: Printing,
  broken: Promise<Fault>,
  usual: LogLevel,
): Log {
  if (log !== undefined) return { info: () => {}, debug: () => {}, ...log }
  return atLevel(logLevel(usual), { info: workingWarn(undefined, io, broken), debug: printed(io) })
}
