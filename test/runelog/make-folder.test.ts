import { globSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeFolder } from '../../src/runelog/files.ts'
import { scratchFolder } from '../support/scratch-folder.ts'

const scratch = scratchFolder('make-folder')
const root = join(import.meta.dirname, '../..')

test('F-95 folders: only makeFolder makes folders with those around them', () => {
  const files = globSync('src/**/*.ts', { cwd: root })
  expect(files).toContain('src/runelog/files.ts')
  // Node's own recursion never ends below /proc.
  const recursive = /mkdir(Sync)?\([^)]*recursive/
  expect('await mkdir(join(a, b, { recursive: true }').toMatch(recursive)
  expect(files.filter((file) => recursive.test(readFileSync(join(root, file), 'utf8')))).toEqual([])
})

test('F-95 folders: missing folders are made with the mode, and a folder that is there stays as it is', () => {
  const base = scratch.fresh()
  mkdirSync(join(base, 'there'), { mode: 0o755 })
  writeFileSync(join(base, 'there', 'file'), '')
  makeFolder(join(base, 'there', 'a', 'b'), { mode: 0o700 })
  makeFolder(join(base, 'there'), { mode: 0o700 })
  const mode = (...names: readonly string[]) => statSync(join(base, ...names)).mode & 0o777
  expect([mode('there'), mode('there', 'a'), mode('there', 'a', 'b')]).toEqual([0o755, 0o700, 0o700])
  expect(readdirSync(join(base, 'there'))).toEqual(['a', 'file'])
})

test('F-95 folders: a folder that cannot be made is refused, with a remedy', () => {
  const base = scratch.fresh()
  writeFileSync(join(base, 'file'), '')
  symlinkSync('nowhere', join(base, 'link'))
  const refusal = (file: string, code: string, advice = 'Name another folder.') =>
    expect.objectContaining({
      code: 'file_unusable',
      message: `${file} cannot be used: it cannot be made (${code}). ${advice}`,
    })
  const below = ['/proc/x', 'ENOENT'] as const
  for (const [file, code] of [
    below,
    ['/proc/x/y/z', 'ENOENT'],
    [join(base, 'file'), 'EEXIST'],
    [join(base, 'file', 'x'), 'ENOTDIR'],
    [join(base, 'link'), 'EEXIST'],
    [join(base, 'x'.repeat(300)), 'ENAMETOOLONG'],
  ] as const)
    expect(() => makeFolder(file)).toThrow(refusal(file, code))
  expect(() => makeFolder(below[0], { named: 'backup', advice: 'Use a disk.' })).toThrow(
    refusal('backup', 'ENOENT', 'Use a disk.'),
  )
})
