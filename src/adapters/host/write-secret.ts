import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { faults } from '../../faults/catalogue.ts'

/** Makes a file that only its owner may read, and the folder around it. */
export function writeSecret(path: string, text: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writeFileSync(path, text, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const problem = `it cannot be made (${code}). Name a folder that can be written to, and that is kept, with STATEWRIGHT_HOME.`
    throw faults.file_unusable({ file: path, problem }, { cause: error })
  }
}
