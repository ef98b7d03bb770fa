import type { Sha256 } from '../kernel/digest.ts'
import { boundedJsonIn, jsonLimits } from '../kernel/json.ts'
import { checksumOf, isRecord } from './checksum.ts'
import type { FactEvidence, FactPack } from './schemas/context.ts'

/** A file of a project as a scan sees it. Paths are relative, with forward slashes. */
export interface SourceFile {
  readonly path: string
  readonly text: string
}

interface Find<F> {
  readonly fact: F
  readonly file: string
  readonly line: number
  readonly snippet: string
  readonly description: string
}

const baseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

/** The number of the first line that contains the needle, from 1. Null: no line does. */
function lineOf(text: string, needle: string): number | null {
  const at = text.indexOf(needle)
  return at === -1 ? null : text.slice(0, at).split('\n').length
}

// biome-ignore format: a table
const languages: Readonly<Record<string, string>> = {
  c: 'C', cc: 'C++', cpp: 'C++', cs: 'C#', css: 'CSS', go: 'Go', html: 'HTML', java: 'Java',
  js: 'JavaScript', jsx: 'JavaScript', kt: 'Kotlin', mjs: 'JavaScript', php: 'PHP', py: 'Python', rb: 'Ruby', rs: 'Rust',
  scala: 'Scala', sh: 'Shell', sql: 'SQL', swift: 'Swift', ts: 'TypeScript', tsx: 'TypeScript',
}

// biome-ignore format: a table
const manifests: Readonly<Record<string, string>> = {
  'Cargo.toml': 'cargo', Gemfile: 'bundler', 'build.gradle': 'gradle', 'composer.json': 'composer', 'go.mod': 'go',
  'package.json': 'npm', 'pom.xml': 'maven', 'pyproject.toml': 'python', 'requirements.txt': 'python',
}

const pipelines: readonly [RegExp, string][] = [
  [/^\.github\/workflows\/[^/]+\.ya?ml$/, 'github_actions'],
  [/^\.gitlab-ci\.yml$/, 'gitlab'],
  [/^Jenkinsfile$/, 'jenkins'],
  [/^\.circleci\/config\.yml$/, 'circleci'],
  [/^\.ci\/[^/]+$/, 'own'],
]

const testFile = /(^|\/)(tests?|spec|__tests__)\/.*\.[a-z]+$|[._-](test|spec)\.[a-z]+$|(^|\/)test_[^/]+\.py$|_test\.go$/

function found<F>(file: SourceFile, fact: F, description: string, line = 1): Find<F> {
  const snippet = (file.text.split('\n')[line - 1] ?? '').trim().slice(0, 400).toWellFormed()
  return { fact, file: file.path, line, snippet, description }
}

function languagesIn(files: readonly SourceFile[]) {
  const byName = Map.groupBy(files, ({ path }) => languages[baseName(path).split('.').slice(1).at(-1) ?? ''] ?? '')
  return [...byName]
    .filter(([name]) => name !== '')
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, those]) => {
      const fact = { name, files: those.length }
      return those.slice(0, 1).map((first) => found(first, fact, `${those.length} files of ${name}`))
    })
}

function manifestIn(file: SourceFile) {
  const ecosystem = manifests[baseName(file.path)]
  return ecosystem === undefined ? [] : [found(file, { path: file.path, ecosystem }, `A manifest of ${ecosystem}`)]
}

function scriptsIn(file: SourceFile) {
  const { path, text } = file
  if (baseName(path) !== 'package.json') return []
  const before = (lineOf(text, '"scripts"') ?? 1) - 1
  const rest = text.split('\n').slice(before).join('\n')
  return commandsIn(text).map(([name, runs]) => {
    const line = before + (lineOf(rest, `${JSON.stringify(name)}:`) ?? 1)
    return found(file, { name, runs, path }, `The script ${name}`, line)
  })
}

function pipelineIn(file: SourceFile) {
  const system = pipelines.find(([pattern]) => pattern.test(file.path))?.[1]
  return system === undefined ? [] : [found(file, { path: file.path, system }, `A pipeline of ${system}`)]
}

function testIn(file: SourceFile) {
  return testFile.test(file.path) ? [found(file, { path: file.path }, 'A test')] : []
}

function ownersIn(file: SourceFile) {
  if (baseName(file.path) !== 'CODEOWNERS') return []
  return file.text.split('\n').flatMap((raw, i) => {
    const [pattern, ...owners] = raw.replace(/#.*$/, '').trim().split(/\s+/)
    if (pattern === undefined || pattern === '' || owners.length === 0) return []
    return [found(file, { pattern, owners }, `Who owns ${pattern}`, i + 1)]
  })
}

/** The scripts of a manifest, sorted by name. */
function commandsIn(text: string): readonly [string, string][] {
  // A manifest that cannot be read has no scripts. That it exists is a fact of its own.
  const read = boundedJsonIn(text, jsonLimits.result)
  const scripts = 'value' in read && isRecord(read.value) && isRecord(read.value.scripts) ? read.value.scripts : {}
  const isText = (entry: [string, unknown]): entry is [string, string] => typeof entry[1] === 'string'
  return Object.entries(scripts)
    .filter(isText)
    .sort(([a], [b]) => (a < b ? -1 : 1))
}

/** The limit of tests in a fact pack. More add nothing to a plan. */
const mostTests = 200

/** Turns the files of a project into facts. Same files, same pack: their order does not matter, and no time is in it. */
export function factsOf(project_id: string, given: readonly SourceFile[], sha256: Sha256): FactPack {
  const files = given.toSorted((a, b) => (a.path < b.path ? -1 : 1))
  const evidence: FactEvidence[] = []
  const cite = <F>(category: FactEvidence['category'], finds: readonly Find<F>[]) =>
    finds.map(({ fact, file, line, snippet, description }) => {
      const id = `ev${evidence.length + 1}`
      evidence.push({ id, source_file: file, category, snippet, line, description })
      return { ...fact, evidence_refs: [id] }
    })
  const texts = files.map(({ path, text }) => [path, sha256(text)])
  return {
    schema_version: '1.0.0',
    project_id,
    repo_fingerprint: checksumOf(texts, sha256),
    languages: cite('language', languagesIn(files)),
    manifests: cite('manifest', files.flatMap(manifestIn)),
    scripts: cite('script', files.flatMap(scriptsIn)),
    ci: cite('ci', files.flatMap(pipelineIn)),
    tests: cite('test', files.flatMap(testIn).slice(0, mostTests)),
    owners: cite('owner', files.flatMap(ownersIn)),
    evidence,
  }
}
