import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

/** The problems of the exports of `src` and `console`, each as `file: name`. */
export interface ExportReport {
  readonly exports: number
  /** No other file imports them. */
  readonly unused: readonly string[]
  /** Only tests use them, so the product never runs what they prove. A value that its own file uses may be exported for a test. */
  readonly testOnly: readonly string[]
  /** No TSDoc stands directly above them. */
  readonly undocumented: readonly string[]
}

/** Modules that are loaded by their path or by a package, not by an import. */
const roots = /^(?:src\/(?:index|main)\.ts|src\/entry\/|console\/main\.tsx|console\/escaping\/jsx-|.*\.config\.ts$)/

/** Exports that inferred types of other files name: declarations cannot be written without them. */
const needed = ['src/cli/command.ts Option', 'src/kernel/machine.ts Declared']

const declaration =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:function\*?|const|let|class|interface|type) ([A-Za-z_$][\w$]*)/

/** Compares every export under `root` with every import. Formatted sources put each `export` at the start of a line. */
export function exportReport(root: string): ExportReport {
  const folders = '{src,console,test,scripts,bench,examples}'
  const files = globSync([`${folders}/**/*.{ts,tsx,mjs}`, '*.ts'], { cwd: root, exclude: ['**/node_modules/**'] })
  const sources = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]))
  const users = new Map<string, Set<string>>()
  for (const [file, source] of sources)
    for (const [module, names] of usesIn(file, source))
      for (const name of names) {
        const key = `${module}: ${name}`
        users.set(key, (users.get(key) ?? new Set()).add(file))
      }
  const found = [...sources].flatMap(([file, source]) =>
    /^(?:src|console)\//.test(file) ? exportsIn(file, source) : [],
  )
  const usersOf = ({ file, name }: Export) => [...(users.get(`${file}: ${name}`) ?? [])].filter((user) => user !== file)
  const internal = found.filter(({ file, name }) => !roots.test(file) && !needed.includes(`${file} ${name}`))
  const list = (exports: readonly Export[]) =>
    exports.map(({ file, line, name }) => `${file}:${line} ${name}`).toSorted()
  return {
    exports: found.length,
    unused: list(internal.filter((each) => usersOf(each).length === 0)),
    testOnly: list(
      internal.filter((each) => {
        const users = usersOf(each)
        return !each.isUsedHere && users.length > 0 && users.every((user) => user.startsWith('test/'))
      }),
    ),
    undocumented: list(found.filter(({ isDocumented }) => !isDocumented)),
  }
}

interface Export {
  readonly file: string
  readonly line: number
  readonly name: string
  readonly isDocumented: boolean
  readonly isUsedHere: boolean
}

function exportsIn(file: string, source: string): readonly Export[] {
  const lines = source.split('\n')
  const words = wordsOf(source.replace(/\/\*\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, ''))
  const found = new Map<string, Export>()
  for (const [i, line] of lines.entries()) {
    const name = declaration.exec(line)?.[1]
    // Only the first signature of an overloaded function needs TSDoc.
    if (name === undefined || found.has(name)) continue
    const above = lines.findLast((each, j) => j < i && !each.startsWith('//'))
    const isUsedHere = words.filter((word) => word === name).length > 1
    found.set(name, { file, line: i + 1, name, isDocumented: above?.endsWith('*/') ?? false, isUsedHere })
  }
  return [...found.values()]
}

/** The names that a file takes from each module. A module that is taken whole gives every word that the file contains. */
function usesIn(file: string, source: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>()
  const add = (specifier: string, names: readonly string[]) => {
    const module = normalize(join(dirname(file), specifier.replace(/\?.*$/, '')))
    found.set(module, [...(found.get(module) ?? []), ...names])
  }
  for (const [, list = '', specifier = ''] of source.matchAll(
    /^(?:import|export)(?: type)? \{([^}]*)\} from '(\.[^']+)'/gm,
  ))
    add(
      specifier,
      list.split(',').map((each) =>
        each
          .trim()
          .replace(/^type /, '')
          .replace(/ as .*$/, ''),
      ),
    )
  for (const pattern of [/^import(?: type)? \* as \w+ from '(\.[^']+)'/gm, /\bimport\(\s*'(\.[^']+)'/g])
    for (const [, specifier = ''] of source.matchAll(pattern)) add(specifier, wordsOf(source))
  return found
}

const wordsOf = (source: string): readonly string[] => source.match(/[A-Za-z_$][\w$]*/g) ?? []
