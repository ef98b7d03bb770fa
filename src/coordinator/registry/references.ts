import type { Sha256 } from '../../kernel/digest.ts'
import { nearest } from '../../kernel/nearest.ts'
import { checksumOf } from '../checksum.ts'
import type { EntryOf, RegistryEntry, RegistrySnapshot, Rule } from '../schemas/registry.ts'
import type { ContentKind } from '../schemas/scalars.ts'

/** Over the content alone: an entry keeps its checksum when it is frozen or deprecated. */
export function entryChecksum(entry: Omit<RegistryEntry, 'checksum'>, sha256: Sha256): string {
  const { checksum: _, status: __, ...content } = entry as RegistryEntry
  return checksumOf(content, sha256)
}

/** Where content is looked up. Made once per snapshot, since a snapshot never changes. */
export interface RegistryIndex {
  /** Every version of an id, newest first. */
  versions<K extends ContentKind>(kind: K, id: string): readonly EntryOf<K>[]
  /** Every rule in force: for each id its newest usable version. */
  readonly rulesInForce: readonly Rule[]
  ids(kind: ContentKind): readonly string[]
}

const indexes = new WeakMap<RegistrySnapshot, RegistryIndex>()

/** The index of a snapshot. */
export function indexOf(snapshot: RegistrySnapshot): RegistryIndex {
  const known = indexes.get(snapshot)
  if (known !== undefined) return known
  const byKey = Map.groupBy(snapshot.entries, (entry) => `${entry.kind} ${entry.id}`)
  for (const versions of byKey.values()) versions.sort((a, b) => compareVersions(b.version, a.version))
  const ids = Map.groupBy(snapshot.entries, (entry) => entry.kind)
  const index: RegistryIndex = {
    versions: <K extends ContentKind>(kind: K, id: string) => (byKey.get(`${kind} ${id}`) ?? []) as EntryOf<K>[],
    rulesInForce: [...byKey.values()]
      .flatMap((versions) => versions.find(isUsable) ?? [])
      .filter((entry) => entry.kind === 'rule')
      .sort((a, b) => (a.id < b.id ? -1 : 1)),
    ids: (kind) => [...new Set((ids.get(kind) ?? []).map((entry) => entry.id))].sort(),
  }
  indexes.set(snapshot, index)
  return index
}

/** A reference to content, perhaps pinned to a version or a checksum. */
export interface Reference {
  readonly kind: ContentKind
  readonly id: string
  readonly version?: string | undefined
  readonly checksum?: string | undefined
}

type Resolution<K extends ContentKind = ContentKind> =
  | { readonly found: EntryOf<K> }
  | {
      readonly found: null
      readonly code: 'reference_missing' | 'reference_inactive' | 'version_drift'
      readonly message: string
    }

/** What a reference means in this registry: the pinned version, or the newest one that may be used. */
export function resolve<K extends ContentKind>(
  index: RegistryIndex,
  reference: Reference & { kind: K },
): Resolution<K> {
  const { kind, id, version, checksum } = reference
  const versions = index.versions(kind, id)
  if (versions.length === 0) {
    const near = nearest(id, index.ids(kind))
    const hint = near === null ? `it has no ${kind} at all` : `the nearest is ${near}`
    return { found: null, code: 'reference_missing', message: `The registry has no ${kind} ${id}; ${hint}.` }
  }
  const usable = versions.filter(isUsable)
  const listed = versions.map((entry) => `${entry.version} (${entry.status})`).join(', ')
  const entry = version === undefined ? usable[0] : versions.find((candidate) => candidate.version === version)
  if (entry === undefined && version !== undefined)
    return {
      found: null,
      code: 'version_drift',
      message: `The intent was written against ${kind} ${id} ${version}, which the registry no longer has; it has ${listed}.`,
    }
  if (entry === undefined || !isUsable(entry))
    return {
      found: null,
      code: 'reference_inactive',
      message: `${kind} ${id} has no version that is active or frozen${version === undefined ? '' : ` under ${version}`}; it has ${listed}.`,
    }
  if (checksum !== undefined && checksum !== entry.checksum)
    return {
      found: null,
      code: 'version_drift',
      message: `${kind} ${id} ${entry.version} has the checksum ${entry.checksum}; the intent was written against ${checksum}.`,
    }
  return { found: entry }
}

function isUsable(entry: RegistryEntry): boolean {
  return entry.status === 'active' || entry.status === 'frozen'
}

function compareVersions(a: string, b: string): number {
  const [left, right] = [a.split('.').map(Number), b.split('.').map(Number)]
  for (let i = 0; i < 3; i++) if (left[i] !== right[i]) return (left[i] ?? 0) - (right[i] ?? 0)
  return 0
}
