import * as z from 'zod'
import type { Operation } from '../surface/operation.ts'
import { problemShape } from '../wire/common.ts'
import type { OtherRoute, StreamRoute } from './routes.ts'

type Schema = Readonly<Record<string, unknown>>

/** The published contract, made from the declarations that the server itself runs on. */
export function openApi(
  version: string,
  operations: readonly Operation[],
  streams: readonly StreamRoute[],
  others: readonly OtherRoute[],
) {
  const paths: Record<string, Record<string, object>> = {}
  const add = (path: string, method: string, described: object) => {
    paths[path] = { ...paths[path], [method.toLowerCase()]: described }
  }
  const schemas: Schemas = {}
  schemas.problem = schemaOf(problemShape, 'output', { name: 'problem', schemas })
  for (const operation of operations) add(operation.path, operation.method, described(operation, schemas))
  for (const stream of streams) {
    add(stream.path, 'GET', describedStream(stream))
    for (const [event, shape] of Object.entries(stream.events))
      schemas[schemaName(stream, event)] = schemaOf(shape, 'output', { name: schemaName(stream, event), schemas })
  }
  for (const other of others) add(other.path, 'GET', describedOther(other))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Statewright',
      version,
      description:
        'Times are milliseconds since 1970 (UTC). Lists go on with next_cursor, list_runes with next. Refusals are RFC 9457 problems.',
    },
    security: [{ token: [] }],
    paths,
    components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } }, schemas },
  }
}

function described({ name, summary, scope, params, query, body, returns, method }: Operation, schemas: Schemas) {
  const at = (part: string): Place => ({ name: `${name}.${part}`, schemas })
  const json = (shape: z.ZodType, io: 'input' | 'output', part: string) => ({
    content: { 'application/json': { schema: schemaOf(shape, io, at(part)) } },
  })
  const key = { name: 'Idempotency-Key', in: 'header', schema: { ...text, maxLength: 200 }, description: keySays }
  return {
    operationId: name,
    summary,
    'x-scope': scope,
    parameters: [
      ...parametersOf(params, 'path', at('path')),
      ...parametersOf(query, 'query', at('query')),
      ...(method === 'POST' ? [key] : []),
    ],
    ...(body !== null && { requestBody: { required: false, ...json(body, 'input', 'body') } }),
    responses: { 200: { description: 'The answer.', ...json(returns, 'output', 'returns') }, default: problem },
  }
}

const keySays = 'A request that is sent again with the same key and the same content takes effect once.'

const problem = {
  description: 'A refusal: the problem, the allowed values and the remedy.',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/problem' } } },
}

const schemaName = ({ name }: StreamRoute, event: string) => `${name}.${event}`

/** An event as a client parses it. OpenAPI 3.1 cannot describe one item of a stream, so this is a list, as in 3.2. */
function describedEvents(stream: StreamRoute): Schema {
  const items = Object.keys(stream.events).map((event) => ({
    type: 'object',
    required: ['event', 'data'],
    properties: {
      event: { const: event },
      data: {
        type: 'string',
        contentMediaType: 'application/json',
        contentSchema: { $ref: `#/components/schemas/${schemaName(stream, event)}` },
      },
      id: { type: 'string', description: 'A cursor. Only the last event of a record has one.' },
    },
  }))
  return { type: 'array', items: { oneOf: items } }
}

function describedStream(stream: StreamRoute) {
  const { name, summary, scope, path, query } = stream
  return {
    operationId: name,
    summary,
    'x-scope': scope,
    parameters: [
      ...idsIn(path),
      ...Object.entries(query).map(([id, description]) => ({ name: id, in: 'query', description, schema: text })),
      { name: 'Last-Event-ID', in: 'header', description: 'Where the reader was cut off.', schema: text },
    ],
    responses: {
      200: {
        description: 'Events, as they come.',
        content: { 'text/event-stream': { schema: describedEvents(stream) } },
      },
      204: { description: 'There is nothing more to come.' },
      default: problem,
    },
  }
}

function describedOther({ name, summary, scope, path, content_type }: OtherRoute) {
  return {
    operationId: name,
    summary,
    ...(scope === null ? { security: [] } : { 'x-scope': scope }),
    parameters: idsIn(path),
    responses: { 200: { description: 'The answer.', content: { [content_type]: { schema: {} } } }, default: problem },
  }
}

const text = { type: 'string' }

function idsIn(path: string) {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({ name, in: 'path', required: true, schema: text }))
}

function parametersOf(shape: z.ZodType, where: 'path' | 'query', place: Place) {
  const { properties = {}, required = [] } = schemaOf(shape, 'input', place) as {
    properties?: Record<string, Schema>
    required?: readonly string[]
  }
  const isRequired = (name: string) => where === 'path' || required.includes(name)
  return Object.entries(properties).map(([name, schema]) => ({ name, in: where, required: isRequired(name), schema }))
}

type Schemas = Record<string, Schema>

type Place = { readonly name: string; readonly schemas: Schemas }

function schemaOf(shape: z.ZodType, io: 'input' | 'output', { name, schemas }: Place): Schema {
  const made = z.toJSONSchema(shape, { io, unrepresentable: 'any' }) as Schema
  const { $schema: _, '~standard': __, $defs = {}, ...schema } = made
  // A shape that contains itself has parts with a name. References to them start at the root of the document.
  const moved = (part: unknown): Schema =>
    JSON.parse(JSON.stringify(part).replaceAll('"#/$defs/', `"#/components/schemas/${name}.`))
  for (const [part, of] of Object.entries($defs as Schemas)) schemas[`${name}.${part}`] = moved(of)
  return moved(schema)
}
