import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { faults } from '../../faults/catalogue.ts'

/** A secret that nobody guesses, in letters that need no quoting. */
export function newToken(): string {
  return `swt_${randomBytes(24).toString('base64url')}`
}

/** The token in this file, which only its owner may read; a new one where there is none. */
export function openToken(path: string): { readonly token: string; readonly isNew: boolean } {
  try {
    if (existsSync(path)) return { token: readFileSync(path, 'utf8').trim(), isNew: false }
    const token = newToken()
    writeFileSync(path, `${token}\n`, { mode: 0o600, flag: 'wx' })
    return { token, isNew: true }
  } catch (error) {
    throw faults.file_unusable({ file: path, problem: `${(error as Error).message}.` }, { cause: error })
  }
}
