import type { Json } from '../kernel/json.ts'
import type { Client } from '../surface/client.ts'
import { answer, approve, deny, getInteraction, settle } from '../surface/operations/inbox.ts'
import type { InteractionCard } from '../wire/interaction.ts'
import type { Io } from './host.ts'
import { card, isIrreversible } from './render/card.ts'
import { paintFor, safeLine } from './render/text.ts'

/** Asks the person at the terminal. Resolves with whether they answered. */
export type Ask = (interaction_id: string, signal: AbortSignal) => Promise<'answered' | 'left'>

/**
 * Shows a question and sends the answer of the person at the terminal. An empty line leaves the question open. To
 * approve an irreversible action, the person types the beginning of its digest, which a habitual yes does not match.
 */
export function askPerson(io: Io, client: Client): Ask {
  return async (interaction_id, signal) => {
    const params = { interaction_id }
    const asked = await client.call(getInteraction, { params })
    if (asked.state !== 'open') return 'left'
    for (const line of card(asked, io.host.now(), paintFor(io.terminal.hasColor))) io.err(line)
    const typed = await ask(io, asked, signal)
    if (typed === undefined) return 'left'
    const { verb, body } = typed
    if (verb === 'approve') await client.call(approve, { params, body })
    else if (verb === 'deny') await client.call(deny, { params, body })
    else if (verb === 'settle') await client.call(settle, { params, body })
    else await client.call(answer, { params, body })
    return 'answered'
  }
}

type Answer =
  | { readonly verb: 'approve'; readonly body: { digest?: string } }
  | { readonly verb: 'deny'; readonly body: { reason?: string } }
  | { readonly verb: 'settle'; readonly body: { outcome: 'happened' | 'did_not' | 'leave' } }
  | { readonly verb: 'answer'; readonly body: { reply: Record<string, Json> } }

async function ask(io: Io, asked: InteractionCard, signal: AbortSignal): Promise<Answer | undefined> {
  switch (asked.interaction_kind) {
    case 'approval':
      return askApproval(io, asked, signal)
    case 'settlement':
      return askSettlement(io, signal)
    case 'question': {
      const typed = await line(io, 'Your answer (empty: leave it open): ', signal)
      return typed === undefined ? undefined : { verb: 'answer', body: { reply: { answer: typed } } }
    }
    default:
      return askForm(io, asked, signal)
  }
}

async function askApproval(io: Io, asked: InteractionCard, signal: AbortSignal): Promise<Answer | undefined> {
  const proof = isIrreversible(asked) ? asked.digest?.slice(0, 4) : undefined
  const yes = proof === undefined ? 'y' : `${proof}, the beginning of the digest,`
  const typed = await line(io, `Type ${yes} to approve, n to deny (empty: leave it open): `, signal)
  if (typed === undefined) return undefined
  if (/^n(o)?$/i.test(typed)) {
    const reason = await line(io, 'Why? The agent is told (may be empty): ', signal)
    return { verb: 'deny', body: reason === undefined ? {} : { reason } }
  }
  const isYes = proof === undefined ? /^y(es)?$/i.test(typed) : [proof, asked.digest].includes(typed.toLowerCase())
  if (isYes) return { verb: 'approve', body: asked.digest === null ? {} : { digest: asked.digest } }
  io.err('That was neither; nothing is approved.')
  return askApproval(io, asked, signal)
}

async function askSettlement(io: Io, signal: AbortSignal): Promise<Answer | undefined> {
  const question =
    'Type happened, did not happen, or leave to end the run as failed and be asked again (empty: the run waits on): '
  const typed = await line(io, question, signal)
  if (typed === undefined) return undefined
  const outcome = ({ happened: 'happened', 'did not happen': 'did_not', leave: 'leave' } as const)[typed]
  if (outcome !== undefined) return { verb: 'settle', body: { outcome } }
  io.err('That was none of them; nothing is settled.')
  return askSettlement(io, signal)
}

/** Asks field by field. An empty field gets its default. */
async function askForm(io: Io, asked: InteractionCard, signal: AbortSignal): Promise<Answer | undefined> {
  const fields = fieldsOf(asked.request)
  const typed = await line(
    io,
    `Type y to ${fields.length > 0 ? 'fill it in' : 'confirm'}, n to refuse (empty: leave it open): `,
    signal,
  )
  if (typed === undefined) return undefined
  if (/^n(o)?$/i.test(typed)) return { verb: 'answer', body: { reply: { action: 'reject' } } }
  const data: Record<string, Json> = {}
  for (const field of fields) {
    const value = await line(io, `${label(field)}: `, signal)
    if (signal.aborted) return undefined
    if (value !== undefined) data[field.name] = valueFor(field, value)
  }
  return { verb: 'answer', body: { reply: { action: 'approve', ...(fields.length > 0 && { data }) } } }
}

function label(field: Field): string {
  const choices = choicesOf(field)
  return safeLine(`${field.label ?? field.name}${choices.length === 0 ? '' : ` (${choices.join(', ')})`}`)
}

async function line(io: Io, question: string, signal: AbortSignal): Promise<string | undefined> {
  const typed = (await io.terminal.ask(question, signal))?.trim()
  return typed === '' ? undefined : typed
}

/** A field of a form. */
interface Field {
  readonly name: string
  readonly type?: string
  readonly label?: string
  readonly options?: readonly (string | { readonly value: string })[]
}

/** The fields of a form; none for any other request. */
export function fieldsOf({ fields }: Readonly<Record<string, Json>>): readonly Field[] {
  return Array.isArray(fields) ? fields.filter(isField) : []
}

const isField = (value: unknown): value is Field => typeof Object(value).name === 'string'

function choicesOf({ options = [] }: Field): readonly string[] {
  return options.map((option) => (typeof option === 'string' ? option : option.value))
}

/** The typed text as a value of the field's type. The server judges whether it fits. */
export function valueFor({ type = 'text', options }: Field, typed: string): Json {
  if (type === 'number' || type === 'slider') return /^-?[0-9]+(\.[0-9]+)?$/.test(typed) ? Number(typed) : typed
  if (type === 'boolean' || (type === 'checkbox' && options === undefined)) return /^(y|yes|true|1)$/i.test(typed)
  if (type === 'multiselect' || type === 'checkbox') return typed.split(',').map((part) => part.trim())
  return typed
}
