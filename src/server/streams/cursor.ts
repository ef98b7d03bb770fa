import { faults } from '../../faults/catalogue.ts'

/**
 * Where a reader goes on. `Last-Event-ID` comes from one who was cut off, whose
 * `after` is still in the address from when he began: what he saw last counts.
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
