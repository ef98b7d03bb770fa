import type { ConsequenceLabel, ConsequenceView } from './consequence.ts'
import { asText } from './summary.ts'

/** Labels of attempts that ended with an answer, so that a suspension on the way means that a person confirmed them. */
const confirmed: readonly ConsequenceLabel[] = ['SUCCESS', 'FAILED', 'REJECTED']

const notice = 'What is marked IRREVERSIBLE has happened and cannot be undone. Do not ask for it again.'

/** A consequence as a model reads it, on one line unless its result has several. */
export function renderConsequence(view: ConsequenceView): string {
  const { consequence_label, action_summary, has_side_effects, was_suspended } = view
  const irreversible = has_side_effects ? ' IRREVERSIBLE' : ''
  const suspended = !was_suspended ? '' : confirmed.includes(consequence_label) ? ' (human-confirmed)' : ' (suspended)'
  const head = `[${consequence_label}${irreversible}${suspended}] ${action_summary}`
  const outcome = outcomeOf(view)
  return outcome === '' ? head : `${head}: ${outcome}`
}

/** Several consequences, and a closing notice if any of them cannot be undone. */
export function renderConsequences(views: readonly ConsequenceView[]): string {
  const lines = views.map(renderConsequence)
  return (views.some((view) => view.has_side_effects) ? [...lines, notice] : lines).join('\n')
}

function outcomeOf({ consequence_label, result, error_message }: ConsequenceView): string {
  if (error_message !== null) return error_message
  if (result !== null) return asText(result)
  return consequence_label === 'UNKNOWN' ? 'nobody knows whether it happened; do not repeat it' : ''
}
