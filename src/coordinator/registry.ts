import type { Sha256 } from '../kernel/digest.ts'
import type { Json } from '../kernel/json.ts'
import { nearest } from '../kernel/nearest.ts'
import { checksumOf } from './checksum.ts'
import type { Ports } from './progress.ts'
import {
  type EntryOf,
  type RegistryEntry,
  type RegistryFile,
  type RegistrySnapshot,
  type Rule,
  registryEntry,
  registryFile,
} from './schemas/registry.ts'
import { type ContentKind, type Problem, problemsOf, severity } from './schemas/scalars.ts'

/** References between entries that do not resolve: parent versions, and commands and phases of workflows. */
function linkProblems(admitted: readonly { name: string; entry: RegistryEntry }[]): Problem[] {
  const versions = new Set(admitted.map(({ entry }) => keyOf(entry)))
  const commands = new Set(admitted.flatMap(({ entry }) => (entry.kind === 'command' ? [entry.id] : [])))
  return admitted.flatMap(({ name, entry }) => {
    const problems: Problem[] = []
    const say = (message: string) => problems.push({ code: 'link_broken', message, path: name, refs: [entry.id] })
    if ('parent_version' in entry.lineage && !versions.has(`${entry.kind} ${entry.id} ${entry.lineage.parent_version}`))
      say(`its parent version ${entry.lineage.parent_version} is not in the registry`)
    if (entry.kind !== 'workflow') return problems
    const phases = entry.phases.map(({ phase }) => phase)
    if (new Set(phases).size < phases.length) say('it lists a phase twice')
    for (const { phase, commands: listed, after = [] } of entry.phases) {
      for (const id of listed)
        if (!commands.has(id)) say(`phase ${phase} lists ${id}, which is not a command of the registry`)
      for (const before of after)
        if (!phases.includes(before)) say(`phase ${phase} follows ${before}, which it does not have`)
    }
    return problems
  })
}

/** A file of the registry, with its name for messages. */
export interface RegistrySource {
  /** The name of the file, for refusals. */
  readonly name: string
  /** Its content. */
  readonly content: Json
}

/** A registry that was admitted, or every problem of its files. */
export type Admission =
  /** The registry. */
  | { readonly admitted: true; readonly snapshot: RegistrySnapshot }
  /** All problems of the files. */
  | { readonly admitted: false; readonly problems: readonly Problem[] }

/** Admits a whole registry or refuses it with every problem: a rule left out by mistake might be the one that denies. */
export function admitRegistry(sources: readonly RegistrySource[], ports: Ports): Admission {
  const problems: Problem[] = []
  const admitted: { name: string; entry: RegistryEntry }[] = []
  for (const { name, content } of sources) {
    const parsed = registryFile.safeParse(content)
    if (!parsed.success) {
      problems.push(...problemsOf(parsed.error, 'registry_file_invalid', name))
      continue
    }
    const taken = admitEntry(name, parsed.data, ports)
    if (taken.entry !== null) admitted.push({ name, entry: taken.entry })
    problems.push(...taken.problems)
  }
  problems.push(...repeated(admitted), ...linkProblems(admitted))
  if (problems.length > 0) return { admitted: false, problems }
  const entries = admitted.map(({ entry }) => entry)
  return { admitted: true, snapshot: snapshotOf(entries, ports.sha256) }
}

/** The snapshot of these entries, addressed by content: order and names of the files do not matter. */
export function snapshotOf(entries: readonly RegistryEntry[], sha256: Sha256): RegistrySnapshot {
  const sorted = entries.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
  const index = sorted.map(({ kind, id, version, status, checksum }) => ({ kind, id, version, status, checksum }))
  return { schema_version: '1.0.0', snapshot_id: checksumOf(index, sha256), entries: sorted }
}

function admitEntry(name: string, file: RegistryFile, { sha256, rules }: Ports) {
  const problems: Problem[] = []
  const say = (code: string, message: string) => problems.push({ code, message, path: name, refs: [file.id] })
  let content: Omit<RegistryEntry, 'checksum'> = file as RegistryEntry
  if (file.kind === 'rule') {
    const { annotations, problems: invalid } = rules.check(file.id, file.policy)
    for (const message of invalid) say('rule_invalid', message)
    if (annotations !== null)
      for (const message of annotationProblems(file.id, annotations)) say('rule_invalid', message)
    content = { ...file, reason: annotations?.reason, severity: annotations?.severity } as RegistryEntry
  }
  if (problems.length > 0) return { entry: null, problems }
  const checksum = entryChecksum(content, sha256)
  if (file.checksum === undefined && file.status === 'frozen')
    say('checksum_missing', `a frozen entry must carry its checksum, which is ${checksum}`)
  const changed = `its content has the checksum ${checksum}, not ${file.checksum}; a change needs a new version`
  if (file.checksum !== undefined && file.checksum !== checksum) say('checksum_mismatch', changed)
  return { entry: registryEntry.parse({ ...content, checksum }), problems }
}

