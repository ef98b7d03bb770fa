import * as z from 'zod'
import { faults } from '../faults/catalogue.ts'
import { mostProblems, type Problem, pointerTo } from '../kernel/json.ts'
import { nearestName } from '../kernel/nearest.ts'
import { asItIs } from './thrown.ts'

/** An object with these fields and no others. The refusal of another field lists the known ones. */
export function closedObject<S extends z.core.$ZodLooseShape>(shape: S) {
  const known = Object.keys(shape)
  return z.strictObject(shape, {
    error: ({ code, keys }) =>
      code === 'unrecognized_keys' ? (keys as string[]).map((key) => unknownField(key, known)).join(' ') : undefined,
  })
}

/** As `closedObject`. Refuses a promise or a map too: it has no own fields, so it would be read as an empty object. */
export function plainObject<S extends z.core.$ZodLooseShape>(shape: S) {
  const object = closedObject(shape)
  return z.custom<z.input<typeof object>>(isPlain, notPlain).pipe(object)
}

/** The refusal of an object that is not plain. */
export const notPlain = 'Expected a plain object. A promise must be awaited first.'

/** Whether a value is no object, or one without a class. */
export function isPlain(value: unknown): boolean {
  const prototype = typeof value === 'object' && value !== null ? Object.getPrototypeOf(value) : null
  return Array.isArray(value) || prototype === null || Object.getPrototypeOf(prototype) === null
}

/** The refusal of a field that is not known, with the known field that was probably meant. */
export function unknownField(field: string, known: readonly string[]): string {
  const meant = nearestName(field, known)
  const hint = meant === undefined ? '' : ` Did you mean "${meant}"?`
  return `Unknown field "${field}".${hint} Known fields: ${known.join(', ')}.`
}

/** Refuses a definition with an option that is not known: it would have no effect. */
export function refuseUnknown(
  of: { readonly what: string; readonly name: string },
  options: object,
  known: readonly string[],
): void {
  if (!isPlain(options)) throw faults.bad_definition({ ...of, problem: notPlain })
  const unknown = Object.keys(Object(options)).find((field) => !known.includes(field))
  if (unknown !== undefined) throw faults.bad_definition({ ...of, problem: unknownField(unknown, known) })
}

/** All problems of a value at once, so that one more try is enough. */
export function shapeProblems(error: z.ZodError): Problem[] {
  return error.issues.map((issue) => ({ pointer: pointerTo(issue.path), problem: issue.message }))
}

/** As `shapeProblems`, with each unknown field at its own place. */
export function fieldProblems(error: z.ZodError): Problem[] {
  return fieldIssues(error).map(({ path, message }) => ({ pointer: pointerTo(path), problem: message }))
}

/** The issues of an error, with one issue for each unknown field. */
export function fieldIssues(error: z.ZodError): { readonly path: PropertyKey[]; readonly message: string }[] {
  return error.issues.flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') return [issue]
    // `closedObject` ends its refusal of several fields with the list of known ones.
    const known = / Known fields: ([^.]*)\.$/.exec(issue.message)?.[1]?.split(', ')
    return issue.keys.map((key) => ({
      path: [...issue.path, key],
      message: known === undefined ? issue.message : unknownField(key, known),
    }))
  })
}

const longest = 400

/** The first problem in one sentence, without its full stop. Quoted texts are cleaned and cut. */
export function problemSentence(problems: readonly Problem[], clean = asItIs): string {
  const each = problems.slice(0, mostProblems).map(({ pointer, problem }) => {
    const says = clean(`${pointer === '' ? '' : `${pointer}: `}${problem}`)
    return says.length <= longest ? says.replace(/\.$/, '') : `${says.slice(0, longest).toWellFormed()}…`
  })
  const more = problems.length - each.length
  return [...each, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}
