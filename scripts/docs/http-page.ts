import type { z } from 'zod'
import { streamRoutes } from '../../src/server/routes.ts'
import type { Streams } from '../../src/server/streams/streams.ts'
import type { Operation } from '../../src/surface/operation.ts'
import { operations } from '../../src/surface/operations/all.ts'
import { code, type Page, page, table } from './page.ts'
import { json, type Schema, typeOf } from './schema.ts'

const scopes = [
  ['read', 'look at everything that is public'],
  ['operate', 'also give agents work, steer and stop it'],
  ['approve', 'also answer what waits for a person'],
  ['admin', 'also what concerns the store as a whole'],
] as const

export const httpPage: Page = {
  path: 'docs/reference/http.md',
  render: () =>
    page(
      'HTTP',
      'Every operation is declared once, in `src/surface/operations`; the server makes a route of it, the command line calls it, and this page lists it. `GET /api/openapi.json` is the same as a document for programs (OpenAPI 3.1).',
      [
        '- `Authorization: Bearer TOKEN` with every request. A token has one scope, and each scope allows what stands before it.',
        '- A body is JSON with `Content-Type: application/json`. Times are milliseconds since 1970, UTC.',
        '- A list is `{ "items": […], "next_cursor": "…" | null }`; send `cursor` for the next page. `list_runes` has `next` instead: send it as `after`, or as `before` with `backward`. `find_subjects` has no next page; give more of the id.',
        '- `Idempotency-Key` with any POST: the same key and the same content make the same request. What it brings about is brought about once, also when the first answer was lost in a crash.',
        '- A refusal is a problem (RFC 9457): `{ type, title, status, detail, code, retry, outcome, details, request_id }`. Branch on `code`: [faults](faults.md).',
        '- `GET /healthz` (alive), `GET /readyz` (takes requests) and the console’s pages and files need no token. Any other address answers 404.',
      ].join('\n'),
      table(
        ['scope', 'may'],
        scopes.map(([name, may]) => [code(name), may]),
      ),
      '## Operations',
      table(
        ['operation', 'request', 'scope', 'what it does'],
        operations.map(({ name, method, path, scope, summary }) => [
          `[${name}](#${name})`,
          code(`${method} ${path}`),
          scope,
          summary,
        ]),
      ),
      ...operations.flatMap(section),
      ...streaming,
    ),
}

/** Only what routes say about themselves is read here; none is opened. */
const streams = streamRoutes({} as Streams)

const streaming = [
  '## Streams',
  'Server-sent events. Read them with `fetch`, which can send the token; `EventSource` cannot. `id:` is a cursor: send it back as `Last-Event-ID`, or as `after`, and the stream goes on without gap or duplicate, also after a restart of the server. A reader that does not keep up is cut off and may come back. Without anything to say there is a comment every 15 s.',
  table(
    ['stream', 'request', 'scope', 'what comes', 'events', 'query'],
    streams.map(({ name, path, scope, summary, events, query }) => [
      code(name),
      code(`GET ${path}`),
      scope ?? 'none',
      summary,
      Object.keys(events).map(code).join(', '),
      Object.entries(query)
        .map(([field, says]) => `${code(field)}: ${says}`)
        .join(' '),
    ]),
  ),
  '[Streams](../streams.md) says when each event comes; the OpenAPI document has a JSON schema of each. `GET /api/sessions/{session_id}/bundle` (scope `admin`) is the export of a session as NDJSON.',
]

function section(operation: Operation): readonly string[] {
  const { name, method, path, scope, summary, query, body, returns } = operation
  const asked = [...fields(query, 'query', 'input'), ...(body === null ? [] : fields(body, 'body', 'input'))]
  return [
    `### ${name}`,
    `${code(`${method} ${path}`)}, scope ${code(scope)}. ${summary}`,
    ...(asked.length === 0 ? [] : [table(['in', 'field', 'type', '', ''], asked)]),
    `Answers with ${shape(json(returns, 'output'))}.`,
  ]
}

function fields(type: z.ZodType, where: string, io: 'input' | 'output'): readonly (readonly string[])[] {
  const { properties = {}, required = [] } = json(type, io)
  return Object.entries(properties).map(([name, schema]) => [
    where,
    code(name),
    typeOf(schema),
    required.includes(name) ? 'required' : '',
    schema.default === undefined ? '' : `else ${code(JSON.stringify(schema.default))}`,
  ])
}

/** The fields of an answer, one level deep: the OpenAPI document has their fields. */
function shape(schema: Schema): string {
  if (schema.type === 'array') return `a list of ${shape(schema.items ?? {})}`
  const names = Object.entries(schema.properties ?? {}).map(([name, { items }]) => {
    // Of several shapes the first one is shown: they have the same envelope.
    const { properties } = items?.oneOf?.[0] ?? items ?? {}
    return properties === undefined ? code(name) : `${code(name)} [${Object.keys(properties).map(code).join(', ')}]`
  })
  return names.length === 0 ? 'a value' : `{ ${names.join(', ')} }`
}
