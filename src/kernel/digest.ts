import { asJson, canonicalJson, type Json } from './json.ts'
import type { Machine } from './machine.ts'

/** SHA-256 of a text, in lower-case hex. A port, since the browser and Node have different ones. */
export type Sha256 = (text: string) => string

/** The purposes of digests and signatures. One that was made for one purpose never passes for another. */
type Purpose = 'payload' | 'commit' | 'remains' | 'redaction' | 'checkpoint' | 'bundle' | 'cache' | 'id'

/**
 * The text that is hashed for several parts: the purpose, then each part after its length in bytes of UTF-8. Different
 * parts always give different texts, so no byte can move from one part to the next unseen.
 */
export function partsText(purpose: Purpose, parts: readonly string[]): string {
  let text = `statewright/2 ${purpose}\n`
  for (const part of parts) text += `${utf8Length(part)}:${part}`
  return text
}

/** Takes a digest of several parts. A single JSON value does not need this: its canonical text is enough. */
export function digestOf(purpose: Purpose, parts: readonly string[], sha256: Sha256): string {
  return sha256(partsText(purpose, parts))
}

/** An id that follows from its parts: the same parts, the same id. */
export function hashedId(prefix: string, parts: readonly string[], sha256: Sha256): string {
  return `${prefix}_${digestOf('id', [prefix, ...parts], sha256).slice(0, 24)}`
}

/** The text that a signature covers: a statement and its purpose. */
export function statementText(purpose: Purpose, statement: Json): string {
  return partsText(purpose, [canonicalJson(statement)])
}

/** The digest of a declaration: equal digests, equal behaviour. */
export function machineDigest(machine: Machine, sha256: Sha256): string {
  return sha256(canonicalJson(asJson(machine)))
}

/** The length of a text in bytes of UTF-8. A lone surrogate counts as the character that replaces it. */
export const utf8Length: (text: string) => number =
  (globalThis as { readonly Buffer?: { byteLength(text: string): number } }).Buffer?.byteLength ?? countBytes

/** The same for a browser, which has no function for it. */
function countBytes(text: string): number {
  let bytes = text.length
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code <= 0x7f) continue
    bytes += code <= 0x7ff ? 1 : 2
    // Both halves of a pair together are four bytes.
    if (isHigh(code) && isLow(text.charCodeAt(at + 1))) at++
  }
  return bytes
}

const isHigh = (code: number) => code >= 0xd800 && code <= 0xdbff
const isLow = (code: number) => code >= 0xdc00 && code <= 0xdfff
