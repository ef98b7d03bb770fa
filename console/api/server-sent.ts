import { readServerSent, type ServerSent } from '../../src/wire/server-sent.ts'
import { authorization, type Problem, problemOf } from './request.ts'

/**
 * Reads one stream of server-sent events to its end. `EventSource` cannot send a header, and a token in an address
 * would stand in every log on the way. The first event, `open`, is ours: the connection is up.
 */
export async function* serverSent(url: string, signal: AbortSignal): AsyncGenerator<ServerSent, Problem | undefined> {
  const response = await fetch(url, { signal, headers: { accept: 'text/event-stream', ...authorization() } })
  if (!response.ok || response.body === null) return await problemOf(response)
  yield { type: 'open', data: '' }
  yield* readServerSent(response.body)
  return undefined
}
