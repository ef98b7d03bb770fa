import type { z } from 'zod'
import { boundedJson, jsonLimits } from '../../kernel/bounded-json.ts'
import type { Problem } from '../../kernel/problem.ts'
import { problemSentence, shapeProblems } from '../shape-problems.ts'
import { fieldProblems } from './field-problems.ts'
import { type EcsRequest, ecsInput, type Field, type field, type option } from './shapes.ts'

/** Reads what a model or a tool asked of a person. A form that cannot be answered is refused before a person sees it. */
export function readEcsRequest(args: unknown): { readonly request: EcsRequest } | { readonly problem: string } {
  const given = boundedJson(args, jsonLimits.arguments)
  if ('problem' in given) return refused([{ pointer: '', problem: given.problem }])
  const parsed = ecsInput.safeParse(given.value)
  if (!parsed.success) return refused(shapeProblems(parsed.error))
  const { fields = [], ...rest } = parsed.data
  const request: EcsRequest = { ...rest, fields: fields.map(named) }
  const problems = [...partProblems(request), ...fieldProblems(request.fields)]
  return problems.length === 0 ? { request } : refused(problems)
}

function refused(problems: readonly Problem[]) {
  return { problem: `The request does not fit: ${problemSentence(problems)}. Nobody was asked.`.toWellFormed() }
}

function named({ label, options, ...rest }: z.output<typeof field>): Field {
  return {
    ...rest,
    label: label ?? rest.name,
    ...(options === undefined ? {} : { options: options.map(labelled) }),
  }
}

function labelled(given: z.output<typeof option>) {
  return typeof given === 'string'
    ? { value: given, label: given }
    : { value: given.value, label: given.label ?? given.value }
}

/** A form has fields, a display shows something, and neither has the parts of the other. */
function partProblems({ type, fields, displays = [] }: EcsRequest): Problem[] {
  const problems: Problem[] = []
  if (type === 'form' && fields.length === 0) problems.push({ pointer: '/fields', problem: 'A form needs a field.' })
  if (type !== 'form' && fields.length > 0)
    problems.push({ pointer: '/fields', problem: `A ${type} has no fields; use type form.` })
  if (type === 'display' && displays.length === 0)
    problems.push({ pointer: '/displays', problem: 'A display needs something to show.' })
  return problems
}
