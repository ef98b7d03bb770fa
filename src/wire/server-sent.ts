/** The longest line that is read. A longer one is cut. */
const longestLine = 2 ** 27

/** The lines of a text in UTF-8. Only a line feed ends a line, so that no other byte can stand for one. */
export async function* readLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, void> {
  const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })
  let rest = ''
  for await (const bytes of body) {
    // Only the new part is searched: a long line costs no more than its length.
    const [first = '', ...more] = utf8.decode(bytes, { stream: true }).split('\n')
    rest += first
    for (const line of more) {
      yield rest
      rest = line
    }
    if (rest.length > longestLine) break
  }
  if (rest !== '') yield rest
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
