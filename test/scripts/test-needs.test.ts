import { expect, test } from 'vitest'
import { reach } from '../../scripts/test-needs.ts'

const files: Readonly<Record<string, string>> = {
  'test/a.test.ts': `import { b } from './support/b.ts'\nimport { c } from '../src/c.ts'\nimport './support/side.ts'`,
  'test/support/b.ts': `const { d } = await import('./d.ts')\nimport { back } from '../a.test.ts'`,
  'test/support/d.ts': `const program = fileURLToPath(new URL('./e.ts', import.meta.url))`,
  'test/support/e.ts': `const worker = join(import.meta.dirname, '../chaos/worker.ts')`,
  'test/support/side.ts': '',
  'test/chaos/worker.ts': `const gone = new URL('./gone.ts', import.meta.url)`,
  'src/c.ts': '',
}

test('test needs: imports, dynamic imports and started programs of a test are followed', () => {
  const own = Object.keys(files).filter((file) => file.startsWith('test/'))
  expect([...reach('test/a.test.ts', (file) => files[file])].sort()).toEqual(own.sort())
})

test('test needs: the fault loop reaches the worker that runs under libfaketime', () => {
  expect(reach('test/slow/chaos/postgres.test.ts')).toContain('test/chaos/worker.ts')
  expect(reach('test/chaos/crew.ts')).toContain('test/chaos/worker.ts')
  expect(reach('test/slow/chaos/worker-start.test.ts')).not.toContain('test/chaos/worker.ts')
})
