import { readDay, readInstant } from '../../kernel/instant.ts'
import { boundedJson, type Json, jsonLimits, type Problem, pointerTo } from '../../kernel/json.ts'
import { type EcsRequest, ecsInput, type Field, formOf } from '../../wire/form.ts'
import { problemSentence, shapeProblems } from '../shape-problems.ts'
import { isEmpty, valueProblem } from './shapes.ts'

/** Reads what a model or a tool asked of a person. A form that cannot be answered is refused before a person sees it. */
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

/** Checks an answer against the fields that were asked for, with defaults filled in. Names everything that is wrong. */
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

/** The answer that silence gives: complete defaults. A confirmation has none, since silence never approves. */
export function defaultsOf(request: EcsRequest): Data | undefined {
  if (request.type === 'confirmation') return undefined
  const checked = checkAnswer(request, { action: 'approve' })
  return 'data' in checked ? checked.data : undefined
}
