import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

const memory = '/dev/shm'

/** A folder for the files of one test file, in memory where that is possible; it goes when the file ends. */
export function scratchFolder(purpose: string) {
  const base = mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), `statewright-${purpose}-`))
  afterAll(() => rmSync(base, { recursive: true }))
  let folders = 0
  return { fresh: () => mkdtempSync(join(base, `${folders++}-`)) }
}
