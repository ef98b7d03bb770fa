import { createHash } from 'node:crypto'
import { existsSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { claimOwnFile } from './adapters/workspace/own-files.ts'

export type Secret = 'key' | 'token'

/** Where the owner's token of a store is, for a server and for a command that asks it. */
export function tokenFileOf(store: string): string {
  return fileOf(store, 'token')
}

/** Where the key is that signs for a store. Processes on several machines name one for a PostgreSQL store. */
export function keyFileOf(store: string): string {
  const { STATEWRIGHT_KEY: named } = process.env
  if (named === undefined || isFile(store)) return fileOf(store, 'key')
  claimOwnFile(named)
  return named
}

/**
 * Where a new key or token of a store is made: in a folder of the user, which no workspace is in. The folder of a
 * store is found by its path, or by the address of its database.
 */
export function usualPlaceOf(store: string, secret: Secret): string {
  const [name, whole] = isFile(store) ? fileName(pathOf(store)) : databaseName(store)
  const digest = createHash('sha256').update(whole).digest('hex').slice(0, 16)
  return join(secretsFolder(), `${name}-${digest}`, secret)
}

/** The public half of the key that was made for a store that is a file. It tells a lost key from one that never was. */
export function publicFileOf(store: string): string | undefined {
  return isFile(store) ? `${pathOf(store)}.pub` : undefined
}

/** One that lies beside the store, as earlier versions and backups have it, is used if there is no other. */
function fileOf(store: string, secret: Secret): string {
  const usual = usualPlaceOf(store, secret)
  const beside = isFile(store) ? `${pathOf(store)}.${secret}` : `./statewright.${secret}`
  // No tool of a workspace may touch either.
  for (const file of [usual, beside]) claimOwnFile(file)
  return !existsSync(usual) && existsSync(beside) ? beside : usual
}

function secretsFolder(): string {
  const { STATEWRIGHT_HOME: named, XDG_STATE_HOME: state } = process.env
  if (named !== undefined && named !== '') return resolve(named)
  return join(state !== undefined && state !== '' ? state : join(homedir(), '.local', 'state'), 'statewright')
}

const isFile = (store: string) => store.startsWith('sqlite:')
const pathOf = (store: string) => store.slice('sqlite:'.length)

/** The real path, also of a file that is not there yet. */
function fileName(path: string): readonly [name: string, whole: string] {
  const whole = resolve(path)
  if (existsSync(whole)) return [basename(realpathSync(whole)), realpathSync(whole)]
  const folder = dirname(whole)
  return [basename(whole), join(existsSync(folder) ? realpathSync(folder) : folder, basename(whole))]
}

function databaseName(store: string): readonly [name: string, whole: string] {
  const { host, pathname } = new URL(store)
  const name = pathname.slice(1).replaceAll(/[^\w.-]/g, '_')
  return [name === '' ? 'postgres' : name, `postgres://${host}${pathname}`]
}
