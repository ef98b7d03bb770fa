import * as z from 'zod'
import { readDay, readInstant } from '../../kernel/instant.ts'
import { boundedJson, type Json, jsonLimits, type Problem, pointerTo } from '../../kernel/json.ts'
import { type EcsRequest, ecsInput, type Field, type FieldType, formOf } from '../../wire/form.ts'
import type { ToolDescription } from '../model.ts'
import { problemSentence, shapeProblems } from '../shape-problems.ts'

/** Reads the question of a model or a tool. A form that cannot be answered is refused before a person sees it. */
export function readEcsRequest(args: unknown): { readonly request: EcsRequest } | { readonly problem: string } {
  const given = boundedJson(args, jsonLimits.arguments)
  if ('problem' in given) return refused([{ pointer: '', problem: given.problem }])
  const parsed = ecsInput.safeParse(given.value)
  if (!parsed.success) return refused(shapeProblems(parsed.error))
  const request = formOf(parsed.data)
  const problems = [...partProblems(request), ...fieldProblems(request.fields)]
  return problems.length === 0 ? { request } : refused(problems)
}

function refused(problems: readonly Problem[]) {
  return { problem: `The request does not fit: ${problemSentence(problems)}. No person was asked.`.toWellFormed() }
}

function partProblems({ type, fields, displays = [] }: EcsRequest): Problem[] {
  const problems: Problem[] = []
  if (type === 'form' && fields.length === 0) problems.push({ pointer: '/fields', problem: 'A form needs a field.' })
  if (type !== 'form' && fields.length > 0)
    problems.push({ pointer: '/fields', problem: `A ${type} has no fields; use type form.` })
  if (type === 'display' && displays.length === 0)
    problems.push({ pointer: '/displays', problem: 'A display needs something to show.' })
  return problems
}

function fieldProblems(fields: readonly Field[]): Problem[] {
  const names = new Set<string>()
  return fields.flatMap((field, i) => {
    const found = [...oneField(field)]
    if (names.has(field.name)) found.push(['name', `Another field is called ${field.name}.`])
    names.add(field.name)
    return found.map(([part, problem]) => ({ pointer: `/fields/${i}/${part}`, problem }))
  })
}

function* oneField(field: Field): Generator<readonly [part: string, problem: string]> {
  const { type, options, min, max } = field
  if (hasOptions(field)) {
    const values = (options ?? []).map((option) => option.value)
    if (values.length === 0) yield ['options', `A ${type} needs options.`]
    if (new Set(values).size !== values.length) yield ['options', 'Two options have the same value.']
    if (typeof min === 'number' && min > values.length) yield ['min', 'There are not that many options.']
  } else if (options !== undefined) yield ['options', `A ${type} has no options.`]

  const bound = boundOf(field)
  if (min !== undefined && bound(min) === undefined) yield ['min', `It does not bound a ${type}.`]
  if (max !== undefined && bound(max) === undefined) yield ['max', `It does not bound a ${type}.`]
  const [low, high] = [min, max].map((value) => (value === undefined ? undefined : bound(value)))
  if (low !== undefined && high !== undefined && low > high) yield ['min', 'It is greater than max.']
  if (type === 'slider' && (min === undefined || max === undefined)) yield ['min', 'A slider needs min and max.']
  if (field.step !== undefined && type !== 'number' && type !== 'slider') yield ['step', `A ${type} has no steps.`]

  if (field.default === undefined || isEmpty(field.default)) return
  const problem = valueProblem(field, field.default)
  if (problem !== undefined) yield ['default', problem]
}

function hasOptions({ type, options }: Field): boolean {
  return ['select', 'radio', 'multiselect'].includes(type) || (type === 'checkbox' && options !== undefined)
}

function boundOf(field: Field): (bound: number | string) => number | undefined {
  const count = (bound: number | string) => (typeof bound === 'number' ? bound : undefined)
  switch (field.type) {
    case 'date':
      return (bound) => (typeof bound === 'string' ? readDay(bound) : undefined)
    case 'datetime':
      return (bound) => (typeof bound === 'string' ? readInstant(bound) : undefined)
    case 'select':
    case 'radio':
    case 'boolean':
      return () => undefined
    case 'checkbox':
      return hasOptions(field) ? count : () => undefined
    default:
      return count
  }
}

type Data = Readonly<Record<string, Json>>

/** Checks an answer against the fields of its form, with defaults filled in. Lists all problems. */
export function checkAnswer(
  request: EcsRequest,
  { action, data: given = {} }: { readonly action: 'approve' | 'edit' | 'reject'; readonly data?: Data | undefined },
): { readonly data: Data } | { readonly problems: readonly Problem[] } {
  if (action === 'reject') return { data: {} }
  const known = new Set(request.fields.map((field) => field.name))
  const problems: Problem[] = Object.keys(given)
    .filter((name) => !known.has(name))
    .map((name) => ({ pointer: pointerTo(['data', name]), problem: 'There is no such field.' }))

  const data: Record<string, Json> = {}
  for (const field of request.fields) {
    const pointer = `/data/${field.name}`
    const value = Object.hasOwn(given, field.name) ? given[field.name] : field.default
    if (value === undefined || isEmpty(value)) {
      if (field.required) problems.push({ pointer, problem: `${field.label} is required.` })
      else if (value !== undefined && value !== null) data[field.name] = value
      continue
    }
    const problem = valueProblem(field, value)
    if (problem !== undefined) problems.push({ pointer, problem })
    else data[field.name] = value
  }
  return problems.length === 0 ? { data } : { problems }
}

/** The answer without a person: complete defaults. A confirmation has none, since silence never approves. */
export function defaultsOf(request: EcsRequest): Data | undefined {
  if (request.type === 'confirmation') return undefined
  const checked = checkAnswer(request, { action: 'approve' })
  return 'data' in checked ? checked.data : undefined
}

/** The tool through which a model hands a step to a person. */
export const askPersonName = 'ask_person'

const { $schema, ...input_schema } = z.toJSONSchema(ecsInput, { io: 'input' }) as Record<string, Json>

/** Every agent has it by default. A person answers it, not code. */
export const askPerson: ToolDescription = {
  name: askPersonName,
  description:
    'Asks a person and waits for the answer, which may take days. Use type form for data that only a person has, confirmation for a decision, display to show something. Give a field a default where there is a sensible one.',
  input_schema,
}

type Check = (field: Field, value: Json) => string | undefined

/** The problem of a value for a field; undefined if it fits. One row for each type of field. */
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

/** The problem of a value for a field; undefined if it fits. */
const valueProblem = (field: Field, value: Json): string | undefined => checks[field.type](field, value)

/** No value, or an empty text or list. */
function isEmpty(value: Json | undefined): boolean {
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
