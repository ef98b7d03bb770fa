import { hostPorts } from '../adapters/host/ports.ts'
import { checkSignature } from '../adapters/host/secret-files.ts'
import type { RunelogReader } from '../runelog/port.ts'
import { type Backend, createBackend, type StoreKey } from '../surface/backend.ts'
import type { Statewright } from './library.ts'

const ofThisMachine = { now: hostPorts.now, sha256: hostPorts.sha256, check: checkSignature }

/** The backend of a process with agents. */
export function backendOf(sw: Statewright, { signer, publicKey }: StoreKey, now: () => number = hostPorts.now) {
  return createBackend({
    ...ofThisMachine,
    now,
    runelog: sw.runelog,
    isExclusive: sw.isExclusive,
    signer,
    publicKey,
    agents: sw.agents.list,
    output: sw.output,
    commands: async () => sw,
    plans: async () => sw.plans,
    abandoned: sw.runs.abandoned,
    listen: (sessionId, listener) => sw.runs.listen(listener, { sessionId }),
  })
}

/** The ports of a backend that only reads a store: it has no agents and refuses commands. */
export function lookingPorts(
  runelog: RunelogReader,
  { signer, publicKey, abandoned = async () => [] }: StoreKey & Partial<Pick<Backend, 'abandoned'>>,
): Omit<Backend, 'views' | 'isExclusive'> {
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
