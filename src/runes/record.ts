import { partsText, type Sha256 } from '../kernel/digest.ts'
import type { Reading } from '../kernel/machine.ts'
import type { Kind } from './kinds.ts'
import {
  actorCategory,
  type Concerns,
  concernNames,
  type Header,
  type RecordedMove,
  type Rune,
  upcast,
} from './rune.ts'

/** A commit as it is stored: the runes of one append, with one header and one hash. */
export interface StoredRecord {
  /** The last event of the commit. Its header has the first. */
  readonly event_id: number
  /** The shared fields of the runes, and a list with the own fields of each, as canonical JSON. */
  readonly header: string
  /** The hash of the commit, in lower-case hex. It covers the hash before it and the bytes of the header. */
  readonly hash: string
  /** The payloads as canonical JSON, one line for each rune. */
  readonly payload: string
  /**
   * The salts, one line for each rune. A line is empty after redaction: without the salt, the erased text cannot be
   * guessed from its digest. An empty payload needs no salt.
   */
  readonly salt: string
}

/** A place that a log must pass through: the end of a commit. It shows whether the past was rewritten. */
export interface Mark {
  readonly event_id: number
  readonly hash: string
}

/** The hash before the first commit of every session. */
export const genesis = '0'.repeat(64)

/** The text of an empty payload. It has neither salt nor digest. */
export const emptyPayload = '{}'

/** The digest of a payload with its salt, as the header holds it: from the digest alone, an erased text cannot be guessed. */
export function payloadDigest(salt: string, payload: string, sha256: Sha256): string {
  return sha256(hashedTexts.payload(salt, payload))
}

/** The hash of a commit: its header, chained to the hash before it. */
export function link(prev_hash: string, header: string, sha256: Sha256): string {
  return sha256(hashedTexts.commit(prev_hash, header))
}

/** The texts of a record that are hashed. The caller hashes them: a browser does so later. */
export interface HashedTexts {
  readonly payload: (salt: string, payload: string) => string
  readonly commit: (prev_hash: string, header: string) => string
  /** The remains of a payload after a redaction. */
  readonly remains: (payload: string) => string
}

/** The hashed texts of the present format. */
export const hashedTexts: HashedTexts = {
  payload: (salt, payload) => partsText('payload', [salt, payload]),
  commit: (prev_hash, header) => partsText('commit', [prev_hash, header]),
  remains: (payload) => partsText('remains', [payload]),
}

/** Every salt has this form, in every format. */
export function isSalt(salt: string): boolean {
  return /^[0-9a-f]{32}$/.test(salt)
}

/** The payloads or the salts of a record, in the order of its runes. Canonical JSON has no line breaks. */
export function linesOf(text: string): readonly string[] {
  return text.split('\n')
}

/** The first event of a record: before that field of its header stand only ids. */
export function firstEventOf({ header }: Pick<StoredRecord, 'header'>): number {
  return Number(/"event_id":(\d+)/.exec(header)?.[1])
}

/** The fields that the runes of a commit may share. */
export const sharedNames = ['actor', 'at', 'visibility', ...concernNames] as const
type SharedName = (typeof sharedNames)[number]
type Shared = { readonly [K in SharedName]?: string | number | null }

/** A move in a header: machine, from, trigger, to. */
export type MoveEntry = readonly [machine: string, from: string | null, trigger: string | null, to: string]

/** The part of a header that one rune has of its own. Null: it lacks a field that the others share. */
export interface RuneEntry extends Shared {
  readonly kind: string
  readonly guards?: readonly Reading[]
  readonly move?: MoveEntry
  /** Without it, the payload is empty. */
  readonly payload_sha256?: string
  /** Without it, 1. */
  readonly schema_version?: number
  /** Without it, the id of this kind of subject among those that the rune concerns. */
  readonly subject_id?: string
}

/** The header of a commit. */
export interface CommitHeader extends Shared {
  /** The first event; each rune is one event. */
  readonly event_id: number
  readonly session_id: string
  readonly runes: readonly RuneEntry[]
}

/** A rune without its content and its hashes. */
export type RuneHeader = Omit<Header, 'prev_hash' | 'hash' | 'redacted' | 'rune_id'> &
  Concerns &
  Partial<RecordedMove> & { readonly kind: Kind }

/** The name of the id of each machine's subject. */
const subjectNames: Readonly<Record<string, (typeof concernNames)[number] | 'session_id'>> = {
  session: 'session_id',
  run: 'run_id',
  agent: 'agent_id',
  turn: 'turn_id',
  tool: 'call_id',
  contract: 'execution_id',
  interaction: 'interaction_id',
  coordination: 'coordination_id',
  goal: 'goal_id',
  task: 'task_id',
}

