import { randomUUID } from 'node:crypto'
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostPorts } from '../adapters/host/ports.ts'
import { newKey, openSigner } from '../adapters/host/secret-files.ts'
import { faults } from '../faults/catalogue.ts'
import { Fault } from '../faults/fault.ts'
import type { Signer } from '../runes/checkpoint.ts'
import type { StoreKey } from '../surface/backend.ts'
import { keyFileOf, notedKeyOf, publicFileOf } from './secret-files.ts'

interface FoundKey {
  readonly file: string
  /** Undefined if the store never had a key. */
  readonly signer: Signer | undefined
}

/**
 * Finds the key of a store. Refuses a missing key, and one that does not match the public half beside the store: its
 * signatures would count for nothing. Makes nothing.
 */
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
  const problem = `it holds another key than that of this store, whose public half is in ${publicFileOf(url)}. Put the right key beside the store as ${publicFileOf(url)?.replace(/\.pub$/, '.key')}, as a backup has it, or name the folder that holds it with STATEWRIGHT_HOME. To go on with the key that is there, ${goOn}`
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
 * Makes a key, and its public half beside the store: both, or neither. The public half is written first, as a draft: if
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
