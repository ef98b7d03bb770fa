import * as z from 'zod'
import { faults } from '../../faults/catalogue.ts'
import { asJson, canonicalJson } from '../../kernel/json.ts'
import { type Coordination, timedTape } from '../coordinate.ts'
import type { CoordinationInput, Ports } from '../progress.ts'
import { type Lineage, type RunTape, runTape, tapeEntry } from '../schemas/record.ts'
import { listOf } from '../schemas/scalars.ts'
import { listArtifacts, type PlanProblem } from './lineage.ts'
import { markdownOf } from './markdown.ts'

/** Text by file name. A JSON file is exactly the canonical text, so `sha256sum` gives the checksum of its artifact. */
export type FrozenFiles = Readonly<Record<string, string>>

/** The files of an ended coordination: each artifact as canonical JSON and as Markdown. Throws `coordination_not_over`. */
export function freeze(
  coordination: Pick<Coordination, 'run_id' | 'artifacts' | 'tape' | 'audit' | 'lineage'>,
  input: Pick<CoordinationInput, 'intent' | 'policy'>,
  { sha256 }: Pick<Ports, 'sha256'>,
  signer?: Signer,
): FrozenFiles {
  const { run_id, artifacts, tape, audit, lineage } = coordination
  if (!tape.is_closed) throw faults.coordination_not_over({ coordination_id: run_id, state: tape.state })
  const log = { schema_version: '1.0.0', coordinator_run_id: run_id, entries: audit }
  const documents: readonly { type: string; name: string; artifact: unknown }[] = [
    ...listArtifacts(artifacts).filter(({ type }) => type !== 'lineage'),
    { type: 'lineage', name: 'lineage', artifact: lineage },
    { type: 'run_tape', name: 'run_tape', artifact: tape },
    { type: 'audit_log', name: 'audit_log', artifact: log },
  ]
  const files: Record<string, string> = {
    'intent.json': canonicalJson(input.intent),
    'policy.json': canonicalJson(input.policy),
  }
  for (const { type, name, artifact } of documents) {
    files[`${name}.json`] = canonicalJson(asJson(artifact))
    files[`${name}.md`] = markdownOf(type, asJson(artifact))
  }
  const statement = canonicalJson(statementOf(lineage, digests(files, sha256)))
  files[statementFile] = statement
  if (signer !== undefined) files[envelopeFile] = canonicalJson(asJson(seal(statement, signer)))
  return files
}

/** The digest of each file, sorted by name, without the statement, its envelope and the journal. */
export function digests(files: FrozenFiles, sha256: Ports['sha256']) {
  return Object.keys(files)
    .filter((name) => name !== statementFile && name !== envelopeFile && name !== journalFile)
    .sort()
    .map((name) => ({ name, sha256: sha256(files[name] ?? '') }))
}

type FileDigest = { readonly name: string; readonly sha256: string }

/** The in-toto statement. */
export const statementFile = 'statement.json'
/** The signed statement. */
export const envelopeFile = 'statement.dsse.json'
/** Times are outside the checksums: the same input gives the same frozen bytes at any time. */
export const journalFile = 'journal.json'
const payloadType = 'application/vnd.in-toto+json'

/** The part of a statement that names files: enough to say which one differs. */
export const statementSubjects = z.object({
  subject: z.array(z.object({ name: z.string(), digest: z.object({ sha256: z.string() }) })),
})

/** The lineage as an in-toto statement with SLSA provenance, so that other tools can check it. */
export function statementOf(lineage: Lineage, files: readonly FileDigest[]) {
  const tape = files.find(({ name }) => name === 'run_tape.json')
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: files.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'urn:statewright:coordination:v1',
        externalParameters: {
          intent: { id: lineage.derived_from_intent, digest: { sha256: lineage.intent_checksum } },
          answers: lineage.answer_checksums.map((sha256) => ({ digest: { sha256 } })),
        },
        internalParameters: {
          policy: { digest: { sha256: lineage.policy_checksum } },
          memory: { digest: { sha256: lineage.memory_checksum } },
          facts: { digest: { sha256: lineage.facts_checksum } },
          registry_snapshot: { digest: { sha256: lineage.registry_snapshot_id } },
          rule_engine: lineage.rule_engine,
        },
        resolvedDependencies: lineage.registry_versions.map(({ kind, id, version, checksum }) => ({
          name: `${kind}/${id}@${version}`,
          digest: { sha256: checksum },
        })),
      },
      runDetails: {
        builder: { id: `urn:statewright:coordinator:${lineage.coordinator_version}` },
        metadata: { invocationId: lineage.coordinator_run_id },
        byproducts: tape === undefined ? [] : [{ name: tape.name, digest: { sha256: tape.sha256 } }],
      },
    },
  }
}

