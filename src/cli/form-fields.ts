import type { Json } from '../kernel/json.ts'

export interface Field {
  readonly name: string
  readonly type?: string
  readonly label?: string
  readonly options?: readonly (string | { readonly value: string })[]
}

/** The fields of a form, as its request has them; other requests have none. */
export function fieldsOf(request: Readonly<Record<string, Json>>): readonly Field[] {
  return Array.isArray(request.fields) ? (request.fields as unknown as readonly Field[]) : []
}

export function choicesOf({ options = [] }: Field): readonly string[] {
  return options.map((option) => (typeof option === 'string' ? option : option.value))
}

/** What was typed, as the type of the field wants it; whether it fits is judged where it is recorded. */
export function valueFor({ type = 'text', options }: Field, typed: string): Json {
  if (type === 'number' || type === 'slider') return /^-?[0-9]+(\.[0-9]+)?$/.test(typed) ? Number(typed) : typed
  if (type === 'boolean' || (type === 'checkbox' && options === undefined)) return /^(y|yes|true|1)$/i.test(typed)
  if (type === 'multiselect' || type === 'checkbox') return typed.split(',').map((part) => part.trim())
  return typed
}
