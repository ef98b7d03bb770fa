import { faults } from '../faults/catalogue.ts'
import { mostTold } from '../kernel/problem.ts'
import { shapeProblems } from '../runtime/shape-problems.ts'
import type { Asked, Operation } from './operation.ts'

/** What was asked, if every part of it fits; else one fault that names every field that does not. */
export function readRequest<P, Q, B>(
  operation: Operation<P, Q, B>,
  given: Pick<Asked<P, Q, B>, 'idempotency_key' | 'by' | 'scope'> & { params: unknown; query: unknown; body: unknown },
): Asked<P, Q, B> {
  const params = operation.params.safeParse(given.params)
  const query = operation.query.safeParse(given.query)
  const body = operation.body?.safeParse(given.body) ?? ({ success: true, data: undefined as B } as const)
  const { idempotency_key, by, scope } = given
  if (params.success && query.success && body.success)
    return { params: params.data, query: query.data, body: body.data, idempotency_key, by, scope }
  const problems = Object.entries({ params, query, body }).flatMap(([part, read]) =>
    read.success ? [] : shapeProblems(read.error).map((p) => ({ in: part, ...p })),
  )
  throw faults.bad_request({ operation: operation.name, problems: problems.slice(0, mostTold) })
}
