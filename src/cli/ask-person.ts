import type { Json } from '../kernel/json.ts'
import type { Client } from '../surface/client.ts'
import { answer, approve, deny, getInteraction, settle } from '../surface/operations/inbox.ts'
import type { InteractionCard, SettlementOutcome } from '../wire/interaction.ts'
import type { Io } from './host.ts'
import { card, proofOf } from './render/card.ts'
import { paintFor, safeLine } from './render/text.ts'

/** Asks the person at the terminal. Resolves with whether they answered. */
export type Ask = (interaction_id: string, signal: AbortSignal) => Promise<'answered' | 'left'>

/** Asks the person at the terminal. An irreversible action is approved with its digest, which a habitual yes misses. */
export function askPerson(io: Io, client: Client): Ask {
  return async (interaction_id, signal) => {
    const params = { interaction_id }
    const asked = await client.call(getInteraction, { params })
    if (asked.state !== 'open') return 'left'
    for (const line of card(asked, io.host.now(), paintFor(io.terminal.hasColor))) io.err(line)
    const line = async (question: string) => (await io.terminal.ask(question, signal))?.trim() || undefined
    const typed = await answerTo(asked, { line, err: io.err, signal })
    if (typed === undefined) return 'left'
    if ('approve' in typed) await client.call(approve, { params, body: typed.approve })
    else if ('deny' in typed) await client.call(deny, { params, body: typed.deny })
    else if ('settle' in typed) await client.call(settle, { params, body: typed.settle })
    else await client.call(answer, { params, body: { reply: typed.reply } })
    return 'answered'
  }
}

interface Prompt {
  /** The line that the person typed; undefined for an empty one. */
  readonly line: (question: string) => Promise<string | undefined>
  readonly err: Io['err']
  readonly signal: AbortSignal
}

type Answer =
  | { readonly approve: { digest?: string } }
  | { readonly deny: { reason?: string } }
  | { readonly settle: { outcome: SettlementOutcome } }
  | { readonly reply: Record<string, Json> }

async function answerTo(asked: InteractionCard, prompt: Prompt): Promise<Answer | undefined> {
  if (asked.interaction_kind === 'approval') return askApproval(asked, prompt)
  if (asked.interaction_kind === 'settlement') return askSettlement(prompt)
  if (asked.interaction_kind !== 'question') return askForm(asked, prompt)
  const typed = await prompt.line('Your answer (empty: leave it open): ')
  return typed === undefined ? undefined : { reply: { answer: typed } }
}

async function askApproval(asked: InteractionCard, { line, err }: Prompt): Promise<Answer | undefined> {
  const { proof, isGiven } = proofOf(asked)
  const yes = proof === 'y' ? 'y' : `${proof}, the beginning of the digest,`
  for (;;) {
    const typed = await line(`Type ${yes} to approve, n to deny (empty: leave it open): `)
    if (typed === undefined) return undefined
    if (/^n(o)?$/i.test(typed)) {
      const reason = await line('Why? The agent is told (may be empty): ')
      return { deny: reason === undefined ? {} : { reason } }
    }
    if (isGiven(typed)) return { approve: asked.digest === null ? {} : { digest: asked.digest } }
    err('Expected "y", "n" or nothing. Nothing was approved.')
  }
}

async function askSettlement({ line, err }: Prompt): Promise<Answer | undefined> {
  const question =
    'Type "happened", "did not happen" or "leave" (leave: the run fails and the question is asked again). Empty: keep waiting. '
  for (;;) {
    const typed = await line(question)
    if (typed === undefined) return undefined
    const outcome = ({ happened: 'happened', 'did not happen': 'did_not', leave: 'leave' } as const)[typed]
    if (outcome !== undefined) return { settle: { outcome } }
    err('Expected one of the three words. Nothing was settled.')
  }
}

/** Asks field by field. An empty field gets its default. */
async function askForm(asked: InteractionCard, { line, signal }: Prompt): Promise<Answer | undefined> {
  const fields = fieldsOf(asked.request)
  const what = fields.length > 0 ? 'fill it in' : 'confirm'
  const typed = await line(`Type y to ${what}, n to refuse (empty: leave it open): `)
  if (typed === undefined) return undefined
  if (/^n(o)?$/i.test(typed)) return { reply: { action: 'reject' } }
  const data: Record<string, Json> = {}
  for (const field of fields) {
    const value = await line(`${label(field)}: `)
    if (signal.aborted) return undefined
    if (value !== undefined) data[field.name] = valueFor(field, value)
  }
  return { reply: { action: 'approve', ...(fields.length > 0 && { data }) } }
}

function label(field: Field): string {
  const choices = (field.options ?? []).map((option) => (typeof option === 'string' ? option : option.value))
  return safeLine(`${field.label ?? field.name}${choices.length === 0 ? '' : ` (${choices.join(', ')})`}`)
}

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

/** The typed text as a value of the field's type. The server judges whether it fits. */
export function valueFor({ type = 'text', options }: Field, typed: string): Json {
  if (type === 'number' || type === 'slider') return /^-?[0-9]+(\.[0-9]+)?$/.test(typed) ? Number(typed) : typed
  if (type === 'boolean' || (type === 'checkbox' && options === undefined)) return /^(y|yes|true|1)$/i.test(typed)
  if (type === 'multiselect' || type === 'checkbox') return typed.split(',').map((part) => part.trim())
  return typed
}
