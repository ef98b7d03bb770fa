import type { Scope } from '../../surface/operation.ts'
import { readCursor } from './cursor.ts'
import type { Begin, Streams } from './streams.ts'

/** What a request for a stream says. */
export interface StreamRequest {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string | undefined>>
  readonly last_event_id: string | undefined
}

/** A path that is answered with a stream, as the server and the documents need it. */
export interface StreamRoute {
  readonly name: string
  readonly path: `/${string}`
  readonly scope: Scope
  readonly summary: string
  /** The query parameters, each with what it is for. */
  readonly query: Readonly<Record<string, string>>
  /** Throws a fault for what is refused. Undefined if there is nothing to come, ever: a reader need not ask again. */
  open(asked: StreamRequest): Promise<Begin | undefined>
}

export function streamRoutes(streams: Streams): readonly StreamRoute[] {
  return [
    {
      name: 'stream_session',
      path: '/api/sessions/{session_id}/stream',
      scope: 'read',
      summary: 'Everything that happens in a session, live, and from where a reader was cut off.',
      query: {
        after: 'Only what comes after the event with this id. `Last-Event-ID` outranks it.',
        runes: '1 sends the runes themselves, too.',
      },
      open: async ({ params: { session_id = '' }, query: { after, runes }, last_event_id }) =>
        streams.session({
          session_id,
          cursor: readCursor('stream_session', { last_event_id, after }),
          view: runes === '1' ? 'events_and_runes' : 'events',
        }),
    },
    {
      name: 'stream_run',
      path: '/api/runs/{run_id}/events',
      scope: 'read',
      summary: 'The conversation of a run (FCMP), live; it ends with the run.',
      query: { after: 'Only what comes after the event with this number. `Last-Event-ID` outranks it.' },
      open: async ({ params: { run_id = '' }, query: { after }, last_event_id }) =>
        streams.run({ run_id, cursor: readCursor('stream_run', { last_event_id, after }) }),
    },
    {
      name: 'stream_summaries',
      path: '/api/summaries/stream',
      scope: 'read',
      summary: 'What the list of sessions shows, whenever it changes, at most four times a second for each.',
      query: {},
      open: () => streams.summaries(),
    },
  ]
}
