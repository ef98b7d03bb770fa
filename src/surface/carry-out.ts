import { faults, isFault } from '../faults/catalogue.ts'
import { canonicalJson, type Json, mostProblems } from '../kernel/json.ts'
import { fingerprintOf, requestId, requestKeyOf, requests } from '../runelog/models.ts'
import { onBehalfOf, onItsOwn } from '../runtime/scopes.ts'
import { shapeProblems } from '../runtime/shape-problems.ts'
import type { Backend } from './backend.ts'
import type { Asked, Operation } from './operation.ts'

interface CarriedOut<R> {
  readonly answer: R
  /** The request took effect before, in this process or another. */
  readonly isReplayed: boolean
}

/** Carries out a command. With an idempotency key it takes effect once, over crashes and in several servers. */
export async function carryOut<P, Q, B, R>(
  operation: Operation<P, Q, B, R>,
  backend: Backend,
  asked: Asked<P, Q, B>,
): Promise<CarriedOut<R>> {
  const { by, params, body, idempotency_key } = asked
  if (operation.method === 'GET' || idempotency_key === null)
    return { answer: await operation.run(backend, asked), isReplayed: false }
  const place = canonicalJson([operation.name, by, params as Json, idempotency_key])
  // Fields that were left out are undefined in the body, and canonical JSON has no undefined.
  const content = canonicalJson(JSON.parse(JSON.stringify(body ?? {})) as Json)
  // The digest survives a redaction of the content. It includes the key, so that a short content cannot be guessed.
  const request_id = requestId(backend.sha256(place), backend.sha256(canonicalJson([place, content])))

  async function repeated(): Promise<CarriedOut<R> | undefined> {
    const row = await backend.runelog.row(requests, requestKeyOf(request_id))
    const recorded = row?.value
    if (recorded === undefined) return undefined
    if (recorded.fingerprint !== fingerprintOf(request_id))
      throw faults.key_reused({ idempotency_key: idempotency_key ?? '', what: operation.name })
    const repeat = operation.repeat ?? operation.run
    return { answer: await onItsOwn(() => repeat.call(operation, backend, asked, recorded)), isReplayed: true }
  }

  const before = await repeated()
  if (before !== undefined) return before
  try {
    return { answer: await onBehalfOf(request_id, () => operation.run(backend, asked)), isReplayed: false }
  } catch (error) {
    // A lost race: another request with the same key was recorded first.
    const other = isFault(error, 'request_recorded') ? await repeated() : undefined
    if (other === undefined) throw error
    return other
  }
}

/** The request with its parts parsed. Refused with one `bad_request` that names every field that does not fit. */
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
  throw faults.bad_request({ operation: operation.name, problems: problems.slice(0, mostProblems) })
}
