import type { Socket } from 'node:net'
import type { z } from 'zod'
import { faults } from '../faults/catalogue.ts'
import { mostTold, pointerTo } from '../kernel/json.ts'
import type { Scope } from '../surface/operation.ts'

/** Something that answers with neither an operation's JSON nor a stream of events. */
export interface OtherRoute {
  readonly name: string
  readonly path: `/${string}`
  readonly summary: string
  /** Null where anyone may ask. */
  readonly scope: Scope | null
  readonly content_type: string
}

/** The routes that are neither operations nor streams. */
export const otherRoutes = {
  bundle: {
    name: 'export_bundle',
    path: '/api/sessions/{session_id}/bundle',
    scope: 'admin',
    summary: 'A session as a file that proves itself, hidden runes included: every record, and a signed checkpoint.',
    content_type: 'application/x-ndjson',
  },
  openApi: {
    name: 'get_openapi',
    path: '/api/openapi.json',
    scope: 'read',
    summary: 'This document.',
    content_type: 'application/json',
  },
  health: {
    name: 'healthz',
    path: '/healthz',
    scope: null,
    summary: 'The process is there.',
    content_type: 'application/json',
  },
  ready: {
    name: 'readyz',
    path: '/readyz',
    scope: null,
    summary: 'The store answers and the process takes requests.',
    content_type: 'application/json',
  },
} as const satisfies Readonly<Record<string, OtherRoute>>

/** A path that is answered with a stream. The server checks who asks; the stream writes on the socket itself. */
export interface StreamRoute {
  readonly name: string
  readonly path: `/${string}`
  readonly scope: Scope
  readonly summary: string
  /** The query parameters, each with what it is for. */
  readonly query: Readonly<Record<string, string>>
  /** The events by name, each with the shape of its data and, as the description of that, when it comes. */
  readonly events: Readonly<Record<string, z.ZodType>>
  /** Throws a fault for what is refused. Undefined if there is nothing to come, ever: a reader need not ask again. */
  open(asked: StreamRequest): Promise<BeginStream | undefined>
}

/** A request for a stream. */
interface StreamRequest {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string | undefined>>
  readonly last_event_id: string | undefined
}

/** Begins to write a stream to a connection. */
export type BeginStream = (socket: Socket, headers: Readonly<Record<string, string>>) => void

/** As operations do: a field that is misspelled would be read as not given. */
export function refuseUnknown(operation: string, known: readonly string[], given: readonly string[]): void {
  const unknown = given.filter((field) => !known.includes(field))
  if (unknown.length === 0) return
  const problem = `There is no such field; there is ${known.join(', ') || 'none'}.`
  const problems = unknown.slice(0, mostTold).map((field) => ({ in: 'query', pointer: pointerTo([field]), problem }))
  throw faults.bad_request({ operation, problems })
}
