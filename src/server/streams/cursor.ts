import { faults } from '../../faults/catalogue.ts'

/**
 * The event after which a stream begins. A reader that was cut off sends `Last-Event-ID`, and its address still has
 * the `after` of its first request: the header outranks it.
 */
export function readCursor(
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
