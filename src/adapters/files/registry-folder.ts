import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Ports } from '../../coordinator/progress.ts'
import { type Admission, admitRegistry, type RegistrySource } from '../../coordinator/registry/admission.ts'
import type { Problem } from '../../coordinator/schemas/problem.ts'
import { readYaml } from './yaml.ts'

/**
 * Reads a registry from a folder of `.yaml`, `.yml` and `.json` files, each with one entry or several documents. The
 * snapshot depends on what the files say, not on their names or their order.
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
  const documents = readYaml(text)
  if (documents.length === 0)
    problems.push({ code: 'registry_file_invalid', message: 'The file is empty.', path: name })
  documents.forEach((document, i) => {
    const at = documents.length === 1 ? name : `${name}#${i + 1}`
    if ('value' in document) sources.push({ name: at, content: document.value })
    else problems.push({ code: 'registry_file_invalid', message: document.problem, path: at })
  })
  return { sources, problems }
}
