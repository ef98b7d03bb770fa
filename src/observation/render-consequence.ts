import type { ConsequenceLabel, ConsequenceView } from '../wire/contract.ts'
import { asText } from './summary.ts'

/** Labels of attempts that ended with an answer. */
const answered: readonly ConsequenceLabel[] = ['SUCCESS', 'FAILED', 'REJECTED']

/** A consequence as a model reads it, on one line unless its result has several. */
export function renderConsequence(view: ConsequenceView): string {
  const { consequence_label, action_summary, has_side_effects } = view
  const irreversible = has_side_effects ? ' IRREVERSIBLE' : ''
  const head = `[${consequence_label}${irreversible}${decision(view)}] ${action_summary}`
  const outcome = outcomeOf(view)
  return outcome === '' ? head : `${head}: ${outcome}`
}

/** A person or a deadline decides only what waited. */
function decision(view: ConsequenceView): string {
  if (view.was_suspended) return howDecided(view) || ' (suspended)'
  return view.decided_by === 'policy' ? howDecided(view) : ''
}

type Decided = Pick<ConsequenceView, 'consequence_label' | 'action_type' | 'decided_by'>

/** How it was decided. Silence is never told as consent: confirmed is only what a person answered. */
export function howDecided({ consequence_label, action_type, decided_by }: Decided): string {
  if (!answered.includes(consequence_label)) return ''
  if (decided_by === 'human') return ' (human-confirmed)'
  if (decided_by === 'timer') return ' (default after timeout)'
  return decided_by === 'policy' && action_type === 'ecs_request' ? ' (default, no one was asked)' : ''
}

function outcomeOf({ consequence_label, result, error_message }: ConsequenceView): string {
  if (error_message !== null) return error_message
  if (result !== null) return asText(result)
  return consequence_label === 'UNKNOWN' ? 'it is unknown whether it happened; do not repeat it' : ''
}
