import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const root = new URL('../../', import.meta.url)
const page = readFileSync(new URL('README.md', root), 'utf8')
const [, section = ''] = /## What you can rely on\n(.*?)\n## /s.exec(page) ?? []
const rows = section.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| |'))

test('README: every promise has its fine print and names tests that exist', () => {
  expect(rows.length).toBeGreaterThan(8)
  for (const row of rows) {
    const [, promise = '', finePrint = '', proof = ''] = row.split(' | ').flatMap((cell) => cell.split('| '))
    const files = [...proof.matchAll(/\]\((test\/[^)]+\.test\.ts)\)/g)].map(([, file = '']) => file)
    expect(finePrint, promise).not.toBe('')
    expect(files.length, promise).toBeGreaterThan(0)
    for (const file of files) expect(existsSync(new URL(file, root)), file).toBe(true)
  }
})
