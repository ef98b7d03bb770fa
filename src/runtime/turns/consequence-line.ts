import { canonicalJson } from '../../kernel/canonical-json.ts'
import type { ConsequenceView } from '../../observation/consequence.ts'

/**
 * What a model is told about a call: its label, whether it can be undone,
 * whether a person had a say, and what came of it.
 */
export function consequenceLine(view: ConsequenceView): string {
  const marks = [
    `[${view.consequence_label}]`,
    ...(view.has_side_effects ? ['IRREVERSIBLE'] : []),
    ...(view.was_suspended && wasLetGoOn.has(view.consequence_label) ? ['(human-confirmed)'] : []),
  ].join(' ')
  const outcome = view.error_message ?? textOf(view)
  return `${marks} ${view.action_summary}${outcome === '' ? '' : `: ${outcome}`}`
}

/** What waited and was then carried out; what was refused, or given up because nobody answered, nobody confirmed. */
const wasLetGoOn: ReadonlySet<ConsequenceView['consequence_label']> = new Set(['SUCCESS', 'FAILED'])

function textOf({ result }: ConsequenceView): string {
  if (result === null) return ''
  return typeof result === 'string' ? result : canonicalJson(result)
}
