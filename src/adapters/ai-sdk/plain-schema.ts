import type { Json } from '../../kernel/json.ts'

type Schema = Readonly<Record<string, Json>>

/**
 * A schema of arguments as providers accept it: an object, without choices at
 * its top. A tool that takes one of several shapes is described by all their
 * fields, of which those are required that every shape requires. What the model
 * then writes is checked against the real shape before anything runs.
 */
export function plainSchema(schema: Json): Schema {
  const { oneOf, anyOf, allOf, ...rest } = Object(schema) as Schema
  const one = shapesOf(oneOf ?? anyOf)
  const all = shapesOf(allOf)
  if (one.length + all.length === 0) return { type: 'object', ...rest }

  const fields = new Map<string, Json[]>()
  for (const { properties } of [rest, ...all, ...one])
    for (const [name, field] of Object.entries(Object(properties) as Schema)) {
      const known = fields.get(name) ?? []
      if (!known.some((other) => JSON.stringify(other) === JSON.stringify(field))) known.push(field)
      fields.set(name, known)
    }
  const { additionalProperties: _closed, ...open } = rest
  return {
    ...open,
    type: 'object',
    properties: Object.fromEntries([...fields].map(([name, kinds]) => [name, eitherOf(kinds)])),
    required: [...fields.keys()].filter(
      (name) => [rest, ...all].some(requires(name)) || (one.length > 0 && one.every(requires(name))),
    ),
  }
}

const shapesOf = (shapes: Json | undefined) => ((shapes ?? []) as readonly Json[]).map(plainSchema)

const requires = (name: string) => (shape: Schema) => ((shape.required ?? []) as readonly string[]).includes(name)

const eitherOf = (kinds: readonly Json[]): Json =>
  kinds.length === 1 && kinds[0] !== undefined ? kinds[0] : { anyOf: [...kinds] }
