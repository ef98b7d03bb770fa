import { readBlock, type ServerSent } from './read-block.ts'
import { authorization, type Problem, problemOf } from './request.ts'

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
