import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { faults, fileRefused } from '../../faults/catalogue.ts'
import { type CheckSignature, isHex, type Signer } from '../../runes/checkpoint.ts'
import { writeSecret } from './write-secret.ts'

export interface NewKey {
  readonly pem: string
  readonly public_key: string
}

/** A key that no file holds yet. */
export function newKey(): NewKey {
  const { privateKey } = generateKeyPairSync('ed25519')
  return {
    pem: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    public_key: signerOf(privateKey).public_key,
  }
}

/** The key in this file, which only its owner may read; a new one where there is none. */
export function openSigner(path: string, make: () => NewKey = newKey): Signer {
  const pem = openPem(path, make)
  try {
    return signerOf(createPrivateKey(pem))
  } catch (error) {
    throw faults.file_unusable(
      { file: path, problem: 'it holds no Ed25519 key in PEM; restore it from a backup.' },
      { cause: error },
    )
  }
}

/** The public half of the key in this file; undefined if there is no such file. */
export function publicKeyIn(path: string): string | undefined {
  return existsSync(path) ? openSigner(path).public_key : undefined
}

function openPem(path: string, make: () => NewKey): string {
  try {
    if (!existsSync(path)) writeSecret(path, make().pem)
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw fileRefused(path, error)
  }
}

/** A key that ends with this process, for a store that does, too. */
export function passingSigner(): Signer {
  return signerOf(generateKeyPairSync('ed25519').privateKey)
}

function signerOf(key: KeyObject): Signer {
  if (key.asymmetricKeyType !== 'ed25519') throw new TypeError(`It is a key for ${key.asymmetricKeyType}.`)
  return { public_key: hexOf(createPublicKey(key)), sign: (text) => sign(null, Buffer.from(text), key).toString('hex') }
}

function hexOf(key: KeyObject): string {
  return Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url').toString('hex')
}

export const checkSignature: CheckSignature = ({ text, public_key, signature }) => {
  try {
    const x = Buffer.from(public_key, 'hex').toString('base64url')
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
    return isHex(signature, 128) && verify(null, Buffer.from(text), key, Buffer.from(signature, 'hex'))
  } catch {
    return false
  }
}
