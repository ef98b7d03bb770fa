import type { Sha256 } from '../kernel/digest.ts'
import { canonicalJson, type Json } from '../kernel/json.ts'
import type { AuditEntry } from './schemas/record.ts'

/** SHA-256 over the one canonical text. Key order, white space and locale cannot change it. */
export function checksumOf(value: unknown, sha256: Sha256): string {
  return sha256(canonicalJson(value as Json))
}

/** An id that is a hash of its content: equal content has the same id in every run and on every machine. */
export function idOf(prefix: string, value: unknown, sha256: Sha256, digits = 16): string {
  return `${prefix}_${checksumOf(value, sha256).slice(0, digits)}`
}

/** The checksum that an intent carries: over itself, with the place for the checksum left empty. */
export function intentChecksum(intent: Json, sha256: Sha256): string {
  if (!isRecord(intent)) return checksumOf(intent, sha256)
  const audit = intent.audit
  return checksumOf(isRecord(audit) ? { ...intent, audit: { ...audit, checksum: '' } } : intent, sha256)
}

/** The id of an entry of the audit log: a hash of everything else in it. */
export function auditLogId(entry: Omit<AuditEntry, 'log_id'>, sha256: Sha256): string {
  return idOf('log', entry, sha256)
}

/** Whether a JSON value is an object. */
export function isRecord(value: Json | undefined): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The text at this place of a JSON value. Undefined: there is none. */
export function textAt(value: Json, ...path: readonly string[]): string | undefined {
  const found = path.reduce<Json | undefined>((at, name) => (isRecord(at) ? at[name] : undefined), value)
  return typeof found === 'string' ? found : undefined
}

/** Seals an intent whose checksum is empty. The precheck refuses an intent whose checksum does not match. */
export function sealIntent(intent: Json, sha256: Sha256): Json {
  const audit = isRecord(intent) ? intent.audit : undefined
  if (!isRecord(intent) || !isRecord(audit) || audit.checksum !== '') return intent
  return { ...intent, audit: { ...audit, checksum: intentChecksum(intent, sha256) } }
}
