import { randomUUID } from 'node:crypto'
import { existsSync, linkSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Fault } from '../../faults/fault.ts'
import { makeFolder, notMade } from '../../runelog/make-folder.ts'

const advice = 'Name a folder that can be written to, and that is kept, with STATEWRIGHT_HOME.'

/**
 * Makes a file that only its owner may read, and the folder around it. Of several processes that make it at once, the
 * first wins: read what is there then. It appears whole, so that no other process reads a part of it.
 */
export function writeSecret(path: string, text: string): void {
  const draft = `${path}.${randomUUID()}`
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

/**
 * Why such a file cannot be made; undefined if nothing is in the way. Below /proc and /sys the permissions of root say
 * yes, so it makes one in a folder of its own, as near as there is a folder, and removes both.
 */
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
