import { readFile, writeFile } from 'node:fs/promises'
import { parseDocument } from 'yaml'
import { faults } from '../../faults/catalogue.ts'
import type { Json } from '../../kernel/json.ts'

/** Reads a file in JSON or YAML 1.2. JSON is YAML, so one reader serves both, and names the line of a mistake. */
export async function readDocument(file: string): Promise<Json> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw faults.not_found({ what: 'file', id: file })
    throw faults.file_unusable({ file, problem: error.message })
  })
  const document = parseDocument(text, { version: '1.2', schema: 'core', uniqueKeys: true })
  const [mistake] = [...document.errors, ...document.warnings]
  if (mistake !== undefined)
    throw faults.file_unusable({ file, problem: mistake.message.split('\n')[0] ?? 'It cannot be read.' })
  return document.toJS({ maxAliasCount: 100 }) as Json
}

/** Writes a file that is not there yet; one that is there stays as it is. */
export async function writeNew(file: string, text: string): Promise<void> {
  await writeFile(file, text, { flag: 'wx' }).catch((error: Error) => {
    throw faults.file_unusable({ file, problem: error.message })
  })
}
