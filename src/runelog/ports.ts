import type { Fault } from '../faults/fault.ts'
import type { Sha256 } from '../kernel/digest.ts'
import type { Signer } from '../runes/checkpoint.ts'
import type { ReadModel } from './read-model.ts'
import type { Redactor } from './redactor.ts'

/** What a store needs from the machine it runs on. */
export interface Ports {
  readonly sha256: Sha256
  /** Lower-case hex of that many unpredictable bytes. */
  readonly random: (bytes: number) => string
  /** Milliseconds since 1970, UTC. Asked only for the runes that the store writes of its own accord. */
  readonly now: () => number
  /** The key of the store; it signs what the store did to a log. Asked for only then. */
  readonly signer: () => Signer
}

export interface RunelogOptions {
  /** Read models beside the built-in ones. */
  readonly models?: readonly ReadModel[]
  /** Takes secrets out of payloads before anything else sees them. */
  readonly redactor?: Redactor
  /** Hears once that the store takes nothing more, and why. */
  readonly broken?: (fault: Fault) => void
  /** Erases what a redacted payload referred to. May be called again for what is gone already. */
  readonly eraseBlobs?: (refs: readonly string[]) => Promise<void>
}
