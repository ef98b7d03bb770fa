import { z } from 'zod'
import { payloadType } from './statement.ts'

/** Signs and checks bytes. Ed25519 gives the same signature for the same bytes, so signing keeps runs comparable. */
export interface Signer {
  readonly keyid: string
  /** Base64. */
  sign(bytes: Uint8Array): string
}

export interface SignatureCheck {
  readonly keyid: string
  verify(bytes: Uint8Array, signature: string): boolean
}

export const envelope = z.strictObject({
  payloadType: z.string(),
  payload: z.string(),
  signatures: z.array(z.strictObject({ keyid: z.string(), sig: z.string() })),
})

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
