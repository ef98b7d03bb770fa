import { createRequire } from 'node:module'
import type { RE2JS } from 're2js'
import * as z from 'zod'
import { boundedJson, type Json, jsonLimits } from '../../kernel/json.ts'
import { sayValue } from '../thrown.ts'
import type { Tool } from './tool.ts'

type Schema = Readonly<Record<string, Json>>

type Rule = { readonly way: readonly Step[]; readonly pattern: RE2JS; readonly source: string }

type Step = { readonly member: string } | 'items' | 'members'

/**
 * The shape of a foreign JSON Schema, or its problem. Its patterns run in RE2, in time linear in the text, never in a
 * backtracking engine. A pattern that RE2 cannot express (look-around, back references) is a problem. So is a pattern
 * below `anyOf`, `oneOf`, `not`, `if` or `contains`, where it cannot be checked apart from the rest.
 */
export function foreignShape(given: unknown): { readonly shape: z.ZodType } | { readonly problem: string } {
  const read = boundedJson(given, jsonLimits.schema)
  if ('problem' in read) return read
  const rules: Rule[] = []
  try {
    measure(read.value)
    const plain = withoutPatterns(read.value, [], (rule) => rules.push(rule))
    const shape = z.fromJSONSchema(plain as Parameters<typeof z.fromJSONSchema>[0])
    return { shape: rules.length === 0 ? shape : shape.superRefine((value, context) => check(value, rules, context)) }
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) }
  }
}

/** Schemas stand in these places: one, a list of them, or one for each name. */
// biome-ignore format: one line for what belongs together
const single = [
  'additionalProperties', 'additionalItems', 'contains', 'else', 'if', 'items', 'not', 'propertyNames', 'then',
]
const listed = ['allOf', 'anyOf', 'items', 'oneOf', 'prefixItems']
const named = ['$defs', 'definitions', 'dependentSchemas', 'patternProperties', 'properties']

/** Keywords below which a separate check is possible: their schema must hold in any case. */
const unconditional: ReadonlySet<string> = new Set(['additionalProperties', 'allOf', 'items', 'properties'])

function* children(schema: Schema): Generator<readonly [place: string, child: Json]> {
  for (const place of single) {
    const child = schema[place]
    if (child !== undefined && !Array.isArray(child)) yield [place, child]
  }
  for (const place of listed) {
    const children = schema[place]
    if (Array.isArray(children)) for (const child of children as readonly Json[]) yield [place, child]
  }
  for (const place of named) for (const child of Object.values(Object(schema[place]) as Schema)) yield [place, child]
}

/** Counts the nodes of a check with every reference followed: a schema may refer to itself. */
function measure(root: Json): void {
  const left: Json[] = [root]
  let size = 0
  for (let schema = left.pop(); schema !== undefined; schema = left.pop()) {
    if (schema === null || typeof schema !== 'object' || Array.isArray(schema)) continue
    size += 1
    if (size > jsonLimits.schema.values)
      throw new Error('It refers to itself, or it is too large once its references are followed.')
    const { $ref } = schema as Schema
    if (typeof $ref === 'string') left.push(at(root, $ref))
    for (const [place, child] of children(schema as Schema))
      if (place !== '$defs' && place !== 'definitions') left.push(child)
  }
}

function at(root: Json, ref: string): Json {
  if (!ref.startsWith('#'))
    throw new Error(`It refers to ${JSON.stringify(ref.slice(0, 80))}, which is not part of it.`)
  let found: Json | undefined = root
  for (const step of ref.slice(1).split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    found = Object.hasOwn(Object(found), key) ? (Object(found) as Schema)[key] : undefined
  }
  if (found === undefined) throw new Error(`It refers to ${JSON.stringify(ref.slice(0, 80))}, which it does not have.`)
  return found
}

