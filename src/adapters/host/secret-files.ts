import * as crypto from 'node:crypto'
import { existsSync, linkSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { SignatureCheck, Signer as StatementSigner } from '../../coordinator/outputs/freeze.ts'
import { faults, fileRefused } from '../../faults/catalogue.ts'
import { Fault } from '../../faults/fault.ts'
import { makeFolder, notMade } from '../../runelog/files.ts'
import { type CheckSignature, isHex, type Signer } from '../../runes/checkpoint.ts'

const advice = 'Name a folder that can be written to, and that is kept, with STATEWRIGHT_HOME.'

/** Makes a file that only its owner may read. It appears whole; of several writers the first wins. */
function writeSecret(path: string, text: string): void {
  const draft = `${path}.${crypto.randomUUID()}`
  makeFolder(dirname(path), { mode: 0o700, named: path, advice })
  try {
    writeFileSync(draft, text, { mode: 0o600, flag: 'wx' })
    linkSync(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw notMade(path, error, advice)
  } finally {
    if (existsSync(draft)) rmSync(draft)
  }
}

/** Why such a file cannot be made. Makes one nearby and removes it: below /proc the permissions of root lie. */
export function secretFault(path: string): Fault | undefined {
  let folder = dirname(path)
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder)
  try {
    const trial = mkdtempSync(join(folder, '.statewright-'))
    try {
      writeSecret(join(trial, 'secret'), 'secret')
    } finally {
      rmSync(trial, { recursive: true })
    }
    return undefined
  } catch (error) {
    return notMade(path, error instanceof Fault ? error.cause : error, advice)
  }
}

/** An unpredictable secret, in letters that need no quoting. */
export const newToken = (): string => `swt_${crypto.randomBytes(24).toString('base64url')}`

/** The token in this file, which only its owner may read; a new one where there is none. */
export function openToken(path: string): { readonly token: string; readonly isNew: boolean } {
  try {
    if (existsSync(path)) return { token: tokenIn(path), isNew: false }
    const made = newToken()
    writeSecret(path, `${made}\n`)
    const token = tokenIn(path)
    return { token, isNew: token === made }
  } catch (error) {
    throw fileRefused(path, error)
  }
}

/** Removes a token that was never shown, so that the next start makes one and shows it. */
export const forgetToken = (path: string): void => rmSync(path, { force: true })

/** The reason why the token in this file cannot be used; undefined if it can, or if there is no such file. */
export function tokenFault(path: string): Fault | undefined {
  if (!existsSync(path)) return undefined
  try {
    tokenIn(path)
    return undefined
  } catch (error) {
    const refused = fileRefused(path, error)
    if (refused instanceof Fault) return refused
    throw refused
  }
}

function tokenIn(path: string): string {
  const token = readFileSync(path, 'utf8').trim()
  if (token === '') throw faults.file_unusable({ file: path, problem: 'it is empty; delete it to get a new token.' })
  return token
}

/** A key that no file holds yet. */
export function newKey() {
  const { privateKey } = crypto.generateKeyPairSync('ed25519')
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  return { pem, public_key: signerOf(privateKey).public_key }
}

/** The key in this file, which only its owner may read; a new one where there is none. */
export function openSigner(path: string, make: () => { readonly pem: string } = newKey): Signer {
  let pem: string
  try {
    if (!existsSync(path)) writeSecret(path, make().pem)
    pem = readFileSync(path, 'utf8')
  } catch (error) {
    throw fileRefused(path, error)
  }
  try {
    return signerOf(crypto.createPrivateKey(pem))
  } catch (error) {
    const problem = 'it holds no Ed25519 key in PEM; restore it from a backup.'
    throw faults.file_unusable({ file: path, problem }, { cause: error })
  }
}

/** The public half of the key in this file; undefined if there is no such file. */
export function publicKeyIn(path: string): string | undefined {
  return existsSync(path) ? openSigner(path).public_key : undefined
}

/** A key that ends with this process, for a store that does, too. */
export const passingSigner = (): Signer => signerOf(crypto.generateKeyPairSync('ed25519').privateKey)

function signerOf(given: crypto.KeyObject): Signer {
  const key = onlyEd25519(given)
  const { x = '' } = crypto.createPublicKey(key).export({ format: 'jwk' })
  const public_key = Buffer.from(x, 'base64url').toString('hex')
  return { public_key, sign: (text) => crypto.sign(null, Buffer.from(text), key).toString('hex') }
}

/** Checks an Ed25519 signature; malformed input is false. */
export const checkSignature: CheckSignature = ({ text, public_key, signature }) => {
  try {
    const x = Buffer.from(public_key, 'hex').toString('base64url')
    const key = crypto.createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
    return isHex(signature, 128) && crypto.verify(null, Buffer.from(text), key, Buffer.from(signature, 'hex'))
  } catch {
    return false
  }
}

/** Signs with an Ed25519 key in PEM. The key id is the SHA-256 of the public key, so it cannot be forged. */
export function createSigner(private_key_pem: string): StatementSigner {
  const key = onlyEd25519(crypto.createPrivateKey(private_key_pem))
  return {
    keyid: keyId(crypto.createPublicKey(key)),
    sign: (bytes) => crypto.sign(null, bytes, key).toString('base64'),
  }
}

/** A check against one public key, given as PEM. */
export function createSignatureCheck(public_key_pem: string): SignatureCheck {
  const key = onlyEd25519(crypto.createPublicKey(public_key_pem))
  return {
    keyid: keyId(key),
    verify: (bytes, signature) => {
      const decoded = Buffer.from(signature, 'base64')
      // Base64 can be written in several ways; only the one we write counts, or a byte could change unseen.
      return decoded.toString('base64') === signature && crypto.verify(null, bytes, key, decoded)
    },
  }
}

/** The key, if it is Ed25519. Other algorithms do not sign the same bytes alike. */
function onlyEd25519(key: crypto.KeyObject): crypto.KeyObject {
  if (key.asymmetricKeyType !== 'ed25519') throw new TypeError(`the key in it is of type ${key.asymmetricKeyType}`)
  return key
}

const keyId = (key: crypto.KeyObject) => crypto.hash('sha256', key.export({ type: 'spki', format: 'der' }))
