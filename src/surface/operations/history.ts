import { z } from 'zod'
import { createFcmp } from '../../observation/fcmp.ts'
import { inSlices } from '../../runelog/slices.ts'
import { count, pageOf } from '../../wire/common.ts'
import { type FcmpEvent, fcmpEvent } from '../../wire/fcmp.ts'
import { defineOperation } from '../operation.ts'
import { findRun } from '../run-view.ts'

export const runHistory = defineOperation({
  name: 'run_history',
  route: 'GET /api/runs/{run_id}/events/history',
  scope: 'read',
  summary: 'The conversation of a run so far (FCMP), by the number of its events.',
  query: z.strictObject({
    /** Only events with a greater number. */
    after: count(z.int().nonnegative()).prefault(0),
    /** The `next_cursor` of the page before, instead of `after`. */
    cursor: count(z.int().nonnegative()).optional(),
    limit: count(z.int().min(1).max(1_000)).prefault(1_000),
  }),
  returns: pageOf(fcmpEvent),
  async run(backend, { params: { run_id }, query: { after, cursor = after, limit } }) {
    const { view } = await findRun(backend, run_id)
    const fcmp = createFcmp(run_id)
    const events: FcmpEvent[] = []
    for await (const slice of inSlices(view.steps))
      for (const rune of slice) for (const event of fcmp.fold(rune)) events.push(event)
    const items = events.slice(cursor, cursor + limit)
    const last = items.at(-1)?.seq ?? cursor
    return { items, next_cursor: last < events.length ? String(last) : null }
  },
})
