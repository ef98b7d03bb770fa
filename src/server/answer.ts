import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { canonicalJson, type Json } from '../kernel/json.ts'
import { inSlices } from '../runelog/slices.ts'
import type { Backend } from '../surface/backend.ts'
import { type Asked, carryOut, type Operation, readRequest } from '../surface/operation.ts'
import { type createKeptAnswers, readKey } from './idempotency.ts'

/** The content type of an answer. */
export const jsonType = 'application/json; charset=utf-8'

type Context = { readonly backend: Backend; readonly kept: ReturnType<typeof createKeptAnswers> }

/** Answers a route from its operation. */
export function answering({ backend, kept }: Context, operation: Operation) {
  const frozen = new Map<string, { readonly body: string; readonly etag: string }>()

  async function getFrozen(request: FastifyRequest, reply: FastifyReply, asked: Asked<unknown, unknown, unknown>) {
    const place = JSON.stringify(asked.params)
    let known = frozen.get(place)
    if (known === undefined) {
      const body = JSON.stringify(await operation.run(backend, asked))
      known = { body, etag: `"${hash('sha256', body).slice(0, 32)}"` }
      frozen.set(place, known)
    }
    void reply.header('cache-control', 'private, max-age=3600').header('etag', known.etag)
    return isKnown(request, known.etag) ? reply.code(304).send() : known.body
  }

  async function get(request: FastifyRequest, reply: FastifyReply, asked: Asked<unknown, unknown, unknown>) {
    if (operation.immutable) return getFrozen(request, reply, asked)
    const seen = await operation.look?.(backend, asked)
    if (seen === undefined) return textOf(await operation.run(backend, asked))
    const etag = `"${operation.name}-${seen.revision}"`
    void reply.header('cache-control', 'private, no-cache').header('etag', etag)
    return isKnown(request, etag) ? reply.code(304).send() : await textOf(await seen.answer())
  }

  async function post(request: FastifyRequest, reply: FastifyReply, asked: Asked<unknown, unknown, unknown>) {
    const done = async () => {
      const { answer, isReplayed } = await carryOut(operation, backend, asked)
      if (operation.erases) kept.forget()
      return { status: 200, body: JSON.stringify(answer), isReplayed }
    }
    const { idempotency_key, by } = asked
    if (idempotency_key === null) return (await done()).body
    const place = `${by} ${operation.name} ${JSON.stringify(asked.params)}`
    const fingerprint = hash('sha256', canonicalJson(bodyOf(request)))
    // Their answer says whether it is a repetition, so the first answer cannot be sent again.
    const isOwn = operation.key_is_recorded === true
    const { body, isReplayed } = await (isOwn ? done() : kept.once(place, idempotency_key, fingerprint, done))
    const isRepeated = isOwn && (JSON.parse(body) as { is_repeated?: boolean }).is_repeated === true
    if (isReplayed || isRepeated) void reply.header('idempotency-replayed', 'true')
    return body
  }

  return async (request: FastifyRequest, reply: FastifyReply) => {
    const idempotency_key = operation.method === 'POST' ? readKey(request.headers['idempotency-key']) : null
    const asked = readRequest(operation, {
      params: request.params,
      query: request.query,
      body: bodyOf(request),
      idempotency_key,
      by: request.token?.name ?? 'anonymous',
      scope: request.token?.scope ?? 'read',
    })
    void reply.type(jsonType)
    return operation.method === 'GET' ? get(request, reply, asked) : post(request, reply, asked)
  }
}

/** How many items of a list are serialised before other requests get their turn. */
const itemsAtOnce = 200

/** The answer as JSON. Long lists are serialised in slices, so that other requests get their turn in between. */
async function textOf(answer: unknown): Promise<string> {
  if (answer === null || typeof answer !== 'object' || Array.isArray(answer)) return JSON.stringify(answer)
  const fields: string[] = []
  for (const [name, value] of Object.entries(answer)) {
    if (value === undefined) continue
    if (!Array.isArray(value) || value.length <= itemsAtOnce) {
      fields.push(`${JSON.stringify(name)}:${JSON.stringify(value)}`)
      continue
    }
    const items: string[] = []
    for await (const slice of inSlices(value, itemsAtOnce)) items.push(JSON.stringify(slice).slice(1, -1))
    fields.push(`${JSON.stringify(name)}:[${items.join(',')}]`)
  }
  return `{${fields.join(',')}}`
}

/** No body means `{}`. `null` is a value of its own. */
const bodyOf = ({ body }: FastifyRequest): Json => (body === undefined ? {} : (body as Json))

/** Whether the client has this answer already (`If-None-Match`). */
export function isKnown({ headers }: FastifyRequest, etag: string): boolean {
  const asked = headers['if-none-match']
  if (asked === undefined) return false
  return asked === '*' || asked.split(',').some((one) => one.trim().replace(/^W\//, '') === etag)
}