type Concerning = Concerns & { readonly session_id: string }

const usualSubject = (machine: string, rune: Concerning) => {
  const name = subjectNames[machine]
  return name === undefined ? undefined : rune[name]
}

/** A public rune does not say so. */
function fieldOf(rune: RuneHeader, name: SharedName): string | number | undefined {
  const value = rune[name]
  return name === 'visibility' && value === 'public' ? undefined : value
}

/** The names of a header and of an entry, in canonical order. The text before each value is made once. */
export const headerNames = ['event_id', 'runes', 'session_id', ...sharedNames].sort()
/** The same of an entry. */
export const entryNames = [
  'guards',
  'kind',
  'move',
  'payload_sha256',
  'schema_version',
  'subject_id',
  ...sharedNames,
].sort()
const label = new Map([...headerNames, ...entryNames].map((name) => [name, `"${name}":`]))

/**
 * The canonical JSON of the header of a commit. A field is written once if at least half of its runes have the same
 * value. The strings are ids and declared names, in which nothing needs escaping; only the readings of guards have others.
 */
export function headerText(runes: readonly RuneHeader[], shared = sharedBy(runes)): string {
  const [{ event_id, session_id }] = runes as readonly [RuneHeader]
  let text = ''
  for (const name of headerNames) {
    if (name === 'event_id') text += `,"event_id":${event_id}`
    else if (name === 'session_id') text += `,"session_id":"${session_id}"`
    else if (name === 'runes') text += `,"runes":[${runes.map((rune) => entryText(rune, shared)).join()}]`
    else {
      const value = shared[name as SharedName]
      if (value !== undefined) text += `,${label.get(name)}${valueText(value)}`
    }
  }
  return `{${text.slice(1)}}`
}

function sharedBy(runes: readonly RuneHeader[]): Shared {
  const shared: { [K in SharedName]?: string | number } = {}
  for (const name of sharedNames) {
    let first: string | number | undefined
    let same = 0
    for (const rune of runes) {
      const value = fieldOf(rune, name)
      first ??= value
      if (value !== undefined && value === first) same += 1
    }
    if (first !== undefined && 2 * same >= runes.length) shared[name] = first
  }
  return shared
}

function entryText(rune: RuneHeader, shared: Shared): string {
  let text = ''
  for (const name of entryNames) {
    const value = entryValue(rune, name as keyof RuneEntry, shared)
    if (value !== undefined) text += `,${label.get(name)}${value}`
  }
  return `{${text.slice(1)}}`
}

/** The text of one field of an entry; undefined if the field is left out. */
function entryValue(rune: RuneHeader, name: keyof RuneEntry, shared: Shared): string | undefined {
  switch (name) {
    case 'kind':
      return `"${rune.kind}"`
    case 'guards':
      return rune.guards && readingsText(rune.guards)
    case 'move':
      return rune.machine === undefined
        ? undefined
        : `["${rune.machine}",${nameText(rune.from)},${nameText(rune.trigger)},"${rune.to}"]`
    case 'payload_sha256':
      return rune.payload_sha256 === null ? undefined : `"${rune.payload_sha256}"`
    case 'schema_version':
      return rune.schema_version === 1 ? undefined : String(rune.schema_version)
    case 'subject_id':
      return rune.subject_id === undefined || rune.subject_id === usualSubject(rune.machine ?? '', rune)
        ? undefined
        : `"${rune.subject_id}"`
    default: {
      const value = fieldOf(rune, name)
      if (value === shared[name]) return undefined
      return value === undefined ? 'null' : valueText(value)
    }
  }
}

const nameText = (name: string | null | undefined) => (name === null || name === undefined ? 'null' : `"${name}"`)
const valueText = (value: string | number | null) => (typeof value === 'string' ? `"${value}"` : String(value))

function readingsText(readings: readonly Reading[]): string {
  return JSON.stringify(readings.map(({ because, guard, holds }) => ({ because, guard, holds })))
}

/** The id of a rune follows from its place. */
export const runeId = (session_id: string, event_id: number) => `rune_${session_id}.${event_id}`

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** A rune without its content. */
export type RuneInTheMaking = Writable<Header & Concerns & Partial<RecordedMove>> & { kind: Kind; payload: unknown }

/**
 * Every field of a rune, as it is without a value. Runes that are only folded have them all: objects of one shape are
 * read faster.
 */
