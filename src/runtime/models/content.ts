import type { Json } from '../../kernel/json.ts'
import { isShown } from '../../observation/visible.ts'
import type { FoldableRune, ReadModel } from '../../runelog/read-model.ts'
import { searchModel, textKey, wordsOf } from '../../runelog/words.ts'

/** What people and agents said in a session, as words. Its rows are listed nowhere: a store has an index of their words. */
export const search: ReadModel<string> = {
  name: searchModel,
  version: 1,
  keys: (rune) => (isEmpty(textIn(rune)) ? [] : [textKey(rune.session_id, rune.event_id)]),
  fold: (_, rune, key) => ({ key, tag: null, sort: null, value: wordsOf(asWords(textIn(rune) ?? null)).join(' ') }),
}

/** The id of a session can be searched; it is its first text, with the title. Texts that are not public cannot. */
function textIn(rune: FoldableRune): Json | undefined {
  const { kind, payload, session_id } = rune
  if (kind === 'session.created') return [session_id, isShown(rune) ? (payload.config.title ?? null) : null]
  if (!isShown(rune)) return undefined
  switch (kind) {
    case 'run.submitted':
    case 'run.requested':
      return payload.input
    case 'interaction.answered':
      return payload.reply
    case 'turn.tool_calls_received':
      return payload.text
    case 'turn.completed':
      return payload.final_output
    case 'turn.interrupted':
    case 'turn.error':
      return payload.partial_output
    case 'plan.goal_received':
      return payload.goal_description
    case 'coordination.received':
      return payload.intent_id
    default:
      return undefined
  }
}

function isEmpty(value: Json | undefined): boolean {
  return value === undefined || value === null || value === ''
}

/** The values in it, without the names of fields, in the order that the log has them in. */
function asWords(value: Json): string {
  if (value === null || typeof value === 'boolean') return ''
  if (typeof value !== 'object') return String(value)
  if (Array.isArray(value)) return value.map(asWords).join(' ')
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return fields.map(([, part]) => asWords(part)).join(' ')
}

/** Sessions that refer to a kept output in a public rune. Outputs are stored by hash, for all sessions together. */
export const outputs: ReadModel<{ event_id: number }> = {
  name: 'outputs',
  version: 1,
  keys: (rune) => refsIn(rune).map((ref) => outputKey(ref, rune.session_id)),
  fold: (_row, { at, event_id }, key) => ({ key, tag: null, sort: at, value: { event_id } }),
}

/** Without a session: what the keys of an output begin with. */
export function outputKey(ref: string, session_id = ''): string {
  return `${ref} ${session_id}`
}

function refsIn({ kind, payload, visibility }: FoldableRune): readonly string[] {
  if (visibility !== 'public') return []
  if (kind === 'tool.result') return payload.output_ref === undefined ? [] : [payload.output_ref]
  return kind === 'coordination.frozen' ? payload.files.map(({ ref }) => ref) : []
}
