/** The longest line that is read, in bytes. A longer one is cut. */
const longestLine = 2 ** 27

const lineFeed = 10

/**
 * The lines of a text in UTF-8. Only a line feed ends a line, so that no other byte can stand for one. A line that is not
 * UTF-8 ends with half of a pair: it is no JSON, and bytes cannot pass for the replacement character.
 */
export async function* readLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, void> {
  let pieces: Uint8Array[] = []
  let length = 0
  for await (const bytes of body) {
    let from = 0
    // Only the new part is searched: a long line costs no more than its length.
    for (let at = bytes.indexOf(lineFeed); at >= 0; at = bytes.indexOf(lineFeed, from)) {
      yield textOf([...pieces, bytes.subarray(from, at)])
      pieces = []
      length = 0
      from = at + 1
    }
    if (from === bytes.length) continue
    pieces.push(bytes.subarray(from))
    length += bytes.length - from
    if (length > longestLine) break
  }
  if (length > 0) yield textOf(pieces)
}

function textOf(pieces: readonly Uint8Array[]): string {
  try {
    return decoded(pieces, true)
  } catch {
    return `${decoded(pieces, false)}\ud800`
  }
}

function decoded(pieces: readonly Uint8Array[], fatal: boolean): string {
  const utf8 = new TextDecoder('utf-8', { ignoreBOM: true, fatal })
  return pieces.map((piece) => utf8.decode(piece, { stream: true })).join('') + utf8.decode()
}

/** One event of an event stream, as the HTML standard has them. */
export interface ServerSent {
  readonly type: string
  readonly data: string
}

/** Reads an event stream to its end. `moved` gets each id once its event was consumed, also an id without data. */
export async function* readServerSent(
  body: AsyncIterable<Uint8Array>,
  moved: (id: string) => void,
): AsyncGenerator<ServerSent, void, void> {
  const utf8 = new TextDecoder()
  let rest = ''
  let type = 'message'
  let data: string[] = []
  let id: string | undefined
  for await (const bytes of body) {
    rest += utf8.decode(bytes, { stream: true })
    // A carriage return at the end may be half of a line break.
    const lines = rest.split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) yield { type, data: data.join('\n') }
        if (id !== undefined) moved(id)
        type = 'message'
        data = []
        id = undefined
        continue
      }
      const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? []
      if (name === 'event') type = value
      else if (name === 'data') data.push(value)
      else if (name === 'id') id = value
    }
  }
}

interface ResumedStream {
  readonly signal: AbortSignal
  /** The cursor to begin after; empty: none. */
  readonly after?: string
  /** Requests the stream after a cursor. Undefined: nothing more will come. */
  readonly open: (cursor: string) => Promise<AsyncIterable<Uint8Array> | undefined>
  /** Waits before the next request. `failures` counts those in a row that did not open the stream. Throws to give up. */
  readonly retry: (failures: number, error: unknown) => Promise<void>
}

/** Reads an event stream and opens it again, from the last id, whenever it breaks. An event may then come twice. */
export async function* resumeServerSent(stream: ResumedStream): AsyncGenerator<ServerSent, void, void> {
  const { signal, after = '', open, retry } = stream
  let cursor = after
  for (let failures = 0; !signal.aborted; failures++) {
    let cause: unknown
    try {
      const body = await open(cursor)
      if (body === undefined) return
      failures = 0
      const moved = (id: string) => {
        cursor = id
      }
      yield* readServerSent(body, moved)
    } catch (error) {
      cause = error
    }
    if (!signal.aborted) await retry(failures, cause)
  }
}