const bare: RuneInTheMaking = {
  ...(Object.fromEntries(
    [...concernNames, 'machine', 'subject_id', 'from', 'to', 'trigger', 'guards', 'redacted'].map((name) => [
      name,
      undefined,
    ]),
  ) as Partial<RecordedMove>),
  event_id: 0,
  rune_id: '',
  session_id: '',
  kind: 'session.created',
  visibility: 'public',
  at: 0,
  actor: 'graph_runner',
  actor_category: 'system',
  payload: undefined,
  payload_sha256: null,
  prev_hash: '',
  hash: '',
  schema_version: 1,
}

/**
 * The runes of a header for a fold, without their payloads and hashes. No reader gets them: fields that they lack are
 * there as undefined, and they have no `rune_id`.
 */
export function foldedRunesIn(header: CommitHeader): RuneInTheMaking[] {
  const { event_id, session_id, runes } = header
  const common: RuneInTheMaking = { ...bare, session_id }
  const ofAll: Record<string, unknown> = common
  for (const name of sharedNames) ofAll[name] = header[name] ?? bare[name]
  return runes.map((entry, i) => {
    const rune = { ...common, event_id: event_id + i, kind: entry.kind as Kind }
    const fields: Record<string, unknown> = rune
    // Null: the rune lacks a field that the others share.
    for (const name in entry) if (isShared(name)) fields[name] = entry[name] ?? bare[name]
    return completed(rune, entry)
  })
}

/** The runes of a header, without their payloads and hashes. The order of their events is that of the header. */
export function runesIn(header: CommitHeader): RuneInTheMaking[] {
  const { event_id, session_id, runes } = header
  const shared: [SharedName, string | number][] = []
  for (const name of sharedNames) {
    const value = header[name]
    if (value !== undefined && value !== null) shared.push([name, value])
  }
  return runes.map((entry, i) => {
    const actor = (entry.actor ?? header.actor) as Rune['actor']
    const rune: RuneInTheMaking = {
      event_id: event_id + i,
      rune_id: runeId(session_id, event_id + i),
      session_id,
      kind: entry.kind as Kind,
      visibility: 'public',
      at: 0,
      actor,
      actor_category: 'system',
      payload: undefined,
      payload_sha256: null,
      prev_hash: '',
      hash: '',
      schema_version: 1,
    }
    // Null: the rune lacks a field that the others share. No field is deleted: that would make each later access slow.
    const fields: Record<string, unknown> = rune
    for (const [name, value] of shared) if (entry[name] === undefined) fields[name] = value
    for (const name in entry) if (isShared(name) && entry[name] !== null) fields[name] = entry[name]
    return completed(rune, entry)
  })
}

/** Adds the fields that only an entry has. */
function completed(rune: RuneInTheMaking, entry: RuneEntry): RuneInTheMaking {
  const { payload_sha256 = null, schema_version = 1, move, guards } = entry
  rune.actor_category = actorCategory(rune.actor)
  rune.payload_sha256 = payload_sha256
  rune.schema_version = schema_version
  if (move !== undefined) {
    const [machine, from, trigger, to] = move
    rune.machine = machine
    rune.subject_id = entry.subject_id ?? usualSubject(machine, rune as Concerning) ?? ''
    rune.from = from
    rune.to = to
    rune.trigger = trigger
  }
  if (guards !== undefined) rune.guards = guards
  return rune
}

const namesOfShared: ReadonlySet<string> = new Set(sharedNames)
const isShared = (name: string): name is SharedName => namesOfShared.has(name)

/**
 * Reads the runes of a record, each payload in the shape that the present version of its kind has. The `runes` of its
 * header are completed, if they were read before.
 */
export function toRunes(
  record: StoredRecord,
  prev_hash: string,
  runes = runesIn(JSON.parse(record.header)),
): readonly Rune[] {
  const payloads = JSON.parse(`[${record.payload.replaceAll('\n', ',')}]`)
  const salts = linesOf(record.salt)
  for (const [i, rune] of runes.entries()) {
    rune.payload = upcast(rune.kind, rune.schema_version, payloads[i])
    rune.prev_hash = prev_hash
    rune.hash = record.hash
    if (salts[i] === '' && rune.payload_sha256 !== null) rune.redacted = true
  }
  // biome-ignore lint/plugin: the type of each payload follows from its kind, which only the verifier checks.
  return runes as unknown as readonly Rune[]
}

/** The runes of records in order, from a cursor on. `earlier` is the hash before the first record. */
export function runesOf(records: readonly StoredRecord[], earlier: string): readonly Rune[] {
  const all: Rune[] = []
  let prev_hash = earlier
  for (const record of records) {
    for (const rune of toRunes(record, prev_hash)) all.push(rune)
    prev_hash = record.hash
  }
  return all
}
