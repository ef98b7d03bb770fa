import type { Sha256 } from '../../kernel/digest.ts'
import { checksumOf } from '../checksum.ts'
import type { RegistryEntry } from '../schemas/registry.ts'

/** Over the content alone: an entry keeps its checksum when it is frozen or deprecated. */
export function entryChecksum(entry: Omit<RegistryEntry, 'checksum'>, sha256: Sha256): string {
  const { checksum: _, status: __, ...content } = entry as RegistryEntry
  return checksumOf(content, sha256)
}
