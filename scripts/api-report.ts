/**
 * Writes `spec/api.txt`: the exports of each entry point, and every declaration that these exports need. `--check` compares
 * it instead, so that no change of the public types goes unseen. Files and order of the sources do not matter. Fails on a
 * type that a public signature names and no entry point exports.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { broken, flat } from './compact.ts'
import { entryPoints } from './declarations.ts'
import { createModules, type Found, namesIn } from './modules.ts'

/** Types that a public signature names, and that a program need not name. */
const unnamed: Readonly<Record<string, readonly string[]>> = {
  'an exported type has all its members': [
    'Commands',
    'CommonOptions',
    'Concerns',
    'Finding',
    'Header',
    'Plans',
    'RecordedMove',
    'ServingOptions',
    'SessionRow',
  ],
  'an exported type is a part of it': ['Alignment', 'FaultRow', 'Goal', 'PlanCard', 'PlanRow'],
  'it computes a type, and a program names the result': [
    'Attributes',
    'Declared',
    'DetailsOf',
    'Optional',
    'OptionsOf',
    'StateOf',
    'Types',
  ],
  'it is a part of an exported type': ['Ended', 'Hash'],
}

const report = 'spec/api.txt'
const folder = mkdtempSync(join(tmpdir(), 'statewright-api-'))
try {
  const only = ['--emitDeclarationOnly', '--declarationMap', 'false', '--sourceMap', 'false', '--outDir', folder]
  execFileSync('node_modules/.bin/tsc', ['-p', 'tsconfig.build.json', ...only])
  const { made, hidden } = describe()
  for (const each of hidden) console.error(each)
  if (hidden.length > 0) {
    console.error('api: export these types from an entry point, or list them in scripts/api-report.ts with a reason')
    process.exitCode = 1
  }
  const before = existsSync(report) ? readFileSync(report, 'utf8') : ''
  if (!process.argv.includes('--check')) writeFileSync(report, made)
  else if (made !== before) {
    const known = new Set(before.split('\n'))
    const lines = made.split('\n').filter((line) => !known.has(line))
    for (const line of lines.slice(0, 20)) console.error(`+ ${line}`)
    console.error(`api: ${report} is stale; run "npm run api" and read the difference`)
    process.exitCode = 1
  }
  console.log(`api: ${made.split('\n').length} lines, ${hidden.length} types that a program cannot name`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function describe(): { readonly made: string; readonly hidden: readonly string[] } {
  const { load, find, resolve } = createModules({ declarations: true })
  const keyOf = ({ module, name }: Found) => `${module.file} ${name}`
  const exported = new Map<string, Found>()
  const entries = entryPoints().map(({ name, file }) => {
    const path = join(folder, file)
    const names = [...load(path).exported.keys()].toSorted()
    for (const each of names) {
      const found = find(path, each)
      if (found !== undefined) exported.set(keyOf(found), found)
    }
    return [`## ${join('statewright', name)}`, ...names].join('\n')
  })

  const hidden = new Set<string>()
  const excused = new Set(Object.values(unnamed).flat())
  const used = new Set<string>()
  const named = ({ module, nodes }: Found) =>
    nodes.flatMap((node) => namesIn(node)).map((each) => ({ module, ...each }))
  for (const found of exported.values())
    for (const { isValue, ...each } of named(found)) {
      const type = resolve(found.module, { ...each, isValue })
      if (isValue || type === undefined || exported.has(keyOf(type))) continue
      if (excused.has(type.name)) used.add(type.name)
      else hidden.add(`hidden: ${type.name} (${type.module.file.slice(folder.length + 1)}) in ${found.name}`)
    }
  for (const name of excused) if (!used.has(name)) hidden.add(`not hidden: ${name}; take it off the list`)

  const reached = new Map(exported)
  for (const found of reached.values())
    for (const each of named(found)) {
      const next = resolve(found.module, each)
      if (next !== undefined && !reached.has(keyOf(next))) reached.set(keyOf(next), next)
    }
  const declarations = [...reached.values()].flatMap(({ module, name, nodes }) =>
    nodes.map((node) => ({ name, text: flat(module.text.slice(node.start, node.end)) })),
  )
  // The compiler writes the type of a schema out wherever another one contains it.
  const schemas = declarations.flatMap(({ name, text }) => {
    const type = /^const \w+: ((?:z|import\("[^"]+"\))\..{60,});$/.exec(text)?.[1]
    return type === undefined ? [] : [{ name, type }]
  })
  schemas.sort((a, b) => b.type.length - a.type.length)
  const short = (text: string, own: string) =>
    schemas.reduce((left, { name, type }) => (name === own ? left : left.replaceAll(type, `typeof ${name}`)), text)
  const sorted = declarations.toSorted((a, b) => a.name.localeCompare(b.name) || (a.text < b.text ? -1 : 1))
  const texts = [...new Set(sorted.map(({ name, text }) => broken(short(text, name))))]
  return { made: `${[...entries, '## Declarations', ...texts].join('\n\n')}\n`, hidden: [...hidden].toSorted() }
}
