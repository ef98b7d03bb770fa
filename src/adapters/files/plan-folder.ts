import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type FrozenFiles, journalFile } from '../../coordinator/outputs/freeze.ts'
import { faults, fileRefused } from '../../faults/catalogue.ts'
import { makeFolder } from '../../runelog/files.ts'

/** Writes the files of a coordination into a folder of its own. One that holds anything else is refused. */
export function writePlan(folder: string, files: FrozenFiles): Promise<void> {
  return write(folder, files).catch((error) => Promise.reject(fileRefused(folder, error)))
}

async function write(folder: string, files: FrozenFiles): Promise<void> {
  makeFolder(folder)
  for (const name of await readdir(folder)) {
    if (name === journalFile) continue
    const is_same = name in files && (await readFile(join(folder, name), 'utf8').catch(() => undefined)) === files[name]
    if (!is_same)
      throw faults.file_unusable({ file: folder, problem: `it holds ${name}; name a folder that is new or empty.` })
  }
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text)))
}

/** Whether the path is a folder; false if it does not exist. */
export async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false
}

/** Reads the files of a plan folder. Refused if it cannot be read. */
export async function readPlan(folder: string) {
  const files: Record<string, string> = {}
  /** Entries that no coordination writes: folders, links, bytes that are no text. */
  const strange: string[] = []
  const entries = await readdir(folder, { withFileTypes: true }).catch((error) => {
    throw fileRefused(folder, error)
  })
  for (const entry of entries) {
    const bytes = entry.isFile() ? await readFile(join(folder, entry.name)) : Buffer.of(0xff)
    const text = bytes.toString('utf8')
    if (Buffer.from(text).equals(bytes)) files[entry.name] = text
    else strange.push(entry.name)
  }
  return { files, strange: strange.sort() }
}
