import * as z from 'zod'
import { faults } from '../faults/catalogue.ts'
import { mostProblems, pointerTo } from '../kernel/json.ts'
import { unknownField } from '../runtime/shape-problems.ts'
import type { Scope } from '../surface/operation.ts'
import { flag } from '../wire/common.ts'
import { streamPaths } from '../wire/endpoint.ts'
import { fcmpEvent } from '../wire/fcmp.ts'
import { runeShape } from '../wire/rune.ts'
import { summaryShape } from '../wire/session.ts'
import { sessionEvent } from '../wire/session-event.ts'
import type { BeginStream, Streams } from './streams/streams.ts'

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
    path: streamPaths.bundle,
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
    summary: 'The process runs.',
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
  /** The query parameters, each with its purpose. */
  readonly query: Readonly<Record<string, string>>
  /** The events by name, each with the shape of its data and, as the description of that, when it comes. */
  readonly events: Readonly<Record<string, z.ZodType>>
  /** Throws a fault to refuse. Undefined: no more events will come, so a reader need not ask again. */
  open(asked: StreamRequest): Promise<BeginStream | undefined>
}

interface StreamRequest {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string | undefined>>
  readonly last_event_id: string | undefined
}

/** Refuses query parameters that a stream does not have: a misspelled one would have no effect. */
export function refuseUnknown(operation: string, known: readonly string[], given: readonly string[]): void {
  const unknown = given.filter((field) => !known.includes(field))
  if (unknown.length === 0) return
  const sayUnknown = (field: string) => (known.length === 0 ? 'It takes no query.' : unknownField(field, known))
  const problems = unknown
    .slice(0, mostProblems)
    .map((field) => ({ in: 'query', pointer: pointerTo([field]), problem: sayUnknown(field) }))
  throw faults.bad_request({ operation, problems })
}

/** The routes of the streams. */
export function streamRoutes(streams: Streams): readonly StreamRoute[] {
  return [
    {
      name: 'stream_session',
      path: streamPaths.session,
      scope: 'read',
      summary: 'The events of a session, live, also from a cursor on.',
      query: {
        after: 'Only events after the one with this id. `Last-Event-ID` outranks it.',
        runes: '`1` or `true` sends the runes themselves, too; `0` or `false` does not.',
      },
      events: {
        ...byType(sessionEvent.options),
        rune: runeShape.describe('With `?runes=1`: the record itself, before its events.'),
      },
      open: async ({ params: { session_id = '' }, query: { after, runes }, last_event_id }) =>
        streams.session({
          session_id,
          cursor: readCursor('stream_session', last_event_id, after),
          view: readRunes(runes) ? 'events_and_runes' : 'events',
        }),
    },
    {
      name: 'stream_run',
      path: streamPaths.run,
      scope: 'read',
      summary: 'The conversation of a run (FCMP), live; it ends with the run.',
      query: { after: 'Only events after the one with this number. `Last-Event-ID` outranks it.' },
      events: byType(fcmpEvent.options),
      open: async ({ params: { run_id = '' }, query: { after }, last_event_id }) =>
        streams.run({ run_id, cursor: readCursor('stream_run', last_event_id, after) }),
    },
    {
      name: 'stream_summaries',
      path: streamPaths.summaries,
      scope: 'read',
      summary: 'The items of the list of sessions as they change, at most four times a second for each.',
      query: {},
      events: {
        ready: z.strictObject({}).describe('First. A list that is loaded after it misses nothing.'),
        summary: summaryShape.describe('A session changed: its item of the list, as it is now.'),
        stale: z.strictObject({}).describe('Changes may have been missed: load the list again.'),
      },
      open: () => streams.summaries(),
    },
  ]
}

function readRunes(given: string | undefined): boolean {
  const read = flag.default(false).safeParse(given)
  if (read.success) return read.data
  const problem = 'Expected 1 or true to send the runes, 0 or false to leave them out.'
  throw faults.bad_request({ operation: 'stream_session', problems: [{ in: 'query', pointer: '/runes', problem }] })
}

function byType(events: readonly z.ZodObject<{ type: z.ZodLiteral<string> }>[]): Readonly<Record<string, z.ZodType>> {
  return Object.fromEntries(events.map((event) => [event.shape.type.value, event]))
}

/** The event after which a stream begins. `Last-Event-ID` outranks `after`, which a reader that reconnects repeats. */
function readCursor(operation: string, last_event_id: string | undefined, after: string | undefined): number {
  const given = last_event_id !== undefined && last_event_id !== '' ? last_event_id : after
  if (given === undefined) return 0
  if (/^\d{1,15}$/.test(given)) return Number(given)
  const place = given === after ? { in: 'query', pointer: '/after' } : { in: 'headers', pointer: '/last-event-id' }
  const problem = 'Expected the id of an event, a whole number.'
  throw faults.bad_request({ operation, problems: [{ ...place, problem }] })
}
