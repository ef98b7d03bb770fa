import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createCedarConditionEngine, createCedarRuleEngine, loadCedar } from '../adapters/cedar/engines.ts'
import { loadRegistry } from '../adapters/files/documents.ts'
import { writePlan } from '../adapters/files/plan-folder.ts'
import { createSignatureCheck, createSigner } from '../adapters/host/secret-files.ts'
import { claimOwnFile } from '../adapters/workspace/own-files.ts'
import { createPlans } from '../autonomy/plans/create-plans.ts'
import type { Plans } from '../autonomy/plans/plans.ts'
import type { PlanPorts } from '../autonomy/plans/receive.ts'
import { type SignatureCheck, withJournal } from '../coordinator/outputs/freeze.ts'
import type { ConditionEngine, RuleEngine } from '../coordinator/rules/engine.ts'
import { defaultPolicy } from '../coordinator/schemas/context.ts'
import type { RegistrySnapshot } from '../coordinator/schemas/registry.ts'
import { faults, fileRefused } from '../faults/catalogue.ts'
import type { Sha256 } from '../kernel/digest.ts'
import type { Json } from '../kernel/json.ts'

/** The options of plans: registry, policy and signing key. */
export interface PlanOptions {
  /** The folder of workflows, agents, commands and rules that plans are made of. */
  readonly registry?: string
  /** The policy of every plan and goal. Default: ask people, change nothing destructive. */
  readonly policy?: Json
  /** A file with an Ed25519 key in PEM that signs frozen plans. */
  readonly signingKey?: string
}

/** The plans of a store. */
export interface PlansOfStore extends Omit<Plans, 'resumeAll' | 'idle' | 'stop'> {
  /**
   * Writes the files of an ended plan to a folder, where `statewright plan verify` checks them. Refused with
   * `coordination_not_over` before its end, and with `file_unusable` if the folder cannot be written.
   */
  export(coordination_id: string, folder: string): Promise<void>
}

/** Loads something with its first use: Cedar is a megabyte of WebAssembly. */
function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined
  return () => {
    loading ??= load()
    return loading
  }
}

/** Loads the rule engine once, with the first plan. */
export const loadRules = once<RuleEngine>(async () => createCedarRuleEngine(await loadCedar()))
const loadConditions = once<ConditionEngine>(async () => createCedarConditionEngine(await loadCedar()))

/** Reads a registry folder. One bad file refuses the whole registry. */
export async function readRegistry(folder: string, sha256: Sha256): Promise<RegistrySnapshot> {
  const admission = await loadRegistry(folder, { sha256, rules: await loadRules() }).catch((error) => {
    throw fileRefused(folder, error)
  })
  if (admission.admitted) return admission.snapshot
  throw faults.registry_refused({ registry: folder, problems: admission.problems })
}

/** Connects plans to a store: registry folder, Cedar, signing key. */
export function openPlans(
  { registry, policy = defaultPolicy, signingKey }: PlanOptions,
  { sha256, ...ports }: Pick<PlanPorts, 'engine' | 'blobs'> & { readonly sha256: Sha256 },
) {
  if (signingKey !== undefined) claimOwnFile(signingKey)
  async function registryNow(): Promise<RegistrySnapshot> {
    if (registry !== undefined) return readRegistry(registry, sha256)
    const message = 'none is configured; name a folder as plans.registry, or submit the plan with a registry.'
    throw faults.registry_refused({ registry: 'of plans', problems: [{ message }] })
  }
  const { autonomy, resumeAll, idle, stop, ...plans } = createPlans({
    ...ports,
    policy,
    rules: loadRules,
    ...(signingKey === undefined ? {} : { signing: () => readKey(signingKey) }),
    registry: registryNow,
  })
  const of_store: PlansOfStore = {
    ...plans,
    async export(coordination_id, folder) {
      const { submitted_at, moves } = await plans.show(coordination_id)
      const files = await plans.files(coordination_id)
      await writePlan(folder, withJournal(files, [submitted_at, ...moves.map(({ at }) => at)]))
    },
  }
  return { plans: of_store, registry: registryNow, conditions: loadConditions, autonomy, resumeAll, idle, stop }
}

/** Refuses a signing key of another kind before a store is opened. A missing file only delays plans that end. */
export async function checkSigningKey({ signingKey }: PlanOptions): Promise<void> {
  if (signingKey !== undefined && existsSync(signingKey)) await readKey(signingKey)
}

/** Reads a private key: its signer, and the check of its signatures. */
export async function readKey(file: string) {
  return { signature: await readPublicKey(file), signer: await fromPem(file, createSigner) }
}

/** Reads the public key of a PEM file, which may hold the private key. */
export async function readPublicKey(file: string): Promise<SignatureCheck> {
  return fromPem(file, createSignatureCheck)
}

async function fromPem<K>(file: string, read: (pem: string) => K): Promise<K> {
  const pem = await readFile(file, 'utf8').catch((error) => {
    throw fileRefused(file, error)
  })
  try {
    return read(pem)
  } catch (error) {
    const problem = `it holds no Ed25519 key in PEM that fits (${(error as Error).message}). Make one with "openssl genpkey -algorithm ed25519 -out FILE"; "openssl pkey -in FILE -pubout" gives its public half.`
    throw faults.file_unusable({ file, problem }, { cause: error })
  }
}
