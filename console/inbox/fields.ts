import type { Json, JsonObject } from '../../src/kernel/json.ts'
import { type EcsRequest, ecsInput, type Field, formOf } from '../../src/wire/form.ts'

/** The form in a request; undefined if there is none, such as in a request whose content was erased. */
export function formIn(request: JsonObject): EcsRequest | undefined {
  const read = ecsInput.safeParse(request)
  return read.success ? formOf(read.data) : undefined
}

/** The initial values of a form. */
export function firstValue({ type, default: given, options, min }: Field): Json {
  if (given !== undefined) return type === 'datetime' ? localMoment(String(given)) : given
  if (type === 'multiselect' || (type === 'checkbox' && options !== undefined)) return []
  if (type === 'checkbox' || type === 'boolean') return false
  return type === 'slider' ? Number(min ?? 0) : ''
}

/** The answer to send: no value for an empty field, numbers as numbers, times with their offset. */
export function sentValue({ type }: Field, value: Json): Json | undefined {
  if (value === '' || value === null) return undefined
  if (type === 'number' || type === 'slider') return Number(value)
  if (type === 'datetime') return new Date(String(value)).toISOString()
  return value
}

function localMoment(text: string): string {
  const at = new Date(text)
  if (Number.isNaN(at.getTime())) return ''
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
