import { existsSync, writeFileSync } from 'node:fs'
import { hostPorts } from './adapters/host/ports.ts'
import { openSigner, publicKeyIn } from './adapters/host/signing-key.ts'
import { faults } from './faults/catalogue.ts'
import type { Signer } from './runes/checkpoint.ts'
import { keyFileOf, publicFileOf } from './secret-files.ts'
import type { StoreKey } from './surface/desk.ts'

/** The key that belongs to a store. Made on first use, unless the store had one: what that signed would count for nothing. */
export function signerOf(url: string): () => Signer {
  if (url === 'memory:') return hostPorts.signer
  return () => {
    const file = keyFileOf(url)
    const note = publicFileOf(url)
    if (existsSync(file) || note === undefined) return openSigner(file)
    if (existsSync(note))
      throw faults.file_unusable({
        file,
        problem: `the key of this store is missing. Put it there, or name the folder that holds it with STATEWRIGHT_HOME. To go on with a new key, delete ${note}; "statewright verify --key NEW,OLD" then accepts both.`,
      })
    const signer = openSigner(file)
    writeFileSync(note, `${signer.public_key}\n`, { mode: 0o600 })
    return signer
  }
}

/** The key of a store. Its public half, to compare signatures with, is undefined if there is no key file: nothing is made. */
export function keyOf(url: string): StoreKey {
  const signer = signerOf(url)
  return { signer, publicKey: () => (url === 'memory:' ? signer().public_key : publicKeyIn(keyFileOf(url))) }
}

/** Why the key of a store cannot be used; undefined if it can. Nothing is made. */
export function keyProblem(url: string): string | undefined {
  try {
    return keyOf(url).publicKey() === undefined ? 'it is missing.' : undefined
  } catch (error) {
    return (error as Error).message
  }
}
