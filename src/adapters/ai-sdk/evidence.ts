/** What an error says about itself, wherever in it that stands. */
export interface Evidence {
  /** The HTTP status, or what the provider gives in its place inside a stream. */
  readonly status: number | undefined
  /** Names, codes and types of the error and of what caused it, in lower case. */
  readonly words: ReadonlySet<string>
  /** The first sentence that was found. */
  readonly message: string
  readonly headers: unknown
}

const deepest = 5
const wordFields = ['name', 'code', 'type', 'status', 'reason'] as const
const innerFields = ['error', 'data', 'response', 'cause', 'errors'] as const

/**
 * Providers and their packages disagree on where an error says what it is: in a
 * field of its own, in a parsed body, in the text of a body, in a cause. Reads
 * them all, never throws, and gives up after a few levels.
 */
export function evidenceIn(thrown: unknown): Evidence {
  const words = new Set<string>()
  const messages: string[] = []
  const statuses: number[] = []
  const seen = new Set<unknown>()

  function look(value: unknown, depth: number) {
    if (typeof value === 'string' && depth === 0) messages.push(value)
    if (typeof value !== 'object' || value === null || depth > deepest || seen.has(value)) return
    seen.add(value)
    const given = value as Readonly<Record<string, unknown>>
    for (const field of wordFields) if (typeof given[field] === 'string') words.add(given[field].toLowerCase())
    for (const found of [given.statusCode, given.code, given.status]) if (isStatus(found)) statuses.push(Number(found))
    if (typeof given.message === 'string' && given.message.trim() !== '') messages.push(given.message)
    if (typeof given.error === 'string') messages.push(given.error)
    for (const field of innerFields)
      for (const inner of Array.isArray(given[field]) ? given[field].slice(0, 3) : [given[field]])
        look(inner, depth + 1)
    look(parsed(given.responseBody), depth + 1)
  }
  let headers: unknown
  try {
    look(thrown, 0)
    headers = Object(thrown).responseHeaders
  } catch {
    // A getter that throws tells us nothing.
  }
  const [status] = statuses
  return { status, words, message: messages[0] ?? '', headers }
}

const isStatus = (value: unknown) =>
  /^[45]\d\d$/.test(typeof value === 'number' ? String(value) : typeof value === 'string' ? value : '')

function parsed(body: unknown): unknown {
  if (typeof body !== 'string') return undefined
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
