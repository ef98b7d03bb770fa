/**
 * Writes `spec/api.txt`: the exports of each entry point, and every declaration that these exports need. `--check` compares
 * it instead, so that no change of the public types goes unseen. Files and order of the sources do not matter.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { entryPoints } from './declarations.ts'

interface Module {
  /** Statements by the name that they declare; functions may have several. */
  readonly declared: ReadonlyMap<string, readonly string[]>
  /** Names from elsewhere, by their local name. `*` stands for the whole module. */
  readonly imported: ReadonlyMap<string, { readonly from: string; readonly name: string }>
  readonly exported: ReadonlyMap<string, { readonly from: string | null; readonly name: string }>
}

const target = (file: string, from: string) => join(dirname(file), from.replace(/\.[jt]s$/, '.d.ts'))

const nameOf = (statement: string) =>
  /^(?:declare )?(?:abstract )?(?:class|interface|type|const|function|let|var|namespace) ([\w$]+)/.exec(
    statement,
  )?.[1] ?? ''

const report = 'spec/api.txt'
const folder = mkdtempSync(join(tmpdir(), 'statewright-api-'))
try {
  const only = ['--emitDeclarationOnly', '--declarationMap', 'false', '--sourceMap', 'false', '--outDir', folder]
  execFileSync('node_modules/.bin/tsc', ['-p', 'tsconfig.build.json', ...only])
  const made = describe()
  const before = existsSync(report) ? readFileSync(report, 'utf8') : ''
  if (!process.argv.includes('--check')) writeFileSync(report, made)
  else if (made !== before) {
    const known = new Set(before.split('\n'))
    const lines = made.split('\n').filter((line) => !known.has(line))
    for (const line of lines.slice(0, 20)) console.error(`+ ${line}`)
    console.error(`api: ${report} is stale; run "npm run api" and read the difference`)
    process.exitCode = 1
  }
  console.log(`api: ${made.split('\n').length} lines`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function describe(): string {
  const modules = new Map<string, Module>()
  const seen = new Set<string>()
  const found: string[] = []
  const load = (file: string) => {
    const known = modules.get(file) ?? readModule(readFileSync(file, 'utf8'))
    modules.set(file, known)
    return known
  }
  const reach = (file: string, name: string): void => {
    if (seen.has(`${file} ${name}`)) return
    seen.add(`${file} ${name}`)
    const { declared, imported, exported } = load(file)
    const elsewhere = exported.get(name)
    if (elsewhere?.from != null) {
      reach(target(file, elsewhere.from), elsewhere.name)
      return
    }
    for (const text of declared.get(elsewhere?.name ?? name) ?? []) {
      found.push(text)
      for (const [, from = '', named = ''] of text.matchAll(/import\("(\.[^"]+)"\)\.(\w+)/g))
        reach(target(file, from), named)
      for (const [, word = '', member] of text.matchAll(/\b([A-Za-z_$][\w$]*)\b(?:\.(\w+))?/g)) {
        const origin = imported.get(word)
        if (origin?.from.startsWith('.'))
          reach(target(file, origin.from), origin.name === '*' ? (member ?? '') : origin.name)
        else if (origin === undefined && declared.has(word)) reach(file, word)
      }
    }
  }
  const entries = entryPoints().map(({ name, file }) => {
    const path = join(folder, file)
    const names = [...load(path).exported.keys()].toSorted()
    for (const each of names) reach(path, each)
    return [`## ${join('statewright', name)}`, ...names].join('\n')
  })
  const declarations = [...new Set(found)].toSorted((a, b) => nameOf(a).localeCompare(nameOf(b)) || (a < b ? -1 : 1))
  return `${[...entries, '## Declarations', ...declarations].join('\n\n')}\n`
}

/** The compiler starts every statement of a declaration file at the beginning of a line. */
function readModule(text: string): Module {
  const plain = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\/\/.*$/gm, '')
  const statements = plain.split(/^(?=(?:export|declare|import|interface|type|class|const|function)\b)/m)
  const declared = new Map<string, readonly string[]>()
  const imported = new Map<string, { from: string; name: string }>()
  const exported = new Map<string, { from: string | null; name: string }>()
  for (const statement of statements.map((each) => each.replace(/\n\s*\n/g, '\n').trim())) {
    const list = /^(import|export)(?: type)? \{([^}]*)\}(?: from ['"]([^'"]+)['"])?/s.exec(statement)
    const whole = /^import(?: type)? (?:\* as )?(\w+) from ['"]([^'"]+)['"]/.exec(statement)
    if (list !== null) {
      const [, keyword, names = '', from = null] = list
      for (const each of names.split(',').map((one) => one.trim().replace(/^type /, '')))
        if (each !== '') {
          const [name = '', as = name] = each.split(' as ')
          if (keyword === 'import') imported.set(as, { from: from ?? '', name })
          else exported.set(as, { from, name })
        }
    } else if (whole !== null) imported.set(whole[1] ?? '', { from: whole[2] ?? '', name: '*' })
    else {
      const own = statement.replace(/^export /, '')
      const name = nameOf(own)
      if (name === '') continue
      declared.set(name, [...(declared.get(name) ?? []), own.replace(/^declare /, '')])
      if (own !== statement) exported.set(name, { from: null, name })
    }
  }
  return { declared, imported, exported }
}
