import { canonicalJson } from './canonical-json.ts'
import type { Json } from './json.ts'
import type { Machine } from './machine.ts'

/** SHA-256 of a text, in lower-case hex. Passed in, since the browser has another one than Node. */
export type Sha256 = (text: string) => string

/** Names a declaration by its content: equal digests, equal behaviour. */
export function machineDigest(machine: Machine, sha256: Sha256): string {
  return sha256(canonicalJson(machine as unknown as Json))
}
