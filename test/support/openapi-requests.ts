import fc from 'fast-check'

/** The parts of a generated request: its path, and its query, headers and body. */
export interface Generated {
  readonly method: string
  readonly path: string
  readonly name: string
  readonly headers: Readonly<Record<string, string>>
  readonly raw: string | undefined
}

type Schema = Readonly<Record<string, unknown>>

interface Described {
  readonly operationId: string
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly required?: boolean
    readonly schema: Schema
  }[]
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Schema } } }
}

/** Values that have broken parsers before. */
const hostile: readonly unknown[] = [
  ...[
    null,
    true,
    0,
    -1,
    1.5,
    1e308,
    -1e308,
    2 ** 53,
    '',
    ' ',
    '\0',
    '\u2028',
    '\ud800',
    '\u202egnp',
    '💥',
    "'; DROP TABLE rune; --",
  ],
  ...['../../etc/passwd', '%2e%2e%2f', '{{7*7}}', '<script>', 'NaN', '__proto__', 'constructor', 'x'.repeat(5_000)],
  ...[[], {}, [[[[]]]], { constructor: { prototype: {} } }, { toString: 1 }, { length: -1 }],
]

/** Requests that fit the document, and requests that nearly do. `known` are ids of what is really there, by parameter. */
export function requestsFrom(
  document: { readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>> },
  known: (name: string) => readonly string[],
): fc.Arbitrary<Generated> {
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => requestFor(path, method.toUpperCase(), described, known)),
  )
  return fc.oneof(...all)
}

function requestFor(
  path: string,
  method: string,
  { operationId, parameters = [], requestBody }: Described,
  known: (name: string) => readonly string[],
): fc.Arbitrary<Generated> {
  const schema = requestBody?.content['application/json'].schema
  const query = parameters.filter((one) => one.in === 'query')
  return fc
    .record({
      ids: fc.tuple(...[...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => idFor(name, known))),
      query: fieldsOf(
        query.map((one) => [one.name, valueFor(one.schema, one.name, known)]),
        query.flatMap(({ name, required }) => (required ? [name] : [])),
        [],
      ),
      extra: seldom(fc.tuple(fc.string(), fc.string())),
      body: schema === undefined ? fc.constant(undefined) : bodyFor(schema, known),
      key: seldom(fc.oneof(fc.constantFrom('one', 'two', 'three', '"quoted"'), fc.string())),
    })
    .map(({ ids, query, extra, body, key }) => {
      let place = 0
      const filled = path.replaceAll(/\{\w+\}/g, () => ids[place++] ?? '')
      const asked = new URLSearchParams(
        Object.entries(query).map(([name, value]): [string, string] => [
          name,
          typeof value === 'string' ? value : JSON.stringify(value),
        ]),
      )
      if (extra !== null) asked.append(...extra)
      const isSendable = key !== null && /^[\x20-\x7e]*$/.test(key)
      return {
        method,
        name: operationId,
        path: asked.size === 0 ? filled : `${filled}?${asked}`,
        headers: isSendable ? { 'idempotency-key': key } : {},
        raw: body,
      }
    })
}

function seldom<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> {
  return fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, { weight: 1, arbitrary })
}

function idFor(name: string, known: (name: string) => readonly string[]): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 8, arbitrary: fc.nat().map((n) => known(name)[n % Math.max(1, known(name).length)] ?? 'none') },
    {
      weight: 1,
      arbitrary: fc.string({ unit: 'binary', maxLength: 20 }).map((text) => encodeURIComponent(text.toWellFormed())),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        '..%2f..',
        '%00',
        '%',
        '.',
        '..',
        'a/b',
        'x'.repeat(600),
        '-1',
        '0',
        '99999999999999999999',
      ),
    },
  )
}

function bodyFor(schema: Schema, known: (name: string) => readonly string[]): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 8, arbitrary: valueFor(schema, '', known).map((value) => JSON.stringify(value) ?? '') },
    { weight: 2, arbitrary: fc.json() },
    { weight: 1, arbitrary: fc.constantFrom(...hostile).map((value) => JSON.stringify(value)) },
    { weight: 1, arbitrary: fc.string() },
  )
}

type Fields = Readonly<Record<string, unknown>>

/** Now only what has to be there, now any of it: where there is much to say, who says it all is seldom right. */
function fieldsOf(
  fields: readonly (readonly [string, fc.Arbitrary<unknown>])[],
  required: readonly string[],
  kept: readonly string[],
): fc.Arbitrary<Fields> {
  const least = fields.filter(([name]) => required.includes(name))
  return fc.oneof(
    { weight: 1, arbitrary: fc.record(Object.fromEntries(least)) },
    { weight: 2, arbitrary: fc.record(Object.fromEntries(fields), { requiredKeys: [...kept] }) },
  )
}

/** A value of this shape, most of the time. */
function valueFor(schema: Schema, name: string, known: (name: string) => readonly string[]): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 9, arbitrary: fitting(schema, name, known) },
    { weight: 1, arbitrary: fc.constantFrom(...hostile) },
  )
}

function fitting(schema: Schema, name: string, known: (name: string) => readonly string[]): fc.Arbitrary<unknown> {
  const {
    type,
    anyOf,
    properties = {},
    required = [],
    minimum,
    maximum,
  } = schema as {
    type?: string
    anyOf?: readonly Schema[]
    properties?: Readonly<Record<string, Schema>>
    required?: readonly string[]
    minimum?: number
    maximum?: number
  }
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum)
  if (anyOf !== undefined) return fc.oneof(...anyOf.map((one) => fitting(one, name, known)))
  switch (type) {
    case 'object':
      return fieldsOf(
        Object.entries(properties).map(([field, one]) => [field, valueFor(one, field, known)]),
        required,
        required,
      )
    case 'integer':
    case 'number':
      return fc.integer({ min: Math.max(minimum ?? -10, -1e9), max: Math.min(maximum ?? 1_000, 1e9) })
    case 'boolean':
      return fc.boolean()
    case 'array':
      return fc.array(fitting((schema.items ?? {}) as Schema, name, known), { maxLength: 5 })
    case 'string':
      if (known(name).length > 0) return fc.nat().map((n) => known(name)[n % known(name).length])
      if (typeof schema.pattern === 'string') return fc.stringMatching(new RegExp(schema.pattern), { maxLength: 20 })
      return fc.string({ unit: 'binary', maxLength: 50 })
    default:
      if (name === 'reply') return fc.constantFrom<unknown>(...replies)
      return fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constantFrom<unknown>(...replies))
  }
}

/** Replies that some question may be waiting for. */
const replies = [
  { decision: 'approve' },
  { decision: 'deny', reason: 'No.' },
  { action: 'approve', data: { choice: 'red' } },
  { action: 'reject' },
  { answer: 'Yes.' },
]
