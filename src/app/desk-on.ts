import { hostPorts } from '../adapters/host/ports.ts'
import { checkSignature } from '../adapters/host/signing-key.ts'
import { createDesk, type Desk, type StoreKey } from '../surface/desk.ts'
import type { Statewright } from './statewright.ts'

/** The desk of a process that works. Wiring, like `main`: nothing in a room imports this. */
export function deskOn(sw: Statewright, { signer, publicKey }: StoreKey, now: () => number = hostPorts.now): Desk {
  return createDesk({
    runelog: sw.runelog,
    isExclusive: sw.isExclusive,
    now,
    sha256: hostPorts.sha256,
    signer,
    publicKey,
    check: checkSignature,
    agents: sw.agents,
    output: sw.output,
    commands: async () => sw,
    plans: async () => sw.plans,
    abandoned: sw.abandoned,
    listen: sw.listen,
  })
}
