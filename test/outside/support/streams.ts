/** One event of a stream, as a client of server-sent events sees it. */
export interface Heard {
  readonly event: string
  readonly id: string | null
  readonly data: { readonly type: string; readonly payload: Readonly<Record<string, unknown>> } & Readonly<
    Record<string, unknown>
  >
}

interface Listening {
  readonly url: string
  readonly token: string
  readonly headers?: Readonly<Record<string, string>>
  /** Leaves when this holds of what was heard so far; without it, at the end of the stream. */
  readonly until?: (heard: readonly Heard[]) => boolean
}

/** Reads a stream of events until enough was heard, or it ends. */
export async function listen({ url, token, headers = {}, until }: Listening): Promise<readonly Heard[]> {
  const leave = new AbortController()
  const late = setTimeout(() => leave.abort(new Error(`The stream did not tell it within 20 s: ${url}`)), 20_000)
  const heard: Heard[] = []
  try {
    const answer = await fetch(url, {
      headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream', ...headers },
      signal: leave.signal,
    })
    if (answer.status !== 200) throw new Error(`The stream was answered ${answer.status}: ${await answer.text()}`)
    let rest = ''
    for await (const piece of (answer.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
      rest += piece
      for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
        const block = rest.slice(0, end)
        rest = rest.slice(end + 2)
        const event = /^event: (.*)$/m.exec(block)?.[1]
        const data = /^data: (.*)$/m.exec(block)?.[1]
        if (event === undefined || data === undefined) continue
        heard.push({ event, id: /^id: (.*)$/m.exec(block)?.[1] ?? null, data: JSON.parse(data) })
        if (until?.(heard) === true) return heard
      }
    }
    return heard
  } finally {
    clearTimeout(late)
    leave.abort()
  }
}
