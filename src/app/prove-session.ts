import { hostPorts } from '../adapters/host/ports.ts'
import { checkSignature } from '../adapters/host/secret-files.ts'
import { readGuardsAgain } from '../observation/readings.ts'
import { firstBad } from '../runelog/first-bad.ts'
import type { RunelogReader } from '../runelog/port.ts'
import { createVerifier, type VerifierPorts } from '../runes/verify.ts'
import type { Proved, ToProve } from '../surface/wiring.ts'

/** Verifies the log of one session from its first event. */
export async function proveSession(
  runelog: Pick<RunelogReader, 'records'>,
  { session_id, marks }: ToProve,
  given: Pick<VerifierPorts, 'trusted' | 'isErased'>,
): Promise<Proved> {
  const ports = { ...hostPorts, check: checkSignature, readAgain: readGuardsAgain, ...given }
  const verifier = createVerifier(session_id, ports, marks)
  const first_bad = await firstBad(runelog.records(session_id), verifier)
  const { event_id: events, hash: head } = verifier.head()
  return { session_id, events, head, first_bad: first_bad ?? null, redactions: verifier.redactions() }
}
