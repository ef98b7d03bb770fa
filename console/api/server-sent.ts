import { resumeServerSent } from '../../src/wire/server-sent.ts'
import { authorization, type Problem, problemOf } from './request.ts'

interface Stream {
  readonly signal: AbortSignal
  /** The cursor to begin after. */
  readonly after?: string
  /** The connection is up. */
  readonly opened: () => void
  /** It is lost, or was refused with this problem; the next try follows. */
  readonly lost: (problem: Problem | undefined) => void
  readonly pause?: (ms: number) => Promise<void>
}

/**
 * Reads a stream of server-sent events, and opens it again when it ends. `EventSource` cannot send a header, and logs
 * would keep a token in the address.
 */
export function serverSent(url: string, { signal, after = '', opened, lost, pause = sleep }: Stream) {
  let problem: Problem | undefined
  return resumeServerSent({
    signal,
    after,
    async open(cursor) {
      problem = undefined
      const headers = { accept: 'text/event-stream', 'last-event-id': cursor, ...authorization() }
      const response = await fetch(url, { signal, headers })
      if (!response.ok || response.body === null) {
        problem = await problemOf(response)
        throw new Error(problem.title)
      }
      opened()
      return response.body
    },
    retry(failures) {
      lost(problem)
      return pause(Math.min(250 * 2 ** failures, 10_000))
    },
  })
}

/** Lets this many milliseconds pass. */
export const sleep = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms))
