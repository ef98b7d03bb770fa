import type { Sha256 } from '../kernel/digest.ts'
import type { Json } from '../kernel/json.ts'
import { intentChecksum, isRecord } from './checksum.ts'

/**
 * An intent whose author left the place of its checksum empty is sealed as it
 * is taken in: from here on nobody changes it unseen. One that has a checksum
 * keeps it, and is refused if it does not fit.
 */
export function sealIntent(intent: Json, sha256: Sha256): Json {
  const audit = isRecord(intent) ? intent.audit : undefined
  if (!isRecord(intent) || !isRecord(audit) || audit.checksum !== '') return intent
  return { ...intent, audit: { ...audit, checksum: intentChecksum(intent, sha256) } }
}
