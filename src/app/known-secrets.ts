import { createRedactor, type Redactor } from '../runelog/redactor.ts'
import { shortest_secret } from '../runelog/secret-finder.ts'
import { readThrown } from '../runtime/thrown.ts'
import { type Warn, warnOnStderr } from './warnings.ts'

/** The parts of a config that hold secrets. */
interface Holding {
  readonly secrets?: Readonly<Record<string, string>>
  readonly mcp?: Readonly<Record<string, object>>
  readonly server?: { readonly tokens?: readonly { readonly name: string; readonly token: string }[] }
  readonly store?: unknown
}

/**
 * Every secret of a config, by the name that replaces it: declared secrets, tokens of the server, credentials of MCP
 * servers, and the password in the store URL. Undeclared values that are too short to be secrets are left out.
 */
export function knownSecrets({
  secrets = {},
  mcp = {},
  server = {},
  store,
}: Holding): Readonly<Record<string, string>> {
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
    /**
     * Wraps a developer's function, which may be async. If it throws or rejects, the work goes on: stderr gets a line,
     * the first time.
     */
    cleanWarn(warn: Warn): Warn {
      let isReported = false
      const failed = (thrown: unknown) => {
        if (isReported) return
        isReported = true
        const error = readThrown(thrown, redactor.redact).message
        warnOnStderr('a function for warnings or logs failed; what it was told is lost', { error })
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