function withoutPatterns(schema: Json, way: readonly Step[] | null, found: (rule: Rule) => void): Json {
  if (schema === null || typeof schema !== 'object' || Array.isArray(schema)) return schema
  const { pattern, patternProperties, ...rest } = schema as Schema
  if (patternProperties !== undefined)
    throw new Error('It has patternProperties, which cannot be checked apart from the rest.')
  if (pattern !== undefined) {
    if (way === null) throw new Error('It has a pattern below a part that need not hold, where it cannot be checked.')
    found({ way, pattern: compiled(String(pattern)), source: String(pattern) })
  }
  const out: Record<string, Json> = { ...rest }
  const { properties, prefixItems } = rest as { properties?: Json; prefixItems?: Json }
  for (const place of new Set([...single, ...listed, ...named])) {
    const part = rest[place]
    if (part === undefined || part === null || typeof part !== 'object') continue
    const holds = way !== null && unconditional.has(place)
    const below = (key: string): readonly Step[] | null => {
      if (!holds) return null
      if (place === 'allOf') return way
      if (place === 'properties') return [...way, { member: key }]
      // Beside named members or a tuple, it binds only what those leave over.
      if (place === 'additionalProperties') return properties === undefined ? [...way, 'members'] : null
      return prefixItems === undefined && !Array.isArray(part) ? [...way, 'items'] : null
    }
    if (Array.isArray(part)) out[place] = part.map((child: Json) => withoutPatterns(child, below(''), found))
    else if (named.includes(place))
      out[place] = Object.fromEntries(
        Object.entries(part as Schema).map(([key, child]) => [key, withoutPatterns(child, below(key), found)]),
      )
    else out[place] = withoutPatterns(part, below(''), found)
  }
  return out
}

const longestPattern = 1_000
const load = createRequire(import.meta.url)

/** RE2 is 300 kB and rarely needed: the first pattern loads it, and a bundle has to find it installed. */
function loadRe2(): typeof RE2JS {
  try {
    return load('re2js').RE2JS
  } catch (cause) {
    throw new Error('It has a pattern, and no package checks it here; run "npm install re2js@^2.10.0".', { cause })
  }
}

function compiled(pattern: string): RE2JS {
  if (pattern.length > longestPattern) throw new Error(`It has a pattern of more than ${longestPattern} characters.`)
  const re2 = loadRe2()
  try {
    return re2.compile(pattern)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new Error(`RE2 cannot read its pattern ${JSON.stringify(pattern.slice(0, 80))}: ${why.slice(0, 200)}.`)
  }
}

function check(value: unknown, rules: readonly Rule[], context: z.RefinementCtx): void {
  for (const { way, pattern, source } of rules)
    for (const { path, text } of textsAt(value, way, []))
      if (!pattern.matcher(text).find())
        context.addIssue({ code: 'custom', path: [...path], message: `It must match ${source.slice(0, 100)}.` })
}

function* textsAt(
  value: unknown,
  [step, ...rest]: readonly Step[],
  path: readonly (string | number)[],
): Generator<{ readonly path: readonly (string | number)[]; readonly text: string }> {
  if (step === undefined) {
    if (typeof value === 'string') yield { path, text: value }
  } else if (step === 'items') {
    if (Array.isArray(value)) for (const [i, item] of value.entries()) yield* textsAt(item, rest, [...path, i])
  } else if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    for (const [key, member] of Object.entries(value))
      if (step === 'members' || step.member === key) yield* textsAt(member, rest, [...path, key])
  }
}

/**
 * The JSON Schema of a tool's arguments, or its problem. Both sides of the shape must be JSON: the model writes and the
 * tool receives one value. With a transform in between, a person would approve another value than the tool gets.
 */
function inputSchema(input: z.ZodType): { schema: Schema } | { problem: string } {
  if (typeof Object(Object(input)._zod).run !== 'function')
    return {
      problem: `input is ${sayValue(input)}; it must be a schema of Zod 4, such as z.object({ order: z.int() }).`,
    }
  try {
    z.toJSONSchema(input, { io: 'output' })
    const { $schema, ...schema } = z.toJSONSchema(input, { io: 'input' }) as Record<string, Json>
    if (!describesObject(schema)) return { problem: 'Its input must be an object, since models write named arguments.' }
    return { schema: { type: 'object', ...schema } }
  } catch (error) {
    return { problem: `Its input must be plain JSON; convert inside run(). ${(error as Error).message}.` }
  }
}

/** The JSON Schema of the arguments for the model: the one of the tool, or the one of its shape. */
export function toldSchema({ input, inputSchema: given }: Pick<Tool, 'input' | 'inputSchema'>) {
  if (given === undefined) return inputSchema(input)
  return Object(given) === given && describesObject(given)
    ? { schema: given }
    : { problem: 'Its inputSchema must be an object.' }
}

function describesObject(schema: Schema): boolean {
  if (schema.type !== undefined) return schema.type === 'object'
  const branches = (schema.oneOf ?? schema.anyOf ?? []) as readonly Schema[]
  return branches.length > 0 && branches.every(describesObject)
}
