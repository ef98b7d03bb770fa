import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Ports } from '../../coordinator/progress.ts'
import { type Admission, admitRegistry, type RegistrySource } from '../../coordinator/registry.ts'
import type { Problem } from '../../coordinator/schemas/scalars.ts'
import { faults, fileRefused } from '../../faults/catalogue.ts'
import { boundedJson, type Json, jsonLimits } from '../../kernel/json.ts'
import { loadPeer, type Modules } from '../peer.ts'

/** The package that reads YAML. */
type Yaml = Modules['yaml']

type ReadDocument = { readonly value: Json } | { readonly problem: string }

type Parsed = Exclude<ReturnType<Yaml['parseAllDocuments']>, { empty: true }>[number]

const longest = 200_000
/** The nesting limit, checked before the parser: it is recursive, and slow on deep nesting. */
const deepest = 200

/** The documents of a JSON or YAML 1.2 text, each with its value or its first mistake. Bounded; never throws. */
export function readYaml(text: string, yaml: Yaml): readonly ReadDocument[] {
  if (text.length > longest)
    return [{ problem: `The file has ${text.length} characters; at most ${longest} are allowed.` }]
  if (mayBeDeep(text)) return [{ problem: `The file is nested deeper than ${deepest} levels.` }]
  try {
    const options = { version: '1.2', schema: 'core', uniqueKeys: false, prettyErrors: false } as const
    const documents = yaml.parseAllDocuments(text, options)
    return 'empty' in documents ? [] : documents.map((document) => readOne(document, text, yaml))
  } catch (error) {
    return [{ problem: sentence(error) }]
  }
}

function readOne(document: Parsed, text: string, yaml: Yaml): ReadDocument {
  const [mistake] = [...document.errors, ...document.warnings]
  if (mistake !== undefined) return { problem: `${sentence(mistake)} at ${placeOf(text, mistake.pos[0])}` }
  try {
    const problem = keyProblem(document, text, yaml)
    if (problem !== undefined) return { problem }
    return boundedJson(document.toJS({ maxAliasCount: 100 }), jsonLimits.result)
  } catch (error) {
    return { problem: sentence(error) }
  }
}

/** Keys must be texts, each there once. The parser's own check takes minutes over 60,000 keys. */
function keyProblem(document: Parsed, text: string, { isMap, isNode, isScalar, visit }: Yaml): string | undefined {
  let found: string | undefined
  visit(document, (_, node) => {
    if (!isMap(node)) return undefined
    const keys = new Set<string>()
    for (const { key } of node.items) {
      if (isNode(key) && !isScalar(key))
        found ??= `A key must be a text, not a list, a map or an alias, at ${placeOf(text, key.range?.[0] ?? 0)}`
      const name = String(isScalar(key) ? key.value : key)
      if (keys.has(name)) found ??= `The key ${JSON.stringify(name.slice(0, 80))} is there twice.`
      if (found !== undefined) return visit.BREAK
      keys.add(name)
    }
    return undefined
  })
  return found
}

/** By hand, and for the first mistake only: the parser draws a picture of each, which takes a minute over 200,000. */
function placeOf(text: string, position: number): string {
  const before = text.slice(0, position).split('\n')
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`
}

function sentence(error: unknown): string {
  if (error instanceof RangeError) return 'The file is nested too deeply.'
  const message = error instanceof Error ? error.message : String(error)
  if (message.startsWith('Maximum call stack')) return 'The file is nested too deeply.'
  return message.split('\n')[0]?.slice(0, 400) || 'The file cannot be read.'
}

/** Counts brackets that are open, and dashes that begin lists in one line. Texts with brackets in them count as well. */
function mayBeDeep(text: string): boolean {
  let open = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === 91 || code === 123) open += 1
    else if (code === 93 || code === 125) open = Math.max(0, open - 1)
    if (open > deepest) return true
  }
  return /^(?:[ \t]*[-?:][ \t]+){200}/m.test(text) || /^ {2000}/m.test(text)
}

/** Reads a file in JSON or YAML 1.2. JSON is YAML, so one reader serves both, and names the line of a mistake. */
export async function readDocument(file: string): Promise<Json> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw faults.not_found({ what: 'file', id: file })
    throw fileRefused(file, error)
  })
  const [document = { value: null }, ...more] = readYaml(text, await loadPeer('yaml'))
  const problem =
    more.length > 0 ? 'It has several documents; put one into each file.' : 'problem' in document && document.problem
  if (problem) throw faults.file_unusable({ file, problem })
  return (document as { value: Json }).value
}

/** Writes a file that is not there yet; one that is there stays as it is. */
export async function writeNew(file: string, text: string): Promise<void> {
  await writeFile(file, text, { flag: 'wx' }).catch((error: Error) => {
    throw fileRefused(file, error)
  })
}

/** Reads a registry from a folder of YAML and JSON files. Their names and order do not change the snapshot. */
export async function loadRegistry(folder: string, ports: Pick<Ports, 'sha256' | 'rules'>): Promise<Admission> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => /\.(ya?ml|json)$/.test(name)).sort()
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
  const yaml = await loadPeer('yaml')
  const read = texts.map((text, i) => readSource(names[i] ?? '', text, yaml))
  const unread = read.flatMap(({ problems }) => problems)
  const sources = read.flatMap((each) => each.sources)
  const admission = admitRegistry(sources, ports)
  if (unread.length === 0) return admission
  return { admitted: false, problems: [...unread, ...(admission.admitted ? [] : admission.problems)] }
}

function readSource(name: string, text: string, yaml: Yaml): { sources: RegistrySource[]; problems: Problem[] } {
  const sources: RegistrySource[] = []
  const problems: Problem[] = []
  const documents = readYaml(text, yaml)
  if (documents.length === 0)
    problems.push({ code: 'registry_file_invalid', message: 'The file is empty.', path: name })
  documents.forEach((document, i) => {
    const at = documents.length === 1 ? name : `${name}#${i + 1}`
    if ('value' in document) sources.push({ name: at, content: document.value })
    else problems.push({ code: 'registry_file_invalid', message: document.problem, path: at })
  })
  return { sources, problems }
}
