import { pick, plainJson, readArgument, readSnapshot } from '../../coordinator/arguments.ts'
import { checksumOf, isRecord, sealIntent } from '../../coordinator/checksum.ts'
import { begin } from '../../coordinator/engine.ts'
import type { CoordinationInput, Ports } from '../../coordinator/progress.ts'
import { recovers as recoversShape } from '../../coordinator/schemas/record.ts'
import type { RegistrySnapshot } from '../../coordinator/schemas/registry.ts'
import { faults } from '../../faults/catalogue.ts'
import { asJson, type Json } from '../../kernel/json.ts'
import type { Redactor } from '../../runelog/redactor.ts'
import type { Payload } from '../../runes/kinds.ts'
import type { RecordOf } from '../../runtime/options.ts'
import type { PlanSubmission } from './plans.ts'
import { readBack } from './recorded.ts'

/** The policy and the registry of the application, for submissions that bring none. */
export interface Defaults {
  readonly policy: Json
  readonly registry: () => Promise<RegistrySnapshot>
}

/**
 * What is recorded of a submission: everything that the Coordinator will see.
 * Secrets are taken out before it sees them, since what it saw is on record.
 */
export async function readSubmission(
  { answer_timeout_ms, ...given }: Given & Pick<RecordOf<PlanSubmission>, 'answer_timeout_ms'>,
  defaults: Defaults,
  ports: Ports,
  redactor: Redactor,
): Promise<Payload<'coordination.received'>> {
  const whole: CoordinationInput = {
    policy: defaults.policy,
    ...given,
    registry: given.registry ?? (await defaults.registry()),
  }
  // Whatever of the operator's has no canonical text is refused here, by name.
  begin(whole, ports)
  const input = takenIn(whole, ports, redactor)
  const { run_id } = begin(input, ports)
  return {
    intent_id: idIn(input.intent),
    run_id,
    input_sha256: checksumOf(input, ports.sha256),
    input: asJson(input),
    ...(answer_timeout_ms === undefined ? {} : { answer_timeout_ms }),
  }
}

/** The input as far as the submission brings it. */
export type Given = Omit<CoordinationInput, 'policy' | 'registry'> & Partial<CoordinationInput>

/** The part of the input that is the submitter's: a copy, each part within limits and refused by its name. */
export function givenIn(submission: PlanSubmission, { sha256 }: Pick<Ports, 'sha256'>): Given {
  if (typeof submission !== 'object' || submission === null)
    throw faults.input_unfit({ what: 'A plan', problem: 'It is not an object with an intent.' })
  const parts = pick(submission, ['intent', 'policy', 'registry', 'memory', 'facts', 'recovers'])
  const { policy, registry, memory, facts, recovers } = parts
  const intent = plainJson('intent', parts.intent)
  const before = { of: 'plans.submit', name: 'recovers' }
  return {
    intent,
    memory: memory === undefined ? emptyMemory(intent) : plainJson('memory pack', memory),
    facts: plainJson('fact pack', facts ?? null),
    ...(policy === undefined ? {} : { policy: plainJson('policy', policy) }),
    ...(registry === undefined ? {} : { registry: readSnapshot(registry, sha256) }),
    ...(recovers === undefined ? {} : { recovers: readArgument(before, recovers, recoversShape) }),
  }
}

/** As it is recorded: without secrets, and sealed as it is then, or it would not be what was sealed. */
export function takenIn<G extends { readonly intent: Json }>(
  given: G,
  { sha256 }: Pick<Ports, 'sha256'>,
  redactor: Redactor,
): G {
  const cleaned = readBack<G>(redactor.clean(asJson(given)).value)
  return { ...cleaned, intent: sealIntent(cleaned.intent, sha256) }
}

/** A project of which nothing is remembered yet. */
function emptyMemory(intent: Json): Json {
  const scope = isRecord(intent) ? intent.scope : undefined
  const project_id = isRecord(scope) && typeof scope.project_id === 'string' ? scope.project_id : 'unknown'
  return { schema_version: '1.0.0', project_id, memories: [] }
}

function idIn(intent: Json): string {
  return isRecord(intent) && typeof intent.id === 'string' ? intent.id : ''
}
