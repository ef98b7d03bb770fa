import { canonicalJson } from '../kernel/canonical-json.ts'
import type { Json } from '../kernel/json.ts'
import type { Evidence } from '../runes/kinds/contract.ts'
import type { Payload } from '../runes/kinds.ts'

/** The evidence of a question, and what the tool reported since. A report may be recorded right before the question too. */
export function withReports(
  { interaction_kind, evidence }: Payload<'interaction.opened'>,
  recorded: readonly Evidence[],
): Json[] {
  if (interaction_kind !== 'settlement') return evidence
  const shown = new Set(evidence.map((each) => canonicalJson(each)))
  const late = recorded.filter((each) => each.reported !== undefined && !shown.has(canonicalJson(each)))
  return [...evidence, ...late]
}
