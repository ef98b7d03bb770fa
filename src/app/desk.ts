import { hostPorts } from '../adapters/host/ports.ts'
import { checkSignature } from '../adapters/host/signing-key.ts'
import type { Runelog } from '../runelog/port.ts'
import { createDesk, type Desk, type StoreKey } from '../surface/desk.ts'
import type { Statewright } from './statewright.ts'

const ofThisMachine = { now: hostPorts.now, sha256: hostPorts.sha256, check: checkSignature }

/** The desk of a process that works. */
export function deskOn(sw: Statewright, { signer, publicKey }: StoreKey, now: () => number = hostPorts.now): Desk {
  return createDesk({
    ...ofThisMachine,
    now,
    runelog: sw.runelog,
    isExclusive: sw.isExclusive,
    signer,
    publicKey,
    agents: sw.agents,
    output: sw.output,
    commands: async () => sw,
    plans: async () => sw.plans,
    abandoned: sw.abandoned,
    listen: sw.listen,
  })
}

/** The ports of a desk on a store alone: it has no agents, and refuses commands. */
export function lookingPorts(
  runelog: Runelog,
  { signer, publicKey, abandoned = async () => [] }: StoreKey & Partial<Pick<Desk, 'abandoned'>>,
): Omit<Desk, 'views' | 'isExclusive'> {
  return {
    ...ofThisMachine,
    runelog,
    signer,
    publicKey,
    agents: () => [],
    output: async () => undefined,
    commands: () => Promise.reject(new Error('A command that only looks has asked for something to be done.')),
    plans: () => Promise.reject(new Error('A command that only looks at a store has asked for its plans.')),
    abandoned,
    listen: () => () => {},
  }
}
