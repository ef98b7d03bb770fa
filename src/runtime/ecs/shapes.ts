import { z } from 'zod'
import { readDay, readInstant } from '../../kernel/instant.ts'
import type { Json } from '../../kernel/json.ts'
import { ecsInput, type Field, type FieldType } from '../../wire/form.ts'
import type { ToolDescription } from '../model.ts'

/** The tool through which a model hands a step to a person. */
export const askPersonName = 'ask_person'

const { $schema, ...input_schema } = z.toJSONSchema(ecsInput, { io: 'input' }) as Record<string, Json>

/** Every agent has it unless it says otherwise; it is answered by a person and not by code. */
export const askPerson: ToolDescription = {
  name: askPersonName,
  description:
    'Asks a person and waits for the answer, which may take days. Use type form for data that only a person has, confirmation for a decision, display to show something. Give a field a default where there is a sensible one.',
  input_schema,
}

type Check = (field: Field, value: Json) => string | undefined

/** What is wrong with a value that was given for a field; undefined if it fits. One row for each type of field. */
// biome-ignore format: tables are audited by eye, so their columns line up
const checks: { readonly [T in FieldType]: Check } = {
  text:        (f, v) => (typeof v === 'string' ? (oneLine(v) ?? outside(f, v.length, 'characters')) : 'It must be a text.'),
  textarea:    (f, v) => (typeof v === 'string' ? outside(f, v.length, 'characters') : 'It must be a text.'),
  select:      (f, v) => notAnOption(f, v),
  radio:       (f, v) => notAnOption(f, v),
  multiselect: (f, v) => notOptions(f, v),
  checkbox:    (f, v) => (f.options === undefined ? notTicked(f, v) : notOptions(f, v)),
  boolean:     (_, v) => (typeof v === 'boolean' ? undefined : 'It must be true or false.'),
  number:      (f, v) => notANumber(f, v),
  slider:      (f, v) => notANumber(f, v),
  date:        (f, v) => notInTime(f, v, readDay, 'a date like 2026-02-28'),
  datetime:    (f, v) => notInTime(f, v, readInstant, 'a moment with its offset, like 2026-02-28T10:30:00+01:00'),
}

/** Why a value does not fit a field; undefined if it fits. */
export function valueProblem(field: Field, value: Json): string | undefined {
  return checks[field.type](field, value)
}

/** No value, or an empty text or list. */
export function isEmpty(value: Json | undefined): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
}

const oneLine = (text: string) => (/[\r\n]/.test(text) ? 'It must be a single line.' : undefined)

function outside({ min, max }: Field, size: number, unit: string): string | undefined {
  const of = unit === '' ? '' : ` ${unit}`
  if (typeof min === 'number' && size < min) return `It must be at least ${min}${of}; it is ${size}.`
  if (typeof max === 'number' && size > max) return `It must be at most ${max}${of}; it is ${size}.`
  return undefined
}

const valuesOf = ({ options = [] }: Field) => options.map((option) => option.value)

function notAnOption(field: Field, value: Json): string | undefined {
  const values = valuesOf(field)
  return typeof value === 'string' && values.includes(value) ? undefined : `It must be one of ${values.join(', ')}.`
}

function notOptions(field: Field, value: Json): string | undefined {
  const values = valuesOf(field)
  if (!Array.isArray(value) || !value.every((v) => typeof v === 'string' && values.includes(v)))
    return `It must be a list of any of ${values.join(', ')}.`
  if (new Set(value).size !== value.length) return 'Each option can be chosen once.'
  return outside(field, value.length, 'options')
}

/** A required box is consent: unticked is no answer. */
function notTicked({ required }: Field, value: Json): string | undefined {
  if (typeof value !== 'boolean') return 'It must be true or false.'
  return required && !value ? 'It must be ticked.' : undefined
}

function notANumber(field: Field, value: Json): string | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value)) return 'It must be a number.'
  return outside(field, value, '') ?? offStep(field, value)
}

/** Steps are counted from `min`, as browsers do. 0.3 is three steps of 0.1, whatever binary fractions make of it. */
function offStep({ step, min }: Field, value: number): string | undefined {
  if (step === undefined) return undefined
  const from = typeof min === 'number' ? min : 0
  const steps = (value - from) / step
  if (Math.abs(steps - Math.round(steps)) < 1e-9 * Math.max(1, Math.abs(steps))) return undefined
  return `It must be ${from} and a whole number of steps of ${step}.`
}

function notInTime({ min, max }: Field, value: Json, read: (text: string) => number | undefined, shape: string) {
  const at = typeof value === 'string' ? read(value) : undefined
  if (at === undefined) return `It must be ${shape}.`
  if (typeof min === 'string' && at < (read(min) ?? at)) return `It must not be before ${min}.`
  if (typeof max === 'string' && at > (read(max) ?? at)) return `It must not be after ${max}.`
  return undefined
}
