import type { Plans } from '../autonomy/plans/plans.ts'
import type { Sha256 } from '../kernel/digest.ts'
import type { RunelogReader } from '../runelog/port.ts'
import type { CheckSignature, Signer } from '../runes/checkpoint.ts'
import type { EphemeralDelta } from '../runtime/delta.ts'
import type { AbandonedRun } from '../runtime/store.ts'
import type { AgentCard } from '../wire/run.ts'
import type { Commands } from './library.ts'
import { createSessionViews, type SessionViews } from './session-views.ts'

/** The operations on plans. */
export type SurfacePlans = Omit<Plans, 'resumeAll' | 'idle' | 'stop'>

/** The ports of operations: in the server, or in a command that opens the store itself. */
export interface Backend {
  readonly runelog: RunelogReader
  /** Only this process writes to the store. */
  readonly isExclusive: boolean
  readonly now: () => number
  readonly sha256: Sha256
  /** The signing key of the store; made on first use. Only operations with the scope `admin` sign. */
  readonly signer: () => Signer
  /** The public half of that key; undefined if there is no key yet. It makes none. */
  readonly publicKey: () => string | undefined
  readonly check: CheckSignature
  /** The folded sessions for readers. */
  readonly views: SessionViews
  /** The agents that can be given work here; none where a command has only the store. */
  readonly agents: () => readonly AgentCard[]
  /** The whole of an output that was too long for the model, by its reference. */
  readonly output: (ref: string) => Promise<string | undefined>
  /** Only for operations that change something: the first call may recover what a killed process left. */
  readonly commands: () => Promise<Commands>
  /** The plans of the store. Opening them recovers and starts no run. */
  readonly plans: () => Promise<SurfacePlans>
  /** Runs in state `running` that no process holds. Where a process works, it takes them, and there are none. */
  readonly abandoned: () => Promise<readonly AbandonedRun[]>
  /** Subscribes to the text of a session before it is recorded. Returns the function that unsubscribes. */
  readonly listen: (session_id: string, listener: (delta: EphemeralDelta) => void) => () => void
}

/** The signing key of a store. */
export type StoreKey = Pick<Backend, 'signer' | 'publicKey'>

/** Adds the session views to the ports. Other processes may write to the store unless `isExclusive` says otherwise. */
export function createBackend(
  ports: Omit<Backend, 'views' | 'isExclusive'> & { readonly isExclusive?: boolean | undefined },
): Backend {
  const { isExclusive = false } = ports
  return { ...ports, isExclusive, views: createSessionViews(ports.runelog, isExclusive) }
}
