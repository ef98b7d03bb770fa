import type { Json } from '../../kernel/json.ts'
import type { Problem } from '../../kernel/problem.ts'
import { isEmpty, valueProblem } from './field-value.ts'
import type { EcsRequest } from './shapes.ts'

interface EcsReply {
  readonly action: 'approve' | 'edit' | 'reject'
  readonly data?: Readonly<Record<string, Json>> | undefined
  readonly reason?: string | undefined
}

type Data = Readonly<Record<string, Json>>

/**
 * Holds an answer against the fields that were asked for. A field that was left out has its default; everything that is
 * wrong is named at once. A person who refuses need not fill in anything.
 */
export function checkAnswer(
  request: EcsRequest,
  reply: EcsReply,
): { readonly data: Data } | { readonly problems: readonly Problem[] } {
  const given = reply.data ?? {}
  if (reply.action === 'reject') return { data: {} }
  const known = new Set(request.fields.map((field) => field.name))
  const problems: Problem[] = Object.keys(given)
    .filter((name) => !known.has(name))
    .map((name) => ({ pointer: `/data/${escaped(name)}`, problem: 'There is no such field.' }))

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

/**
 * What silence comes to: the defaults, if there is one for every field that is
 * required. A confirmation has none, since silence never approves.
 */
export function defaultsOf(request: EcsRequest): Data | undefined {
  if (request.type === 'confirmation') return undefined
  const checked = checkAnswer(request, { action: 'approve' })
  return 'data' in checked ? checked.data : undefined
}

const escaped = (name: string) => name.replaceAll('~', '~0').replaceAll('/', '~1')
