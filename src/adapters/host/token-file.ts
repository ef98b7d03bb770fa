import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { faults, fileRefused } from '../../faults/catalogue.ts'
import { Fault } from '../../faults/fault.ts'
import { writeSecret } from './write-secret.ts'

/** A secret that cannot be guessed, in letters that need no quoting. */
export function newToken(): string {
  return `swt_${randomBytes(24).toString('base64url')}`
}

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
export function forgetToken(path: string): void {
  rmSync(path, { force: true })
}

/** Why the token in this file cannot be used; undefined if it can, or if there is no such file. */
export function tokenFault(path: string): Fault | undefined {
  try {
    if (existsSync(path)) tokenIn(path)
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
