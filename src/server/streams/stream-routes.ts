import { z } from 'zod'
import { faults } from '../../faults/catalogue.ts'
import { flag } from '../../wire/common.ts'
import { fcmpEvent } from '../../wire/fcmp.ts'
import { runeShape } from '../../wire/rune.ts'
import { summaryShape } from '../../wire/session.ts'
import { sessionEvent } from '../../wire/session-event.ts'
import type { StreamRoute } from '../routes.ts'
import type { Streams } from './streams.ts'

/** The routes of the streams. */
export function streamRoutes(streams: Streams): readonly StreamRoute[] {
  return [
    {
      name: 'stream_session',
      path: '/api/sessions/{session_id}/stream',
      scope: 'read',
      summary: 'Everything that happens in a session, live, and from where a reader was cut off.',
      query: {
        after: 'Only what comes after the event with this id. `Last-Event-ID` outranks it.',
        runes: '`1` or `true` sends the runes themselves, too; `0` or `false` does not.',
      },
      events: {
        ...byType(sessionEvent.options),
        rune: runeShape.describe('With `?runes=1`: the record itself, before its events.'),
      },
      open: async ({ params: { session_id = '' }, query: { after, runes }, last_event_id }) =>
        streams.session({
          session_id,
          cursor: readCursor('stream_session', { last_event_id, after }),
          view: readRunes(runes) ? 'events_and_runes' : 'events',
        }),
    },
    {
      name: 'stream_run',
      path: '/api/runs/{run_id}/events',
      scope: 'read',
      summary: 'The conversation of a run (FCMP), live; it ends with the run.',
      query: { after: 'Only what comes after the event with this number. `Last-Event-ID` outranks it.' },
      events: byType(fcmpEvent.options),
      open: async ({ params: { run_id = '' }, query: { after }, last_event_id }) =>
        streams.run({ run_id, cursor: readCursor('stream_run', { last_event_id, after }) }),
    },
    {
      name: 'stream_summaries',
      path: '/api/summaries/stream',
      scope: 'read',
      summary: 'What the list of sessions shows, whenever it changes, at most four times a second for each.',
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
  const problem = 'It is 1 or true to send the runes, 0 or false not to.'
  throw faults.bad_request({ operation: 'stream_session', problems: [{ in: 'query', pointer: '/runes', problem }] })
}

/** Events that say their name in their data, too. */
function byType(events: readonly z.ZodObject<{ type: z.ZodLiteral<string> }>[]): Readonly<Record<string, z.ZodType>> {
  return Object.fromEntries(events.map((event) => [event.shape.type.value, event]))
}

/**
 * The event after which a stream begins. A reader that was cut off sends `Last-Event-ID`, and its address still has the
 * `after` of its first request: the header outranks it.
 */
function readCursor(
  operation: string,
  { last_event_id, after }: { readonly last_event_id: string | undefined; readonly after: string | undefined },
): number {
  const given = last_event_id !== undefined && last_event_id !== '' ? last_event_id : after
  if (given === undefined) return 0
  if (/^\d{1,15}$/.test(given)) return Number(given)
  const place = given === after ? { in: 'query', pointer: '/after' } : { in: 'headers', pointer: '/last-event-id' }
  throw faults.bad_request({
    operation,
    problems: [{ ...place, problem: 'It is not a whole number that an event had as its id.' }],
  })
}
