import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { whenFinished } from './concurrent.ts'

/** A folder that goes when the test does. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'statewright-'))
  whenFinished(() => rmSync(folder, { recursive: true }))
  return folder
}
