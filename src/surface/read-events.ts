/** One event of an event stream, as the HTML standard has them. */
export interface StreamEvent {
  readonly type: string
  readonly data: string
}

/** Reads an event stream. `moved` is told each id, also of what comes without data. */
export async function* readEvents(
  body: AsyncIterable<Uint8Array>,
  moved: (id: string) => void,
): AsyncGenerator<StreamEvent, void, void> {
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
        // Only when the event has been taken: whoever is cut off before gets it again.
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
