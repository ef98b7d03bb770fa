import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'

const repository = fileURLToPath(new URL('../..', import.meta.url))
const rules = ['no-clock-or-dice', 'no-blind-casts', 'no-long-signatures', 'no-import-types'].map(
  (name) => `scripts/${name}.grit`,
)

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

test('lint: a cast that hides what does not fit is refused in every room; one that narrows or gives its reason is free', () => {
  const blind = [
    'export const a = (x: string) => x as unknown as number',
    'export const b = (x: string) => (x as unknown) as number',
    'export const c = (x: string) => x as object as Date',
    'export const d = (x: string) => x as never',
    'export const f = (row: { value: unknown }) => row.value as string',
    'export const g = (row?: { value: unknown }) => row?.value as string',
    'export const h = (row: { value: unknown }) => (row.value) as string',
    'export const i = (row?: { value: unknown }) => (row?.value) as string',
    "export const j = (row: { value: unknown }) => row['value'] as string",
  ]
  const free = [
    'export const k = (x: unknown) => x as string',
    'export const l = [1] as const',
    'export const m = (x: unknown) => ({ a: x as string }) as const',
    '// biome-ignore lint/plugin: the types of the package are wrong.',
    'export const n = (x: string) => x as unknown as number',
  ]
  for (const path of ['src/runtime/planted.ts', 'console/planted.ts', 'src/adapters/planted.ts'])
    expect([path, refused(path, [...blind, '', ...free])]).toEqual([path, blind])
})

test('lint: a signature in an interface or a type has at most four parameters, those of a rest tuple included', () => {
  const five = 'a: string, b: string, c: string, d: string, e: string'
  const four = 'a: string, b: string, c: string, d: string'
  const long = [
    `export interface A { m(${five}): void }`,
    `export interface B { readonly f: (${five}) => void }`,
    `export interface C { (${five}): void }`,
    `export interface D { new (${five}): D }`,
    `export type E = (${five}) => void`,
    `export type F = (...rest: [${five}]) => void`,
    `export type G = (...rest: readonly [${five}]) => void`,
    `export const h = (...rest: [${five}]) => rest`,
  ]
  const short = [
    `export interface I { m(${four}): void }`,
    `export type J = (${four}) => void`,
    `export type K = (...rest: [${four}]) => void`,
    `export type L = [${five}]`,
    'export const m = (...all: string[]) => all',
  ]
  expect(refused('src/runtime/planted.ts', [...long, ...short])).toEqual(long)
})

test('lint: a type is imported at the top of a file, where the rooms are checked', () => {
  const hidden = [
    "export type A = import('../../observation/session-state.ts').SessionState",
    "export type B = typeof import('../../runes/kinds.ts')",
  ]
  const seen = ["export const c = () => import('./c.ts')"]
  expect(refused('src/runtime/turns/planted.ts', [...hidden, ...seen])).toEqual(hidden)
})
