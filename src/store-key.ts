import { hostPorts } from './adapters/host/ports.ts'
import { openSigner, publicKeyIn } from './adapters/host/signing-key.ts'
import type { Signer } from './runes/checkpoint.ts'
import { keyFileOf } from './secret-files.ts'
import type { StoreKey } from './surface/desk.ts'

/** The key that belongs to a store: beside its file, or where the environment says. Made on first use. */
export function signerOf(url: string): () => Signer {
  return url === 'memory:' ? hostPorts.signer : () => openSigner(keyFileOf(url))
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
