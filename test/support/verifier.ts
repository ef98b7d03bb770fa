import { hostPorts } from '../../src/adapters/host/ports.ts'
import { checkSignature } from '../../src/adapters/host/secret-files.ts'
import { isErased } from '../../src/runes/erasure.ts'
import type { Mark } from '../../src/runes/record.ts'
import { createVerifier, type Verifier, type VerifierPorts } from '../../src/runes/verify.ts'

/** Accepts redactions of any key. */
export const verifierPorts: VerifierPorts = {
  sha256: hostPorts.sha256,
  check: checkSignature,
  isErased,
  trusted: undefined,
}

/** The product's verifier, with the hashes and signatures of this machine. */
export function verifierOf(session_id: string, marks: readonly Mark[] = []): Verifier {
  return createVerifier(session_id, verifierPorts, marks)
}
