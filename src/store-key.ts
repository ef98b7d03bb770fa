import { hostPorts } from './adapters/host/ports.ts'
import { openSigner, publicKeyIn } from './adapters/host/signing-key.ts'
import type { Signer } from './runes/checkpoint.ts'
import { keyFileOf } from './secret-files.ts'

/** The key that belongs to a store: beside its file, or where the environment says. Made on first use. */
export function signerOf(url: string): () => Signer {
  return url === 'memory:' ? hostPorts.signer : () => openSigner(keyFileOf(url))
}

/** The key that signatures of this store are compared with; undefined if there is no key file. Nothing is made. */
export function publicKeyOf(url: string): string | undefined {
  return publicKeyIn(keyFileOf(url))
}
