import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'

const repository = fileURLToPath(new URL('../..', import.meta.url))
const rules = ['scripts/no-clock-or-dice.grit', 'scripts/no-blind-casts.grit']

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'statewright-lint-'))
  for (const file of ['biome.json', ...rules]) cpSync(join(repository, file), join(root, file))
})
afterEach(() => rmSync(root, { recursive: true }))

/** The lines of a planted file that a rule refuses. */
function refused(path: string, lines: readonly string[]): readonly string[] {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), lines.join('\n'))
  const args = ['lint', '--vcs-enabled=false', '--reporter=github', '--max-diagnostics=none', path]
  const { stdout } = spawnSync(join(repository, 'node_modules/.bin/biome'), args, { cwd: root, encoding: 'utf8' })
  const found = [...stdout.matchAll(/^::error title=plugin,.*?\bline=(\d+),/gm)].map(([, line]) => Number(line))
  return lines.filter((_, i) => found.includes(i + 1))
}

const impure = [
  'export const a = Date.now()',
  'export const b = new Date()',
  'export const c = Date()',
  'export const d = Math.random()',
  'export const e = [1, 2].map(Math.random)',
  'export const f = Date.now',
  'export const { now } = Date',
  'export const g = globalThis.Date.now()',
]
const pure = [
  'export const h = new Date(5).toISOString()',
  "export const i = Date.parse('2026-01-25T12:00:00Z')",
  'export const j = Math.min(1, 2)',
]

test('lint: only adapters read the clock or draw random numbers; dates and arithmetic are free', () => {
  for (const room of ['kernel', 'coordinator', 'runtime', 'app'])
    expect([room, refused(`src/${room}/planted.ts`, [...impure, ...pure])]).toEqual([room, impure])
  expect(refused('src/adapters/planted.ts', [...impure, ...pure])).toEqual([])
})

test('lint: only adapters cast blindly; a cast that narrows is free', () => {
  const blind = [
    'export const a = (x: string) => x as unknown as number',
    'export const b = (x: string) => x as never',
    'export const c = (row: { value: unknown }) => row.value as string',
  ]
  const narrowing = ['export const d = (x: unknown) => x as string', 'export const e = [1] as const']
  expect(refused('src/runtime/planted.ts', [...blind, ...narrowing])).toEqual(blind)
  expect(refused('console/planted.ts', [...blind, ...narrowing])).toEqual(blind)
  expect(refused('src/adapters/planted.ts', [...blind, ...narrowing])).toEqual([])
})
