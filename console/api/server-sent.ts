import { authorization, type Problem, problemOf } from './request.ts'

export interface ServerSent {
  readonly id: string | null
  readonly event: string
  readonly data: string
}

/**
 * Reads one stream of server-sent events to its end. `EventSource` cannot send
 * a header, and a token in an address would stand in every log on the way.
 * The first event says that the line is up, and comes from nobody.
 */
export async function* serverSent(url: string, signal: AbortSignal): AsyncGenerator<ServerSent, Problem | undefined> {
  const response = await fetch(url, { signal, headers: { accept: 'text/event-stream', ...authorization() } })
  if (!response.ok || response.body === null) return await problemOf(response)
  yield { id: null, event: 'open', data: '' }
  let rest = ''
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + chunk).replaceAll('\r\n', '\n').split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const read = readBlock(block)
      if (read !== undefined) yield read
    }
  }
  return undefined
}

/** One event of a stream; a comment alone, which keeps the line open, is none. */
export function readBlock(block: string): ServerSent | undefined {
  let id: string | null = null
  let event = 'message'
  const data: string[] = []
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':')
    const name = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (name === 'id') id = value
    else if (name === 'event') event = value
    else if (name === 'data') data.push(value)
  }
  return data.length === 0 ? undefined : { id, event, data: data.join('\n') }
}
