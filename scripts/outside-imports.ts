import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

const folder = 'test/outside/'
const packages = ['vitest', 'zod', 'fast-check']

/**
 * Every import of the tests from outside that a stranger could not write. They may import what the package exports,
 * Node's own modules, the packages named here, and each other. An import whose name is not written out counts too.
 */
export function outsideProblems(root: string): readonly string[] {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { exports: object }
  const entries = Object.keys(exports).map((entry) => normalize(join('statewright', entry)))
  const files = globSync(`${folder}**/*.{ts,mjs}`, { cwd: root })
  const isAllowed = (file: string, name: string) =>
    name.startsWith('.')
      ? normalize(join(dirname(file), name)).startsWith(folder)
      : name.startsWith('node:') || [...entries, ...packages].includes(name)
  return files.flatMap((file) =>
    importsOf(readFileSync(join(root, file), 'utf8'))
      .filter((name) => !isAllowed(file, name))
      .map((name) => `outside-uses-only-the-surface: ${file} → ${name}`),
  )
}

function importsOf(source: string): readonly string[] {
  const patterns = [
    /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]/gm,
    /^\s*import\s*['"]([^'"]+)['"]/gm,
    /\b(?:import|require)\s*\(\s*(?:['"]([^'"]+)['"]\s*\))?/g,
  ]
  return patterns.flatMap((pattern) => [...source.matchAll(pattern)].map(([whole, name]) => name ?? whole))
}
