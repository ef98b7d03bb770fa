import type { Json } from '../../kernel/json.ts'
import type { Evidence } from '../../runes/kinds.ts'
import { silences } from '../../surface/cards.ts'
import type { InteractionCard } from '../../wire/interaction.ts'
import { ago, fullTime, inOrder, type Paint, remaining, safe, safeLine } from './text.ts'

/** The data of a card. */
export type Asking = Pick<InteractionCard, 'interaction_id' | 'interaction_kind' | 'prompt' | 'request' | 'digest'> &
  Pick<InteractionCard, 'deadline' | 'on_silence' | 'opened_at'> & { readonly evidence?: readonly Json[] }

/** A question with everything that a person must see before they answer. */
export function card(asking: Asking, now: number, paint: Paint): readonly string[] {
  const { interaction_kind, interaction_id, opened_at, prompt } = asking
  const lines = [
    safe(prompt),
    '',
    ...details(asking, paint).flatMap(([name, value]) => field(name, value)),
    ...field('silence', silence(asking, now)),
  ].flatMap((text) => text.split('\n'))
  return [
    `┌ ${paint.strong(interaction_kind)} ${interaction_id}, asked ${ago(opened_at, now)}`,
    ...lines.map((line) => `│ ${line}`.trimEnd()),
    '└',
  ]
}

const isIrreversible = ({ request }: Pick<Asking, 'request'>) => request.irreversible === true

/** The text that approves: `y`, or the beginning of the digest for an action that cannot be undone. */
export function proofOf({ request, digest }: Pick<Asking, 'request' | 'digest'>) {
  if (digest === null || !isIrreversible({ request }))
    return { proof: 'y', needsDigest: false, isGiven: (typed: string) => /^y(es)?$/i.test(typed) }
  const proof = digest.slice(0, 4)
  return { proof, needsDigest: true, isGiven: (typed: string) => [proof, digest].includes(typed.toLowerCase()) }
}

function details(asking: Asking, paint: Paint): readonly (readonly [string, string])[] {
  const { request, interaction_kind, digest } = asking
  if (interaction_kind === 'approval')
    return [
      ['tool', safeLine(String(request.tool))],
      ['arguments', written(request.arguments ?? null)],
      ['undo', isIrreversible(asking) ? paint.bad('it cannot be undone') : 'the tool is not declared irreversible'],
      ['key', String(request.idempotency_key ?? 'none')],
      ['tool digest', String(request.definition_sha256 ?? 'none')],
      ['digest', paint.strong(digest ?? 'none')],
    ]
  if (interaction_kind === 'settlement')
    return [
      ['action', safeLine(String(request.action_summary))],
      ['arguments', written(request.arguments ?? null)],
      ['execution', String(request.execution_id)],
      ['key', String(request.idempotency_key ?? 'none')],
      ...(asking.evidence ?? []).flatMap(evidenceLines),
    ]
  return Object.entries(request)
    .filter(([name]) => name !== 'title')
    .map(([name, value]) => [safeLine(name), typeof value === 'string' ? safe(value) : written(value)])
}

const sources: Readonly<Record<string, string>> = { tool: 'tool error', cancel: 'cancelled' }

/** One piece of evidence: when the action began, or what was reported of it afterwards. */
function evidenceLines(piece: Json): readonly (readonly [string, string])[] {
  const {
    started_at,
    source,
    message,
    code,
    causes = [],
    response,
    reported,
    result,
  } = piece as Partial<Evidence> & { readonly started_at?: number }
  if (started_at !== undefined) return [['began', fullTime(started_at)]]
  const lines = [safe(code === undefined ? `${message}` : `${message} (${code})`)]
  for (const cause of causes)
    lines.push(safe(`caused by: ${cause.message}${cause.code === undefined ? '' : ` (${cause.code})`}`))
  if (response !== undefined) lines.push(safe(`answered: ${[response.status, response.body].join(' ').trim()}`))
  if (result !== undefined) lines.push(`result: ${written(result)}`)
  if (reported !== undefined) return [['late report', [safeLine(reported), ...lines].join('\n')]]
  return [[sources[source ?? ''] ?? safeLine(`${source}`), lines.join('\n')]]
}

function silence({ deadline, on_silence }: Asking, now: number): string {
  if (deadline === null) return 'no deadline; it waits until someone answers'
  return `until ${fullTime(deadline)} (${remaining(deadline, now)}). ${silences[on_silence]}`
}

const written = (value: Json): string => safe(JSON.stringify(inOrder(value), null, 2))

const label = 12

function field(name: string, value: string): readonly string[] {
  const [first = '', ...rest] = value.split('\n')
  return [`${name.padEnd(label)}${first}`, ...rest.map((line) => `${' '.repeat(label)}${line}`)]
}
