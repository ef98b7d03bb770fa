import type { Plans } from '../autonomy/plans/plans.ts'
import type { Sha256 } from '../kernel/digest.ts'
import type { RunelogReader } from '../runelog/port.ts'
import type { CheckSignature, Signer } from '../runes/checkpoint.ts'
import type { EphemeralDelta } from '../runtime/engine.ts'
import type { AbandonedRun } from '../runtime/store.ts'
import type { AgentCard } from '../wire/run.ts'
import type { Commands } from './library.ts'
import { createSessionViews, type SessionViews } from './session-views.ts'

/** What can be asked of plans. */
export type SurfacePlans = Omit<Plans, 'resumeAll' | 'idle' | 'stop'>

/** What operations work with: in the server, or in a command that opens the store itself. */
export interface Backend {
  readonly runelog: RunelogReader
  /** Only this process writes to the store. */
  readonly isExclusive: boolean
  readonly now: () => number
  readonly sha256: Sha256
  /** The key that belongs to the store; made on first use. Only what an admin asks for signs with it. */
  readonly signer: () => Signer
  /** The public half of that key; undefined if there is none yet. Nothing is made. */
  readonly publicKey: () => string | undefined
  readonly check: CheckSignature
  /** What is going on in each session, kept at hand for those who look. */
  readonly views: SessionViews
  /** The agents that can be given work here; none where a command has only the store. */
  readonly agents: () => readonly AgentCard[]
  /** The whole of an output that was too long for the model, by its reference. */
  readonly output: (ref: string) => Promise<string | undefined>
  /** Not for reads: opening these may recover what a killed process left. */
  readonly commands: () => Promise<Commands>
  /** Intents that are judged before anything runs. Nothing else is recovered or begun by asking for them. */
  readonly plans: () => Promise<SurfacePlans>
  /** Runs that are running and that no process has. Where a process works, it takes them up, and there are none. */
  readonly abandoned: () => Promise<readonly AbandonedRun[]>
  /** Text on its way, before it is durable. Returns the way to stop listening. */
  readonly listen: (listener: (delta: EphemeralDelta) => void) => () => void
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
