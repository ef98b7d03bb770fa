import { z } from 'zod'
import { subjects } from '../../runelog/models/subjects.ts'
import { count, id } from '../../wire/common.ts'
import { defineOperation } from '../operation.ts'

export const findSubjects = defineOperation({
  name: 'find_subjects',
  route: 'GET /api/subjects',
  scope: 'read',
  summary: 'Sessions, runs, executions, interactions and all else that has a lifecycle, by the beginning of their id.',
  query: z.strictObject({
    prefix: id,
    limit: count(z.int().min(1).max(100)).prefault(20),
  }),
  returns: z.object({
    items: z.array(
      z.object({ subject_id: z.string(), machine: z.string(), state: z.string(), session_id: z.string(), at: z.int() }),
    ),
  }),
  async run({ runelog, views }, { query: { prefix, limit } }) {
    const rows = await runelog.rows(subjects, { prefix, limit, backward: true, by_key: true })
    const shown = await Promise.all(
      rows.map(async ({ key, value }) => {
        const { machine, session_id } = value
        return machine !== 'contract' || !(await views.of(session_id)).hidden.has(key)
      }),
    )
    return {
      items: rows
        .filter((_, i) => shown[i])
        .map(({ key, sort, value }) => {
          const { machine, state, session_id } = value
          return { subject_id: key, machine, state, session_id, at: sort ?? 0 }
        }),
    }
  },
})
