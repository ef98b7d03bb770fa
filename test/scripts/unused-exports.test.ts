import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { exportReport } from '../../scripts/unused-exports.ts'
import { scratchFolder } from '../support/scratch-folder.ts'

const scratch = scratchFolder('unused-exports')

function reportOf(files: Readonly<Record<string, string>>) {
  const root = scratch.fresh()
  for (const [file, source] of Object.entries(files)) {
    mkdirSync(join(root, dirname(file)), { recursive: true })
    writeFileSync(join(root, file), source)
  }
  return exportReport(root)
}

const exported = '/** One. */\nexport const a = 1\n/** Two. */\nexport interface B {}\n'

test.each([
  "import { a, type B } from './a.ts'",
  "import {\n  a as c,\n  type B,\n} from './a.ts'",
  "export { a, type B } from './a.ts'",
  "import * as all from './a.ts'\nall.a satisfies all.B",
  "const { a } = await import('./a.ts')\ntype C = import('./a.ts').B",
])('exports: %j uses what it names', (source) => {
  expect(reportOf({ 'src/a.ts': exported, 'src/b.ts': source })).toMatchObject({ unused: [], testOnly: [] })
})

test('exports: a symbol that only its own file or no file uses is unused', () => {
  const report = reportOf({ 'src/a.ts': `${exported}a satisfies B\n`, 'src/b.ts': "import { a } from './c.ts'\n" })
  expect(report.unused).toEqual(['src/a.ts:2 a', 'src/a.ts:4 B'])
})

test('exports: a symbol that only tests use is listed on its own', () => {
  const report = reportOf({
    'src/a.ts': `${exported}/** Three: a. */\nexport const c = 1\nfor (const _ of [c]);\n`,
    'scripts/b.ts': "import type { B } from '../src/a.ts'\n",
    'test/a.test.ts': "import { a, type B, c } from '../src/a.ts'\n",
  })
  expect(report).toMatchObject({ unused: [], testOnly: ['src/a.ts:2 a'] })
})

test('exports: a declaration without TSDoc above it is listed, an overload once', () => {
  const source = '// One.\nexport type A = 1\n\nexport function b(a: 1): 1\nexport function b(a: 2): 2\n'
  expect(reportOf({ 'src/index.ts': source })).toMatchObject({
    exports: 2,
    unused: [],
    undocumented: ['src/index.ts:2 A', 'src/index.ts:4 b'],
  })
})
