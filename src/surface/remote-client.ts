import { faults, isFault } from '../faults/catalogue.ts'
import { Fault } from '../faults/fault.ts'
import type { Rune } from '../runes/rune.ts'
import type { EphemeralDelta } from '../runtime/delta.ts'
import { addressOf, type Given, streamPaths } from '../wire/endpoint.ts'
import { readLines, resumeServerSent } from '../wire/server-sent.ts'
import type { Client, Received } from './client.ts'
import type { Operation } from './operation.ts'

interface RemotePorts {
  /** Such as `http://127.0.0.1:4400`. */
  readonly url: string
  readonly token: string
  readonly fetch: typeof globalThis.fetch
  /** Lets this many milliseconds pass. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>
}

/** How often in a row, once a second, a follower tries to reach the server before it gives up. */
const retries = 30

/** Asks a server. Its refusals arrive as the faults they were. */
export function remoteClient({ url, token, fetch, pause }: RemotePorts): Client {
  const authorization = `Bearer ${token}`

  async function send(path: string, init: RequestInit): Promise<Response> {
    try {
      return await fetch(`${url}${path}`, { ...init, headers: { authorization, ...init.headers } })
    } catch (error) {
      if (init.signal?.aborted) throw error
      throw faults.server_unreachable({ url, cause: causeOf(error) }, { cause: error })
    }
  }

  return {
    isServed: true,
    async call<P, Q, B, R>(operation: Operation<P, Q, B, R>, given: Given<P, Q, B>): Promise<R> {
      const { params, query, body, idempotency_key } = given
      const { method } = operation
      const response = await send(addressOf(operation.path, { ...params }, query), {
        method,
        ...(method === 'GET' ? {} : { body: JSON.stringify(body ?? {}) }),
        headers: {
          ...(method === 'GET' ? {} : { 'content-type': 'application/json' }),
          ...(idempotency_key === undefined ? {} : { 'idempotency-key': idempotency_key }),
        },
      })
      if (!response.ok) throw await faultOf(url, response)
      return (await response.json()) as R
    },

    async *follow(session_id, after, signal) {
      let last = after
      const path = addressOf(streamPaths.session, { session_id }, { runes: 1, after })
      const stream = resumeServerSent({
        signal,
        after: `${after}`,
        async open(cursor) {
          const response = await send(path, { signal, headers: { 'last-event-id': cursor } })
          if (response.status === 204) return undefined
          if (!response.ok) throw await faultOf(url, response)
          return response.body as AsyncIterable<Uint8Array>
        },
        async retry(failures, error) {
          if (error instanceof Fault && (!isFault(error, 'server_unreachable') || failures >= retries)) throw error
          await pause(1_000, signal).catch(() => {})
        },
      })
      for await (const { type, data } of stream) {
        const received = read(type, data)
        if (received === undefined) continue
        if (received.type === 'rune') {
          // A duplicate: the connection broke after this rune and before its id.
          if (received.rune.event_id <= last) continue
          last = received.rune.event_id
        }
        yield received
      }
    },

    async bundle(session_id) {
      const response = await send(addressOf(streamPaths.bundle, { session_id }), {})
      if (!response.ok) throw await faultOf(url, response)
      return endedLines(response.body as AsyncIterable<Uint8Array>)
    },

    close: async () => {},
  }
}

async function* endedLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  for await (const line of readLines(body)) yield `${line}\n`
}

/** The rune or the unrecorded text in a server-sent event; undefined for every other event. */
function read(type: string, data: string): Received | undefined {
  if (type === 'rune') return { type, rune: JSON.parse(data) as Rune }
  if (type !== 'delta') return undefined
  const { session_id, run_id, durable, payload } = JSON.parse(data)
  if (durable !== false) return undefined
  const { content: text, ...rest } = payload
  return { type, delta: { session_id, run_id, ...rest, text } as EphemeralDelta }
}

/** The fault that a server refused a request with. */
async function faultOf(url: string, response: Response): Promise<Fault> {
  const problem = (await response.json().catch(() => ({}))) as Partial<Record<string, unknown>>
  const { code, detail, details, retry } = problem
  const cause = `it answered ${response.status} without a problem document, so it is not a Statewright server`
  if (typeof code !== 'string') return faults.server_unreachable({ url, cause })
  // A server of another version may send a code that this client does not know.
  const { kind } = Object.entries(faults).find(([known]) => known === code)?.[1].row ?? faults.unexpected.row
  const http = response.status as Fault['http']
  return new Fault(code, { kind, http, retry: retry as Fault['retry'], says: () => String(detail) }, Object(details))
}

function causeOf(error: unknown): string {
  const { cause, message } = error as Error
  return cause instanceof Error ? cause.message || String((cause as NodeJS.ErrnoException).code) : message
}
