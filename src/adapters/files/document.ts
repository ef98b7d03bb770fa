import { readFile, writeFile } from 'node:fs/promises'
import { faults } from '../../faults/catalogue.ts'
import type { Json } from '../../kernel/json.ts'
import { readYaml } from './yaml.ts'

/** Reads a file in JSON or YAML 1.2. JSON is YAML, so one reader serves both, and names the line of a mistake. */
export async function readDocument(file: string): Promise<Json> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw faults.not_found({ what: 'file', id: file })
    throw faults.file_unusable({ file, problem: error.message })
  })
  const [document = { value: null }, ...more] = readYaml(text)
  const problem =
    more.length > 0 ? 'It has several documents; put one into each file.' : 'problem' in document && document.problem
  if (problem) throw faults.file_unusable({ file, problem })
  return (document as { value: Json }).value
}

/** Writes a file that is not there yet; one that is there stays as it is. */
export async function writeNew(file: string, text: string): Promise<void> {
  await writeFile(file, text, { flag: 'wx' }).catch((error: Error) => {
    throw faults.file_unusable({ file, problem: error.message })
  })
}
