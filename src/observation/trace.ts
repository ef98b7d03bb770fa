import type { Draft } from '../runes/rune.ts'
import type { ExecutionStep } from '../wire/contract.ts'
import { causeOf } from './contract.ts'
import { summary } from './summary.ts'

/** What was done to contracts, oldest first: every opening, every move. */
export function executionTrace(
  runes: Iterable<Draft>,
  /** A caller that goes through a log in parts hands it on from part to part. */
  irreversible = new Map<string, boolean>(),
): readonly ExecutionStep[] {
  const steps: ExecutionStep[] = []
  for (const rune of runes) {
    const { execution_id: id } = rune
    if (id === undefined) continue
    if (rune.kind === 'contract.opened') {
      irreversible.set(id, rune.payload.irreversible)
      steps.push({ ...step(rune, id, rune.payload.irreversible), action: `create_contract:${id}`, result: null })
    } else if (rune.kind === 'contract.moved') {
      const outcome = rune.payload.error_message ?? rune.payload.result ?? null
      const action = `transition:${id}:${rune.from}→${rune.to}`
      const result = outcome === null ? null : summary(outcome)
      steps.push({ ...step(rune, id, irreversible.get(id) ?? false), action, result })
    }
  }
  return steps
}

function step(rune: Draft, contract_id: string, irreversible: boolean) {
  const { actor, at: timestamp, trigger = null } = rune
  const cause =
    rune.kind === 'contract.moved' ? causeOf(rune) : { waiting_reason: null, error_kind: null, interaction_id: null }
  const metadata = { trigger, actor, contract_id, irreversible, ...cause }
  return { node_id: actor, timestamp, metadata }
}
