import { hostPorts } from '../adapters/host/ports.ts'
import { faults } from '../faults/catalogue.ts'
import type { Fault } from '../faults/fault.ts'
import { printable, printableJson } from '../kernel/printable.ts'
import { createRedactor, type Redactor } from '../runelog/redactor.ts'
import { shortest_secret } from '../runelog/secret-finder.ts'
import type { Log } from '../runtime/ports.ts'
import { readThrown } from '../runtime/thrown.ts'

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

/** Drops what it gets. */
export const silent: Warn = () => {}

/** A log that drops everything below the level. */
export function atLevel(level: LogLevel, { info, debug }: Log): Log {
  return { info: level === 'warn' ? silent : info, debug: level === 'debug' ? debug : silent }
}

/** Writes a warning to stderr, as one line. */
export function warnOnStderr(message: string, details: object): void {
  process.stderr.write(`${printable(message)}: ${printableJson(details)}\n`)
}

const per_span = 5
const span_ms = 60_000

/** Passes on at most five equal warnings per minute, and says how many were left out. Returns what `warn` returns. */
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
export function workingLog(log: Partial<Log> | undefined, io: Printing, broken: Promise<Fault>, usual: LogLevel): Log {
  if (log !== undefined) return { info: () => {}, debug: () => {}, ...log }
  return atLevel(logLevel(usual), { info: workingWarn(undefined, io, broken), debug: printed(io) })
}

interface Holding {
  readonly secrets?: Readonly<Record<string, string>>
  readonly mcp?: Readonly<Record<string, object>>
  readonly server?: { readonly tokens?: readonly { readonly name: string; readonly token: string }[] }
  readonly store?: unknown
}

/** Every secret of a config, by the name that replaces it: declared ones, tokens, MCP credentials, store password. */
export function knownSecrets(config: Holding): Readonly<Record<string, string>> {
  const { secrets = {}, mcp = {}, server = {}, store } = config
  const tokens = (server.tokens ?? []).map(({ name, token }) => [`token of ${name}`, token] as const)
  const servers = Object.entries(mcp).flatMap(([name, given]) =>
    credentialsOf(given).map(([what, value]) => [`${what} of ${name}`, value] as const),
  )
  const password = passwordIn(store)
  const found = [...tokens, ...servers, ...(password === '' ? [] : [['password of the store', password] as const])]
  return { ...Object.fromEntries(found.filter(([, { length }]) => length >= shortest_secret)), ...secrets }
}

/** Removes secrets from texts and warnings. */
export function cleaning(secrets: Readonly<Record<string, string>>, given?: Redactor) {
  const redactor = given ?? createRedactor({ secrets: new Map(Object.entries(secrets)) })
  const clean = (text: string) => redactor.redact(text.toWellFormed())
  return {
    clean,
    /** Wraps a developer's function. If it throws or rejects, the work goes on, and stderr gets one line. */
    cleanWarn(warn: Warn): Warn {
      // Each step of a run has lines for the log, and usually no one reads them.
      if (warn === silent) return warn
      let isReported = false
      const failed = (thrown: unknown) => {
        if (isReported) return
        isReported = true
        const error = readThrown(thrown, redactor.redact).message
        warnOnStderr('a function for warnings or logs failed; its message is lost', { error })
      }
      return (message, details) => {
        try {
          const done: unknown = warn(clean(message), cleanDetails(details, redactor))
          if (done !== undefined) Promise.resolve(done).catch(failed)
        } catch (thrown) {
          failed(thrown)
        }
      }
    },
  }
}

/** Details that are not JSON become text. */
function cleanDetails(details: object, redactor: Redactor): object {
  try {
    return Object(redactor.clean(JSON.parse(JSON.stringify(details).toWellFormed())).value)
  } catch {
    return { details: redactor.clean(String(details)).value }
  }
}

const isCredential = /key|token|secret|passw|auth|credential/i

function credentialsOf(server: object): readonly (readonly [string, string])[] {
  const { env = {}, headers = {} } = server as { env?: Record<string, string>; headers?: Record<string, string> }
  return [
    ...Object.entries(env).filter(([name]) => isCredential.test(name)),
    ...Object.entries(headers)
      .filter(([name]) => isCredential.test(name) || name.toLowerCase() === 'cookie')
      .map(([name, value]) => [name, value.replace(/^(Bearer|Basic|Token) +/i, '')] as const),
  ]
}

function passwordIn(store: unknown): string {
  if (typeof store !== 'string' || !URL.canParse(store)) return ''
  const { password } = new URL(store)
  try {
    return decodeURIComponent(password)
  } catch {
    return password
  }
}
