import { z } from 'zod'
import type { Lineage } from '../schemas/record.ts'

interface FileDigest {
  readonly name: string
  readonly sha256: string
}

/** The in-toto statement. */
export const statementFile = 'statement.json'
/** The signed statement. */
export const envelopeFile = 'statement.dsse.json'
/** Times stand beside what is frozen and outside its checksums: the same input gives the same frozen bytes, at any time. */
export const journalFile = 'journal.json'
/** The media type of a statement. */
const payloadType = 'application/vnd.in-toto+json'

/** As much of a statement as is needed to say which file it disagrees with. */
export const statementSubjects = z.object({
  subject: z.array(z.object({ name: z.string(), digest: z.object({ sha256: z.string() }) })),
})

/** Lineage in the words of in-toto and SLSA, so that other tools can check it: inputs, content, every file by digest. */
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

/** Signs and checks bytes. Ed25519 gives the same signature for the same bytes, so signing keeps runs comparable. */
export interface Signer {
  readonly keyid: string
  /** Base64. */
  sign(bytes: Uint8Array): string
}

/** Checks signatures of one key. */
export interface SignatureCheck {
  readonly keyid: string
  verify(bytes: Uint8Array, signature: string): boolean
}

/** The shape of a DSSE envelope. */
export const envelope = z.strictObject({
  payloadType: z.string(),
  payload: z.string(),
  signatures: z.array(z.strictObject({ keyid: z.string(), sig: z.string() })),
})

/** A DSSE envelope. */
export type Envelope = z.infer<typeof envelope>

/** A DSSE envelope around a text: what is signed is its type and its bytes, nothing that could be reordered. */
export function seal(text: string, signer: Signer): Envelope {
  const body = new TextEncoder().encode(text)
  return {
    payloadType,
    payload: base64(body),
    signatures: [{ keyid: signer.keyid, sig: signer.sign(preAuthenticated(body)) }],
  }
}

/** Null when the envelope holds exactly this text, signed by exactly this key, if one is given; otherwise what is wrong. */
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
