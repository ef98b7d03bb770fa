import { createHash } from 'node:crypto'
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { publicKeyIn } from '../adapters/host/secret-files.ts'
import { readAddress } from '../adapters/postgres/address.ts'
import { claimOwnFile } from '../adapters/workspace/own-files.ts'
import { fileRefused } from '../faults/catalogue.ts'
import { parseStoreUrl } from '../surface/store-url.ts'

/** The two secrets of a store. */
type Secret = 'key' | 'token'

/** The file of the owner's token, for a server and for a command that asks it. */
export function tokenFileOf(store: string): string {
  return firstThere(placesOf(store, 'token'))
}

/**
 * The file of the key that signs for a store: of the possible places, the one whose key fits the public half beside the
 * store. `STATEWRIGHT_KEY` names it for a PostgreSQL store that several machines share.
 */
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

/**
 * Where a new key or token is made: in the user's state folder, outside every workspace, under a name that follows from
 * the path of the store or the address of its database.
 */
export function usualPlaceOf(store: string, secret: Secret): string {
  const path = pathOf(store)
  const [name, whole] = path === undefined ? databaseName(store) : fileName(path)
  const digest = createHash('sha256').update(whole).digest('hex').slice(0, 16)
  return join(secretsFolder(), `${name}-${digest}`, secret)
}

/** The file with the public half of a SQLite store's key. It tells a lost key from one that was never made. */
export function publicFileOf(store: string): string | undefined {
  const path = pathOf(store)
  return path === undefined ? undefined : `${path}.pub`
}

/** The public key in that file; undefined if the store has no such file. */
export function notedKeyOf(store: string): string | undefined {
  const note = publicFileOf(store)
  if (note === undefined || !existsSync(note)) return undefined
  try {
    return readFileSync(note, 'utf8').trim()
  } catch (error) {
    throw fileRefused(note, error)
  }
}

/** The usual place, then the one beside the store, as earlier versions and backups have it. */
function placesOf(store: string, secret: Secret): readonly [usual: string, beside: string] {
  const beside = `${pathOf(store) ?? './statewright'}.${secret}`
  const places = [usualPlaceOf(store, secret), beside] as const
  // No tool of a workspace may touch either.
  for (const file of places) claimOwnFile(file)
  return places
}

const firstThere = ([usual, beside]: readonly [usual: string, beside: string]) =>
  !existsSync(usual) && existsSync(beside) ? beside : usual

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
