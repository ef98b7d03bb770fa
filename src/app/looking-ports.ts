import { hostPorts } from '../adapters/host/ports.ts'
import { checkSignature } from '../adapters/host/signing-key.ts'
import type { Runelog } from '../runelog/port.ts'
import type { Desk, StoreKey } from '../surface/desk.ts'

/** What a desk is made of where nothing is to be done. */
export function lookingPorts(
  runelog: Runelog,
  { signer, publicKey, abandoned = async () => [] }: StoreKey & Partial<Pick<Desk, 'abandoned'>>,
): Omit<Desk, 'views' | 'isExclusive'> {
  return {
    runelog,
    now: hostPorts.now,
    sha256: hostPorts.sha256,
    signer,
    publicKey,
    check: checkSignature,
    agents: () => [],
    output: async () => undefined,
    commands: () => Promise.reject(new Error('A command that only looks has asked for something to be done.')),
    plans: () => Promise.reject(new Error('A command that only looks at a store has asked for its plans.')),
    abandoned,
    listen: () => () => {},
  }
}
