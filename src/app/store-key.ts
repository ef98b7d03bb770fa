import { createHash, randomUUID } from 'node:crypto'
import { existsSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { hostPorts } from '../adapters/host/ports.ts'
import { newKey, openSigner, publicKeyIn } from '../adapters/host/secret-files.ts'
import { readAddress } from '../adapters/postgres/connection.ts'
import { claimOwnFile } from '../adapters/workspace/own-files.ts'
import { faults, fileRefused } from '../faults/catalogue.ts'
import { Fault } from '../faults/fault.ts'
import type { Signer } from '../runes/checkpoint.ts'
import type { StoreKey } from '../surface/backend.ts'
import { parseStoreUrl } from '../surface/store-url.ts'

interface FoundKey {
  readonly file: string
  /** Undefined if the store never had a key. */
  readonly signer: Signer | undefined
}

/** Finds the key of a store. Refuses a missing key, and one that does not match the public half. Makes nothing. */
function findKey(url: string): FoundKey {
  const file = keyFileOf(url)
  const noted = notedKeyOf(url)
  const goOn = `delete ${publicFileOf(url)}; "statewright verify --key NEW,OLD" then accepts both.`
  if (!existsSync(file)) {
    if (noted === undefined) return { file, signer: undefined }
    const problem = `the key of this store is missing. Put it there, or name the folder that holds it with STATEWRIGHT_HOME. To go on with a new key, ${goOn}`
    throw faults.file_unusable({ file, problem })
  }
  const signer = openSigner(file)
  if (noted === undefined || signer.public_key === noted) return { file, signer }
  const problem = `the key in this file does not belong to this store (public key in ${publicFileOf(url)}). Put the right key beside the store as ${publicFileOf(url)?.replace(/\.pub$/, '.key')}, as a backup has it, or name the folder that holds it with STATEWRIGHT_HOME. To go on with the key that is there, ${goOn}`
  throw faults.file_unusable({ file, problem })
}

/** Why the key of a store cannot be used; undefined if it can be used or made. */
export function keyFault(url: string): Fault | undefined {
  try {
    findKey(url)
    return undefined
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
}

/** The signer of a store. Makes its key on first use. */
export function signerOf(url: string): () => Signer {
  if (url === 'memory:') return hostPorts.signer
  return () => {
    const { file, signer } = findKey(url)
    return signer ?? makeKey(url, file)
  }
}

/**
 * Makes a key, and its public half next to the store: both, or neither. The public half is written first, as a draft: if
 * the disk is full, no private key appears that another process would sign with.
 */
function makeKey(url: string, file: string): Signer {
  const note = publicFileOf(url)
  if (note === undefined) return openSigner(file)
  const made = newKey()
  const draft = `${note}.${randomUUID()}`
  try {
    writeNote(draft, made.public_key)
    const signer = openSigner(file, () => made)
    const isOurs = signer.public_key === made.public_key
    try {
      // Of several processes, the first makes the key.
      if (!isOurs) writeNote(draft, signer.public_key)
      renameSync(draft, note)
    } catch (error) {
      if (isOurs) rmSync(file)
      throw error
    }
    return signer
  } catch (error) {
    throw error instanceof Fault ? error : notNoted(note, error)
  } finally {
    rmSync(draft, { force: true })
  }
}

const writeNote = (file: string, public_key: string) => writeFileSync(file, `${public_key}\n`, { mode: 0o600 })

function notNoted(file: string, cause: unknown): Fault {
  const { code } = cause as NodeJS.ErrnoException
  const problem = `the public half of a new key cannot be written to it (${code}). No key was made, and nothing was signed. Make the folder writable, or make room; or name the folder that holds the key of this store with STATEWRIGHT_HOME.`
  return faults.file_unusable({ file, problem }, { cause })
}

/** The key of a store. The public half is undefined if there is no key file: asking for it makes nothing. */
export function keyOf(url: string): StoreKey {
  const signer = signerOf(url)
  if (url === 'memory:') return { signer, publicKey: () => signer().public_key }
  return { signer, publicKey: () => (existsSync(keyFileOf(url)) ? findKey(url).signer?.public_key : undefined) }
}

type Secret = 'key' | 'token'

/** The file of the owner's token, for a server and for a command that asks it. */
export const tokenFileOf = (store: string): string => firstThere(placesOf(store, 'token'))

/** The key file: the one that fits the public half, or `STATEWRIGHT_KEY` for a PostgreSQL store on several machines. */
export function keyFileOf(store: string): string {
  const { STATEWRIGHT_KEY: named } = process.env
  if (named !== undefined && pathOf(store) === undefined) {
    claimOwnFile(named)
    return named
  }
  const places = placesOf(store, 'key')
  const noted = notedKeyOf(store)
  return places.find((file) => noted !== undefined && holds(file, noted)) ?? firstThere(places)
}

/** Where a new key or token is made: in the state folder, outside every workspace, named after the store. */
export function usualPlaceOf(store: string, secret: Secret): string {
  const path = pathOf(store)
  const [name, whole] = path === undefined ? databaseName(store) : fileName(path)
  const digest = createHash('sha256').update(whole).digest('hex').slice(0, 16)
  return join(secretsFolder(), `${name}-${digest}`, secret)
}

/** The file with the public half of a SQLite store's key. It tells a lost key from one that was never made. */
function publicFileOf(store: string): string | undefined {
  const path = pathOf(store)
  return path === undefined ? undefined : `${path}.pub`
}

/** The public key in that file; undefined if the store has no such file. */
function notedKeyOf(store: string): string | undefined {
  const note = publicFileOf(store)
  if (note === undefined || !existsSync(note)) return undefined
  try {
    return readFileSync(note, 'utf8').trim()
  } catch (error) {
    throw fileRefused(note, error)
  }
}

/** The usual place, then the one next to the store, as earlier versions and backups have it. */
function placesOf(store: string, secret: Secret): readonly [usual: string, adjacent: string] {
  const adjacent = `${pathOf(store) ?? './statewright'}.${secret}`
  const places = [usualPlaceOf(store, secret), adjacent] as const
  // No tool of a workspace may touch either.
  for (const file of places) claimOwnFile(file)
  return places
}

const firstThere = ([usual, adjacent]: readonly [usual: string, adjacent: string]) =>
  !existsSync(usual) && existsSync(adjacent) ? adjacent : usual

function holds(file: string, public_key: string): boolean {
  try {
    return publicKeyIn(file) === public_key
  } catch {
    return false
  }
}

function secretsFolder(): string {
  const { STATEWRIGHT_HOME: named, XDG_STATE_HOME: state } = process.env
  if (named !== undefined && named !== '') return resolve(named)
  return join(state !== undefined && state !== '' ? state : join(homedir(), '.local', 'state'), 'statewright')
}

/** The file of a SQLite store; undefined for any other store. */
function pathOf(store: string): string | undefined {
  const place = parseStoreUrl(store)
  return place.kind === 'sqlite' ? place.path : undefined
}

/** The real path, also of a file that is not there yet. */
function fileName(path: string): readonly [name: string, whole: string] {
  const whole = resolve(path)
  if (existsSync(whole)) return [basename(realpathSync(whole)), realpathSync(whole)]
  const folder = dirname(whole)
  return [basename(whole), join(existsSync(folder) ? realpathSync(folder) : folder, basename(whole))]
}

function databaseName(store: string): readonly [name: string, whole: string] {
  const { host, pathname } = readAddress(store)
  const name = pathname.slice(1).replaceAll(/[^\w.-]/g, '_')
  return [name === '' ? 'postgres' : name, `postgres://${host}${pathname}`]
}
