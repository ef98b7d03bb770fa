import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>
}

/** The entry points of the package: their names, and their declarations relative to `dist`. */
export function entryPoints(): readonly { readonly name: string; readonly file: string }[] {
  const { exports } = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest
  return Object.entries(exports).flatMap(([name, entry]) =>
    typeof entry === 'string' ? [] : [{ name, file: entry.types.replace(/^\.\/dist\//, '') }],
  )
}

/** Every declaration file in `folder` that an entry point reaches, and the packages that they name. */
export function reachable(folder: string): {
  readonly files: ReadonlySet<string>
  readonly packages: readonly string[]
} {
  const left = entryPoints().map(({ file }) => join(folder, file))
  const files = new Set<string>()
  const packages = new Set<string>()
  for (let file = left.pop(); file !== undefined; file = left.pop()) {
    if (files.has(file)) continue
    if (!existsSync(file)) throw new Error(`${file} is missing: an entry point or another declaration names it.`)
    files.add(file)
    for (const name of namesIn(readFileSync(file, 'utf8')))
      if (name.startsWith('.')) left.push(join(dirname(file), name.replace(/\.[jt]s$/, '.d.ts')))
      else packages.add(name)
  }
  return { files, packages: [...packages].toSorted() }
}

function namesIn(text: string): readonly string[] {
  return [...text.matchAll(/(?:\bfrom|\bimport\(|^import)\s*['"]([^'"]+)['"]/gm)].map(([, name = '']) => name)
}
