import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import type { SignatureCheck, Signer } from '../../coordinator/outputs/statement.ts'

/** Signs with an Ed25519 key in PEM. The key id is the SHA-256 of the public key, so a key cannot be passed off as another. */
export function createSigner(private_key_pem: string): Signer {
  const key = onlyEd25519(createPrivateKey(private_key_pem))
  return {
    keyid: keyId(createPublicKey(key)),
    sign: (bytes) => sign(null, bytes, key).toString('base64'),
  }
}

export function createSignatureCheck(public_key_pem: string): SignatureCheck {
  const key = onlyEd25519(createPublicKey(public_key_pem))
  return {
    keyid: keyId(key),
    verify: (bytes, signature) => {
      const decoded = Buffer.from(signature, 'base64')
      // Base64 can be written in several ways; only the one we write counts, or a byte could change unseen.
      return decoded.toString('base64') === signature && verify(null, bytes, key, decoded)
    },
  }
}

/** The key, if it is of the one kind that signs here. Others sign as well, but not the same bytes alike. */
function onlyEd25519(key: KeyObject): KeyObject {
  if (key.asymmetricKeyType !== 'ed25519') throw new TypeError(`the key in it is of type ${key.asymmetricKeyType}`)
  return key
}

function keyId(key: KeyObject): string {
  return createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('hex')
}
