import type { z } from 'zod'
import { faults } from '../faults/catalogue.ts'
import { shapeProblems } from '../runtime/shape-problems.ts'
import type { Asked, Operation } from './operation.ts'

/** What was asked, if every part of it fits; else one fault that names every field that does not. */
export function readRequest<P, Q, B>(
  operation: Operation<P, Q, B>,
  given: { params: unknown; query: unknown; body: unknown; idempotency_key: string | null; by: string },
): Asked<P, Q, B> {
  const parts = [
    ['params', operation.params.safeParse(given.params)],
    ['query', operation.query.safeParse(given.query)],
    ['body', operation.body?.safeParse(given.body) ?? { success: true, data: undefined }],
  ] as const
  const problems = parts.flatMap(([part, read]) =>
    read.success ? [] : shapeProblems((read as { error: z.ZodError }).error).map((p) => ({ in: part, ...p })),
  )
  if (problems.length > 0) throw faults.bad_request({ operation: operation.name, problems })
  const [params, query, body] = parts.map(([, read]) => read.data)
  const { idempotency_key, by } = given
  return { params: params as P, query: query as Q, body: body as B, idempotency_key, by }
}
