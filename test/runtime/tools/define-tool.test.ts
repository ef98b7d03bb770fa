import { expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { definitionDigest, type ToolDefinition, tool } from '../../../src/runtime/tools/define-tool.ts'
import { createRegistry } from '../../../src/runtime/tools/registry.ts'
import type { Tool } from '../../../src/runtime/tools/tool.ts'
import { sha256 } from '../../support/sha256.ts'

const input = z.object({ order: z.string().describe('Its number'), cents: z.int().default(100) })
const refund = tool({
  name: 'payments.refund',
  input,
  irreversible: true,
  run: (args) => {
    expectTypeOf(args).toEqualTypeOf<{ order: string; cents: number }>()
    return { refunded: args.cents }
  },
})

test('define tool: missing fields get safe defaults', () => {
  const { run, input: shape, ...declared } = refund
  expect(declared).toEqual({
    name: 'payments.refund',
    description: '',
    irreversible: true,
    idempotent: false,
    readOnly: false,
    approval: 'inherit',
    timeoutMs: 120_000,
    parallel: false,
    endsTurn: false,
    maxOutputBytes: 64_000,
    keyScope: 'session',
    onError: 'unknown',
    dedupe: true,
  })
})

test('define tool: a read-only tool may be repeated and runs beside others, unless it says that it must not', () => {
  const look = { name: 'look', input: z.object({}), readOnly: true, run: () => null }
  expect(tool(look)).toMatchObject({ idempotent: true, parallel: true })
  expect(tool({ ...look, parallel: false, idempotent: false })).toMatchObject({ idempotent: true, parallel: false })
})

test('define tool: the digest of a definition is the one that earlier versions recorded', () => {
  const declared = { readOnly: true, timeoutMs: 5, maxOutputBytes: 300, keyScope: 'global', onError: 'failed' } as const
  const refund = tool({
    name: 'payments.refund',
    description: 'Pays back.',
    input: z.object({ order: z.string() }),
    run: () => null,
    endsTurn: true,
    version: '2',
    ...declared,
  })
  expect(definitionDigest(refund, sha256)).toBe('4d3bcaa6c5a6e3253a6c25184142eb0fbd814ab100ee0b7271212ec38f841157')
})

test('define tool: tools of different inputs fit into one list', () => {
  const tools: readonly Tool[] = [refund, tool({ name: 'look', input: z.object({ at: z.string() }), run: () => null })]
  expect(createRegistry(tools, sha256).names).toEqual(['payments.refund', 'look'])
})

const good = { name: 'look', input: z.object({}), run: () => null }
const bad: readonly [string, Partial<ToolDefinition<z.ZodType>>, RegExp][] = [
  ['half a character in its description', { description: 'a\ud800' }, /description has a lone surrogate/],
  ['irreversible and readOnly', { irreversible: true, readOnly: true }, /Remove irreversible or readOnly/],
  ['a name with a space', { name: 'look around' }, /letters, digits, underscores and hyphens/],
  ['a name that begins with a digit', { name: '1look' }, /begins with a letter/],
  ['a name that ends in a dot', { name: 'look.' }, /joined by dots/],
  ['an empty name', { name: '' }, /begins with a letter/],
  ['the name of the built-in tool', { name: 'ask_person' }, /choose another/],
  [
    'a field that is misspelled',
    { irreversable: true } as object,
    /^The tool "look" cannot be defined: Unknown field "irreversable"\. Did you mean "irreversible"\? Known fields: name, /,
  ],
  [
    'a field as records spell it',
    { read_only: true } as object,
    /Unknown field "read_only"\. Did you mean "readOnly"\? Known fields: name, description, /,
  ],
  ['a field that is like no other', { colour: 'red' } as object, /Unknown field "colour"\. Known fields: name, /],
  [
    'an approval that is misspelled',
    { approval: 'allways' } as object,
    /Unknown value "allways" for approval\. Allowed: inherit, always, never/,
  ],
  [
    'a scope that is none',
    { keyScope: 'sesion' } as object,
    /Unknown value "sesion" for keyScope\. Allowed: session, global/,
  ],
  [
    'a yes that is a text',
    { irreversible: 'yes' } as object,
    /Unknown value "yes" for irreversible\. Allowed: true, false/,
  ],
  ['a probe that is none', { probe: true } as object, /Unknown value true for probe\. Allowed: a function/],
  ['no time to run', { timeoutMs: 0 }, /at least 1/],
  ['half a millisecond', { timeoutMs: 1.5 }, /whole number/],
  ['an endless timeout', { timeoutMs: Number.POSITIVE_INFINITY }, /whole number/],
  ['hardly any output', { maxOutputBytes: 10 }, /at least 256/],
  ['a date, which JSON does not have', { input: z.object({ on: z.date() }) }, /plain JSON.*Date/],
  ['a transform', { input: z.object({ n: z.string().transform(Number) }) }, /plain JSON.*Transform/],
  ['arguments without names', { input: z.string() }, /must be an object/],
  ['a union of which one branch has no names', { input: z.union([z.object({}), z.null()]) }, /must be an object/],
]

test.each(bad)('define tool: a tool with %s is refused', (_title, change, sentence) => {
  expect(() => tool({ ...good, ...change })).toThrow(
    expect.objectContaining({ code: 'bad_definition', message: expect.stringMatching(sentence) }),
  )
})

test('define tool: the digest of a definition changes with each thing that is declared, and with nothing else', () => {
  const changes: Partial<ToolDefinition<typeof input>>[] = [
    { name: 'payments.pay' },
    { description: 'Gives money back.' },
    { irreversible: false },
    { idempotent: true },
    { irreversible: false, readOnly: true },
    { approval: 'always' },
    { timeoutMs: 5 },
    { parallel: true },
    { maxOutputBytes: 1000 },
    { key: (args) => args.order },
    { keyScope: 'global' },
    { probe: async () => ({ outcome: 'did_not' }) },
  ]
  const digests = changes.map((change) => definitionDigest(tool({ ...refund, ...change }), sha256))
  const other = tool({ ...refund, input: input.extend({ note: z.string() }) })
  const all = [definitionDigest(refund, sha256), definitionDigest(other, sha256), ...digests]
  expect(new Set(all).size).toBe(changes.length + 2)

  const same = tool({ ...refund, run: () => 'something else', input: z.object(input.shape) })
  expect(definitionDigest(same, sha256)).toBe(definitionDigest(refund, sha256))
})

const ring: { ring?: unknown } = {}
ring.ring = ring
const strange = [null, 10n, ring, Symbol('s'), Object.create(null), new Proxy({}, {})]
const everyField = [...Object.keys(refund), 'version', 'key', 'probe', 'inputSchema'] as const

test.each(everyField)('tool: a value of another kind for %s is refused with a sentence', (field) => {
  for (const value of strange)
    expect(() => tool({ ...good, [field]: value })).toThrow(
      expect.objectContaining({
        code: 'bad_definition',
        message: expect.stringMatching(/^The tool ".*" cannot be defined: /),
      }),
    )
})

test('tool: an undefined field counts as not given, so its default holds', () => {
  const optional = everyField.filter((field) => !Object.hasOwn(good, field))
  const written = { ...good, ...Object.fromEntries(optional.map((field) => [field, undefined])) }
  expect(tool(written)).toEqual(tool(good))
  expect(Object.keys(tool(written)).toSorted()).toEqual(Object.keys(tool(good)).toSorted())
})

test('tool: an input that is no schema is refused in words of its own', () => {
  for (const [value, shown] of [
    [undefined, 'undefined'],
    [{ order: 'string' }, 'an object'],
  ] as const)
    expect(() => tool({ ...good, input: value as never })).toThrow(
      `input is ${shown}; it must be a schema of Zod 4, such as z.object({ order: z.int() }).`,
    )
})
