import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { broken, flat } from '../../scripts/compact.ts'
import { undocumentedMembers } from '../../scripts/members.ts'
import { createModules, namesIn } from '../../scripts/modules.ts'
import { scratchFolder } from '../support/scratch-folder.ts'

const scratch = scratchFolder('members')

function written(files: Readonly<Record<string, string>>) {
  const root = scratch.fresh()
  for (const [file, source] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), source)
  }
  return root
}

const missing = (source: string) => {
  const root = written({ 'types.ts': source, 'index.ts': "export { type A } from './types.ts'\n" })
  return undocumentedMembers([join(root, 'index.ts')]).map((each) => each.replace(/^.*\//, ''))
}

test.each([
  ['a member of an interface', 'export interface A {\n  a: 1\n  b: string\n}', ['types.ts:3 A.b']],
  ['a method', 'export interface A {\n  a(): void\n}', ['types.ts:2 A.a']],
  ['a member of a class', 'export class A {\n  readonly a = 1\n  constructor() {}\n}', ['types.ts:2 A.a']],
  ['a member of a base', 'interface B {\n  b: string\n}\nexport interface A extends B {}', ['types.ts:2 B.b']],
  ['a part', 'interface B {\n  b: string\n}\nexport type A = B & { c: 1 }', ['types.ts:2 B.b']],
  ['a nested member', 'export interface A {\n  /** A. */\n  a: {\n    b: string\n  }\n}', ['types.ts:4 A.b']],
  ['nothing on one line', 'export interface A {\n  /** A. */\n  a: { b: string }\n}', []],
  ['nothing of a case', 'export type A =\n  /** B. */\n  | { b: string }\n  /** C. */\n  | { c: string }', []],
  ['a case', "export type A =\n  /** B. */\n  | { b: string }\n  | { of: 'c'; c: string }", ['types.ts:4 A.c']],
  ['nothing of what is not public', 'interface B {\n  b: string\n}\nexport type A = () => B', []],
])('members: %s without TSDoc is listed', (_, source, expected) => {
  expect(missing(source)).toEqual(expected)
})

test('modules: a name leads through imports and exports to its declaration, and member names are no types', () => {
  const root = written({
    'a.d.ts':
      "import type { B as C } from './b.js'\nexport interface A<T> { Batch: C; b(Engine: T): import('./b.js').D }\n",
    'b.d.ts': 'export interface B { a: 1 }\nexport interface D { a: 1 }\nexport interface Batch { a: 1 }\n',
    'index.d.ts': "export { A } from './a.js'\n",
  })
  const { find, resolve } = createModules({ declarations: true })
  const found = find(join(root, 'index.d.ts'), 'A')
  const names = (found?.nodes ?? []).flatMap((node) => namesIn(node))
  expect(names.map((name) => found && resolve(found.module, name)?.name)).toEqual(['B', 'D'])
})

test('compact: a declaration is one line, and a long one is broken at its members', () => {
  expect(flat('declare const a: z.ZodEnum<{\n    b: "b";\n    /** C. */\n    c: "c";\n}>;')).toBe(
    'const a: z.ZodEnum<"b" | "c">;',
  )
  const long = 'x'.repeat(60)
  expect(broken(`interface A { a: (b: { c: 1 }) => ";"; ${long}: "${long}"; }`)).toBe(
    `interface A {\n  a: (b: { c: 1 }) => ";";\n  ${long}: "${long}";\n}`,
  )
})