/** Signs bytes with one key. Ed25519 is deterministic, so signed files of the same input are equal. */
export interface Signer {
  /** Names the key in the envelope. */
  readonly keyid: string
  /** Base64. */
  sign(bytes: Uint8Array): string
}

/** Checks signatures of one key. */
export interface SignatureCheck {
  /** The `keyid` that the envelope must name. */
  readonly keyid: string
  /** Returns whether the signature of these bytes is valid. */
  verify(bytes: Uint8Array, signature: string): boolean
}

/** The shape of a DSSE envelope. */
export const envelope = z.strictObject({
  payloadType: z.string(),
  payload: z.string(),
  signatures: listOf({ keyid: z.string(), sig: z.string() }),
})

/** A DSSE envelope. */
export type Envelope = z.infer<typeof envelope>

/** A DSSE envelope around a text. The signature covers its type and its bytes. */
export function seal(text: string, signer: Signer): Envelope {
  const body = new TextEncoder().encode(text)
  return {
    payloadType,
    payload: base64(body),
    signatures: [{ keyid: signer.keyid, sig: signer.sign(preAuthenticated(body)) }],
  }
}

/** The problem of an envelope. Null: it holds exactly this text, signed by exactly this key, if one is given. */
export function sealProblem(value: unknown, text: string, check: SignatureCheck | undefined): string | null {
  const parsed = envelope.safeParse(value)
  if (!parsed.success) return 'it is not an envelope'
  const { payloadType: type, payload, signatures } = parsed.data
  const body = new TextEncoder().encode(text)
  if (type !== payloadType) return `its payload is of type ${type}`
  if (payload !== base64(body)) return 'its payload is not the statement'
  const [signature, ...others] = signatures
  if (signature === undefined || others.length > 0) return 'it must carry one signature'
  if (check === undefined) return null
  if (signature.keyid !== check.keyid) return `it names the key ${signature.keyid}, not ${check.keyid}`
  return check.verify(preAuthenticated(body), signature.sig) ? null : 'its signature does not hold'
}

function preAuthenticated(body: Uint8Array): Uint8Array {
  const type = new TextEncoder().encode(payloadType)
  const head = new TextEncoder().encode(`DSSEv1 ${type.length} ${payloadType} ${body.length} `)
  const bytes = new Uint8Array(head.length + body.length)
  bytes.set(head)
  bytes.set(body, head.length)
  return bytes
}

function base64(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return btoa(text)
}

/** The time of each move, and how long the state before it lasted, waiting included. */
const journal = z.strictObject({
  schema_version: z.literal('1.0.0'),
  coordinator_run_id: z.string(),
  entries: listOf({
    ...tapeEntry.pick({ sequence: true, from_state: true, to_state: true, trigger: true }).shape,
    /** Milliseconds since 1970. */
    at: z.int().min(0),
    duration_ms: z.int().min(0),
  }),
})

/** See `journal`. */
export type Journal = z.infer<typeof journal>

/** `times` are the instants at which the entries of the tape were made. */
export function journalOf({ run_id, entries }: Pick<RunTape, 'run_id' | 'entries'>, times: readonly number[]): Journal {
  return {
    schema_version: '1.0.0',
    coordinator_run_id: run_id,
    entries: timedTape(entries, times).map(({ sequence, from_state, to_state, trigger, at, duration_ms }) => {
      return { sequence, from_state, to_state, trigger, at, duration_ms }
    }),
  }
}

/** The frozen files with their journal. */
export function withJournal(files: FrozenFiles, times: readonly number[]): FrozenFiles {
  const tape = runTape.parse(JSON.parse(files['run_tape.json'] ?? 'null'))
  return { ...files, [journalFile]: canonicalJson(journalOf(tape, times)) }
}

/** Whether a journal has the moves of the tape. Its times cannot be checked. */
export function journalProblems(text: string | undefined, tape: RunTape): PlanProblem[] {
  if (text === undefined) return []
  const wrong = (check: 'schema' | 'lineage', message: string) => [{ file: journalFile, check, message }]
  const found = journal.safeParse(jsonIn(text)).data
  if (found === undefined) return wrong('schema', 'It does not have the shape of a journal.')
  if (found.entries.length !== tape.entries.length) return wrong('lineage', 'It has other moves than the tape.')
  const times = found.entries.map(({ at }) => at)
  if (canonicalJson(journalOf(tape, times)) === canonicalJson(found)) return []
  return wrong('lineage', 'It has other moves than the tape, or durations that do not follow from its times.')
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
