import type { SignatureCheck, Signer } from '../coordinator/outputs/dsse.ts'
import type { FrozenFiles } from '../coordinator/outputs/freeze.ts'
import type { RuleEngine } from '../coordinator/rules/engine.ts'
import type { FactPack } from '../coordinator/schemas/fact-pack.ts'
import type { RegistrySnapshot } from '../coordinator/schemas/registry.ts'
import type { Json } from '../kernel/json.ts'

/** What it takes to plan without a store: files, the rules, a key. `main` fills it. */
export interface Planning {
  /** A file in JSON or YAML. */
  readonly readDocument: (file: string) => Promise<Json>
  readonly isFolder: (path: string) => Promise<boolean>
  readonly readRegistry: (folder: string) => Promise<RegistrySnapshot>
  /** The rule language; loaded when it is first asked for. */
  readonly rules: () => Promise<RuleEngine>
  readonly scan: (folder: string, project_id: string) => Promise<FactPack>
  readonly writePlan: (folder: string, files: FrozenFiles) => Promise<void>
  /** What is in a folder: texts, and the names of what is no text. */
  readonly readPlan: (folder: string) => Promise<{ readonly files: FrozenFiles; readonly strange: readonly string[] }>
  /** A private key in PEM. */
  readonly readKey: (file: string) => Promise<{ readonly signer: Signer; readonly signature: SignatureCheck }>
  /** A key in PEM, private or public. */
  readonly readPublicKey: (file: string) => Promise<SignatureCheck>
  /** Writes a file that is not there yet. */
  readonly writeNew: (file: string, text: string) => Promise<void>
}
