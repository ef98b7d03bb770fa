import { z } from 'zod'
import type { Json } from '../../kernel/json.ts'
import { sayValue } from '../say-value.ts'
import type { Tool } from './tool.ts'

type Schema = Readonly<Record<string, Json>>

/**
 * The JSON Schema of a tool's arguments, or why there is none.
 *
 * Both sides of the shape must be JSON: what the model writes and what the tool
 * receives are then one value, which can be recorded, approved and hashed. With
 * a transform in between, a person would approve something else than what runs.
 */
export function inputSchema(input: z.ZodType): { schema: Schema } | { problem: string } {
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

/** What a model is told about the arguments: what the tool brought along, or what follows from its shape. */
export function toldSchema({ input, input_schema }: Pick<Tool, 'input' | 'input_schema'>) {
  if (input_schema === undefined) return inputSchema(input)
  return Object(input_schema) === input_schema && describesObject(input_schema)
    ? { schema: input_schema }
    : { problem: 'Its input_schema must be an object.' }
}

function describesObject(schema: Schema): boolean {
  if (schema.type !== undefined) return schema.type === 'object'
  const branches = (schema.oneOf ?? schema.anyOf ?? []) as readonly Schema[]
  return branches.length > 0 && branches.every(describesObject)
}
