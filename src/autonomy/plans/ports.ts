import type { SignatureCheck, Signer } from '../../coordinator/outputs/statement.ts'
import type { RuleEngine } from '../../coordinator/rules/engine.ts'
import type { Engine } from '../../runtime/engine.ts'
import type { Blobs } from '../../runtime/store.ts'
import type { Defaults } from './submission.ts'

/** What plans need from the application. */
export interface PlanPorts extends Defaults {
  /** The runtime whose sessions the plans live in. */
  readonly engine: () => Engine
  readonly blobs: Blobs
  /** Loads the rule engine; called by the first plan. */
  readonly rules: () => Promise<RuleEngine>
  /** The key that signs what is frozen, and how its signature is checked. Without it, nothing is signed. */
  readonly signing?: () => Promise<{ readonly signer: Signer; readonly signature: SignatureCheck }>
}
