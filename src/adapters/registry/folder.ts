import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import type { Ports } from '../../coordinator/progress.ts'
import { type Admission, admitRegistry, type RegistrySource } from '../../coordinator/registry/admission.ts'
import type { Problem } from '../../coordinator/schemas/problem.ts'
import type { Json } from '../../kernel/json.ts'

/**
 * Reads a registry from a folder of `.yaml`, `.yml` and `.json` files, each with
 * one entry or several documents. The snapshot depends on what the files say,
 * not on their names or their order.
 */
export async function loadRegistry(folder: string, ports: Pick<Ports, 'sha256' | 'rules'>): Promise<Admission> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => /\.(ya?ml|json)$/.test(name)).sort()
  const read = await Promise.all(
    names.map(async (name) => readSource(name, await readFile(join(folder, name), 'utf8'))),
  )
  const unread = read.flatMap(({ problems }) => problems)
  const admission = admitRegistry(
    read.flatMap(({ sources }) => sources),
    ports,
  )
  if (unread.length === 0) return admission
  return { admitted: false, problems: [...unread, ...(admission.admitted ? [] : admission.problems)] }
}

function readSource(name: string, text: string): { sources: RegistrySource[]; problems: Problem[] } {
  const sources: RegistrySource[] = []
  const problems: Problem[] = []
  const documents = parseAllDocuments(text, { version: '1.2', schema: 'core', uniqueKeys: true })
  const list = 'empty' in documents ? [] : documents
  if (list.length === 0) problems.push({ code: 'registry_file_invalid', message: 'The file is empty.', path: name })
  list.forEach((document, i) => {
    const at = list.length === 1 ? name : `${name}#${i + 1}`
    for (const { message } of [...document.errors, ...document.warnings])
      problems.push({ code: 'registry_file_invalid', message: message.split('\n')[0] ?? message, path: at })
    if (document.errors.length === 0) sources.push({ name: at, content: document.toJS({ maxAliasCount: 100 }) as Json })
  })
  return { sources, problems }
}
