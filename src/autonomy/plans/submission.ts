import { checksumOf, isRecord } from '../../coordinator/checksum.ts'
import { begin } from '../../coordinator/engine.ts'
import type { CoordinationInput, Ports } from '../../coordinator/progress.ts'
import { snapshotOf } from '../../coordinator/registry/admission.ts'
import { problemsOf } from '../../coordinator/schemas/problem.ts'
import { type RegistrySnapshot, registrySnapshot } from '../../coordinator/schemas/registry.ts'
import { sealIntent } from '../../coordinator/seal.ts'
import { faults } from '../../faults/catalogue.ts'
import type { Json } from '../../kernel/json.ts'
import type { Redactor } from '../../runelog/redactor.ts'
import type { Payload } from '../../runes/kinds.ts'
import type { PlanSubmission } from './plans.ts'

export interface Defaults {
  readonly policy: Json
  readonly registry: () => Promise<RegistrySnapshot>
}

/**
 * What is recorded of a submission: everything that the Coordinator will see.
 * Secrets are taken out before it sees them, since what it saw is on record.
 */
export async function readSubmission(
  submission: PlanSubmission,
  defaults: Defaults,
  ports: Ports,
  redactor: Redactor,
): Promise<Payload<'coordination.received'>> {
  const { registry, answer_timeout_ms } = submission
  const given: CoordinationInput = {
    policy: defaults.policy,
    ...givenIn(submission),
    registry: registry === undefined ? await defaults.registry() : checked(registry, ports),
  }
  // Whatever has no canonical text is refused here, by name.
  begin(given, ports)
  const input = takenIn(given, ports, redactor)
  const { run_id } = begin(input, ports)
  return {
    intent_id: idIn(input.intent),
    run_id,
    input_sha256: checksumOf(input, ports.sha256),
    input: input as unknown as Record<string, Json>,
    ...(answer_timeout_ms === undefined ? {} : { answer_timeout_ms }),
  }
}

/** The part of the input that is the submitter's. */
export function givenIn({ intent, policy, registry, memory, facts, recovers }: PlanSubmission) {
  return {
    intent,
    memory: memory === undefined ? emptyMemory(intent) : memory,
    facts: facts ?? null,
    ...(policy === undefined ? {} : { policy }),
    ...(registry === undefined ? {} : { registry }),
    ...(recovers === undefined ? {} : { recovers }),
  }
}

/** As it is recorded: without secrets, and sealed as it is then, or it would not be what was sealed. */
export function takenIn<G extends { readonly intent: Json }>(
  given: G,
  { sha256 }: Pick<Ports, 'sha256'>,
  redactor: Redactor,
): G {
  const cleaned = redactor.clean(given as unknown as Json).value as unknown as G
  return { ...cleaned, intent: sealIntent(cleaned.intent, sha256) }
}

function checked(given: RegistrySnapshot, { sha256 }: Ports): RegistrySnapshot {
  const parsed = registrySnapshot.safeParse(given)
  if (!parsed.success)
    throw faults.registry_refused({ registry: 'the given snapshot', problems: problemsOf(parsed.error, 'schema') })
  const { snapshot_id } = snapshotOf(parsed.data.entries, sha256)
  if (snapshot_id === parsed.data.snapshot_id) return parsed.data
  const message = `its content has the id ${snapshot_id}, not ${parsed.data.snapshot_id}`
  throw faults.registry_refused({ registry: 'the given snapshot', problems: [{ path: 'snapshot_id', message }] })
}

/** A project of which nothing is remembered yet. */
export function emptyMemory(intent: Json): Json {
  const scope = isRecord(intent) ? intent.scope : undefined
  const project_id = isRecord(scope) && typeof scope.project_id === 'string' ? scope.project_id : 'unknown'
  return { schema_version: '1.0.0', project_id, memories: [] }
}

function idIn(intent: Json): string {
  return isRecord(intent) && typeof intent.id === 'string' ? intent.id : ''
}