/** Problems of a rule that lacks its id, its reason or its severity. */
function annotationProblems(rule_id: string, annotations: Readonly<Record<string, string | undefined>>) {
  const { id, reason = '', severity: level } = annotations
  const missing = [
    ...(id === rule_id ? [] : [`@id("${rule_id}")`]),
    ...(reason.trim() === '' ? ['@reason("…")'] : []),
    ...(severity.safeParse(level).success ? [] : [`@severity, one of ${severity.options.join(', ')}`]),
  ]
  return missing.map((annotation) => `its policy must carry ${annotation}`)
}

const keyOf = ({ kind, id, version }: RegistryEntry): string => `${kind} ${id} ${version}`

function repeated(admitted: readonly { name: string; entry: RegistryEntry }[]): Problem[] {
  const seen = new Map<string, string>()
  return admitted.flatMap(({ name, entry }) => {
    const key = keyOf(entry)
    const first = seen.get(key)
    if (first !== undefined)
      return [{ code: 'entry_repeated', message: `${key} is also in ${first}`, path: name, refs: [entry.id] }]
    seen.set(key, name)
    return []
  })
}

/** The checksum of the content alone: an entry keeps it when it is frozen or deprecated. */
export function entryChecksum(entry: Omit<RegistryEntry, 'checksum'>, sha256: Sha256): string {
  const { checksum: _, status: __, ...content } = entry as RegistryEntry
  return checksumOf(content, sha256)
}

/** Looks content up. It is made once per snapshot, since a snapshot never changes. */
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

type Missing = 'reference_missing' | 'reference_inactive' | 'version_drift'
type Resolution<K extends ContentKind = ContentKind> =
  | { readonly found: EntryOf<K> }
  | { readonly found: null; readonly code: Missing; readonly message: string }

/** Resolves a reference in this registry: to the pinned version, or to the newest one that may be used. */
export function resolve<K extends ContentKind>(index: RegistryIndex, wanted: Reference & { kind: K }): Resolution<K> {
  const { kind, id, version, checksum } = wanted
  const lacks = (code: Missing, message: string) => ({ found: null, code, message })
  const versions = index.versions(kind, id)
  if (versions.length === 0) {
    const near = nearest(id, index.ids(kind))
    const hint = near === null ? `it has no ${kind} at all` : `the nearest is ${near}`
    return lacks('reference_missing', `The registry has no ${kind} ${id}; ${hint}.`)
  }
  const listed = versions.map((entry) => `${entry.version} (${entry.status})`).join(', ')
  const entry = versions.find((one) => (version === undefined ? isUsable(one) : one.version === version))
  if (entry === undefined && version !== undefined) {
    const drift = `The intent was written against ${kind} ${id} ${version}, which the registry no longer has`
    return lacks('version_drift', `${drift}; it has ${listed}.`)
  }
  if (entry === undefined || !isUsable(entry)) {
    const under = version === undefined ? '' : ` under ${version}`
    const none = `${kind} ${id} has no version that is active or frozen${under}`
    return lacks('reference_inactive', `${none}; it has ${listed}.`)
  }
  if (checksum === undefined || checksum === entry.checksum) return { found: entry }
  const actual = `${kind} ${id} ${entry.version} has the checksum ${entry.checksum}`
  return lacks('version_drift', `${actual}; the intent was written against ${checksum}.`)
}

/** Whether plans may use a version of content. */
export function isUsable(entry: RegistryEntry): boolean {
  return entry.status === 'active' || entry.status === 'frozen'
}

function compareVersions(a: string, b: string): number {
  const [left, right] = [a.split('.').map(Number), b.split('.').map(Number)]
  for (let i = 0; i < 3; i++) if (left[i] !== right[i]) return (left[i] ?? 0) - (right[i] ?? 0)
  return 0
}
