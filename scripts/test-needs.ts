import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { delimiter, dirname, join, normalize } from 'node:path'

/** A file of tests that this machine cannot run, and what it needs. */
export interface NotRun {
  readonly file: string
  readonly needs: string
}

const onPath = (name: string) =>
  (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, name)))

const succeeds = (command: string, ...args: readonly string[]) =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0

const browsers = [
  process.env.CHROMIUM ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]

/** The needs of tests, known by the helper that they import or the program that they start, directly or not. */
const needs = [
  { helpers: ['test/support/python.ts'], name: 'python3', isThere: () => onPath('python3') },
  { helpers: ['test/support/strace.ts'], name: 'strace', isThere: () => onPath('strace') },
  { helpers: ['test/support/browser.ts'], name: 'chromium', isThere: () => browsers.some((file) => existsSync(file)) },
  {
    helpers: ['test/support/own-mounts.ts'],
    name: 'root or user namespaces, to mount',
    isThere: () => succeeds('unshare', '-rm', 'true'),
  },
  {
    helpers: ['test/support/sandbox.ts'],
    name: 'setpriv, and root or user namespaces, for the sandbox',
    isThere: () => onPath('setpriv') && succeeds('unshare', process.getuid?.() === 0 ? '-m' : '-rm', 'true'),
  },
  {
    helpers: ['test/chaos/crew.ts', 'test/chaos/worker.ts'],
    name: 'libfaketime',
    isThere: () => globSync('/usr/lib/*/faketime/libfaketime.so.1').length > 0,
  },
]

/**
 * The tests that need what this machine does not have. They are left out and named at the end of the run. With
 * `STATEWRIGHT_REQUIRE_ALL=1`, as in CI, none is left out, so each of them fails.
 */
export function notRun(): readonly NotRun[] {
  if (process.env.STATEWRIGHT_REQUIRE_ALL === '1') return []
  const missing = needs.filter(({ isThere }) => !isThere())
  if (missing.length === 0) return []
  return globSync('test/**/*.test.ts').flatMap((file) => {
    const reached = reach(file)
    const lacking = missing
      .filter(({ helpers }) => helpers.some((helper) => reached.has(helper)))
      .map(({ name }) => name)
    return lacking.length === 0 ? [] : [{ file, needs: lacking.join(', ') }]
  })
}

/**
 * The forms in which a test names another file of its own: `from './a.ts'`, `import('./a.ts')`, and the program that it
 * starts, as `new URL('./a.ts', import.meta.url)` or `join(import.meta.dirname, 'a.ts')`.
 */
const references = [
  /\b(?:from|import) ?\(? ?'(\.[^']+\.(?:ts|mjs))'/g,
  /\bnew URL\('([^']+\.(?:ts|mjs))', import\.meta\.url\)/g,
  /\bjoin\(import\.meta\.dirname, '([^']+\.(?:ts|mjs))'\)/g,
]

/** The files of `test` that a test reaches, itself included. `read` gives the text of a file, or undefined. */
export function reach(start: string, read: (file: string) => string | undefined = textOf): ReadonlySet<string> {
  const seen = new Set<string>()
  const left = [start]
  for (let file = left.pop(); file !== undefined; file = left.pop()) {
    const text = seen.has(file) ? undefined : read(file)
    if (text === undefined) continue
    seen.add(file)
    for (const [, name = ''] of references.flatMap((form) => [...text.matchAll(form)])) {
      const next = normalize(join(dirname(file), name))
      if (next.startsWith('test')) left.push(next)
    }
  }
  return seen
}

function textOf(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}
