import { z } from 'zod'
import { code } from './page.ts'

/** The part of a JSON schema that the pages read. */
export interface Schema {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly default?: unknown
}

export function json(type: z.ZodType, io: 'input' | 'output'): Schema {
  return z.toJSONSchema(type, { io, unrepresentable: 'any' }) as Schema
}

export function typeOf({ type, enum: values, const: only, anyOf, items }: Schema): string {
  if (values !== undefined) return values.map((value) => code(String(value))).join(', ')
  if (only !== undefined) return code(JSON.stringify(only))
  if (anyOf !== undefined) return [...new Set(anyOf.map(typeOf))].join(' or ')
  if (type === 'array') return `list of ${typeOf(items ?? {})}`
  if (Array.isArray(type)) return type.join(' or ')
  return typeof type === 'string' ? type : 'any JSON'
}
