import { z } from 'zod'
import { mostTold, type Problem, pointerTo } from '../kernel/problem.ts'
import { asItIs } from './thrown.ts'

/** An object with these fields and no others. A refusal of another field names those that there are. */
export function closedObject<S extends z.core.$ZodLooseShape>(shape: S) {
  const known = `There is no such field; there is ${Object.keys(shape).join(', ')}.`
  return z.strictObject(shape, { error: ({ code }) => (code === 'unrecognized_keys' ? known : undefined) })
}

/** Everything that is wrong at once, so that one more try is enough. */
export function shapeProblems(error: z.ZodError): Problem[] {
  return error.issues.map((issue) => ({ pointer: pointerTo(issue.path), problem: issue.message }))
}

/** As `shapeProblems`, with an unknown field named at its own place. */
export function fieldProblems(error: z.ZodError): Problem[] {
  return error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({ pointer: pointerTo([...issue.path, key]), problem: issue.message }))
      : [{ pointer: pointerTo(issue.path), problem: issue.message }],
  )
}

const longest = 400

/** The first of them in one sentence, without its full stop. Both texts may be quotations, so each is cleaned and cut. */
export function problemSentence(problems: readonly Problem[], clean = asItIs): string {
  const each = problems.slice(0, mostTold).map(({ pointer, problem }) => {
    const says = clean(`${pointer === '' ? '' : `${pointer}: `}${problem}`)
    return says.length <= longest ? says.replace(/\.$/, '') : `${says.slice(0, longest).toWellFormed()}…`
  })
  const more = problems.length - each.length
  return [...each, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}
