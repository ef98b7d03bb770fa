/** One event of an event stream, as the HTML standard has them. */
export interface ServerSent {
  readonly type: string
  readonly data: string
}

/**
 * Reads an event stream to its end. `moved` gets each id, also one that comes without data. It gets the id after the
 * event was consumed, so that a reader that is cut off in between receives the event again.
 */
export async function* readServerSent(
  body: AsyncIterable<Uint8Array>,
  moved: (id: string) => void = () => {},
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
