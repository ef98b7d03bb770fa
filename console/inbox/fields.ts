import type { Json, JsonObject } from '../../src/kernel/json.ts'

/** One field of a form. */
export interface Field {
  readonly name: string
  readonly type: string
  readonly label: string
  readonly required: boolean
  readonly placeholder?: string
  readonly default?: Json
  readonly options?: readonly { readonly value: string; readonly label: string }[]
  readonly min?: number | string
  readonly max?: number | string
  readonly step?: number
}

interface Written extends Partial<Omit<Field, 'options'>> {
  readonly name: string
  readonly options?: readonly (string | { readonly value: string; readonly label?: string })[]
}

/** The fields of a form as the model wrote them, with what it may leave out filled in. */
export function fieldsOf(request: JsonObject): readonly Field[] {
  if (!isForm(request)) return []
  return request.fields.map(({ options, ...field }) => ({
    type: 'text',
    label: field.name,
    required: false,
    ...field,
    ...(options !== undefined && { options: options.map(labelled) }),
  }))
}

/** The server checked the fields against their schema. */
function isForm(request: object): request is { readonly fields: readonly Written[] } {
  return 'fields' in request && Array.isArray(request.fields)
}

function labelled(option: string | { readonly value: string; readonly label?: string }) {
  return typeof option === 'string'
    ? { value: option, label: option }
    : { value: option.value, label: option.label ?? option.value }
}

/** What a form shows before anybody touched it. */
export function firstValue({ type, default: given, options, min }: Field): Json {
  if (given !== undefined) return type === 'datetime' ? localMoment(String(given)) : given
  if (type === 'multiselect' || (type === 'checkbox' && options !== undefined)) return []
  if (type === 'checkbox' || type === 'boolean') return false
  return type === 'slider' ? Number(min ?? 0) : ''
}

/** What is sent: nothing for a field that was left empty, numbers as numbers, moments with their offset. */
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
