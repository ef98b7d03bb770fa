import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { table } from '../../scripts/docs/page.ts'
import { pages } from '../../scripts/docs/pages.ts'
import { stalePages, writePages } from '../../scripts/docs/write.ts'
import { faults } from '../../src/faults/catalogue.ts'
import type { Machine } from '../../src/kernel/machine.ts'
import { machines } from '../../src/machines/all.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'statewright-docs-'))
})
afterEach(() => rmSync(root, { recursive: true }))

test('docs: a page that is missing, or says something else, is stale and is named', () => {
  expect(stalePages(root, pages)).toEqual(pages.map((page) => page.path))
  writePages(root, pages)
  expect(stalePages(root, pages)).toEqual([])
  appendFileSync(join(root, 'docs/reference/faults.md'), 'and more')
  expect(stalePages(root, pages)).toEqual(['docs/reference/faults.md'])
})

test('docs: the page of machines speaks of every state, move, extension and forbidden move', () => {
  const text = pages.find((page) => page.path.endsWith('machines.md'))?.render() ?? ''
  for (const machine of machines as readonly Machine[]) {
    const section = text.split('\n## ').find((part) => part.startsWith(`${machine.name}\n`)) ?? ''
    for (const [name, { meaning }] of Object.entries(machine.states))
      expect(section).toContain(`| \`${name}\` | ${meaning} |`)
    for (const { from, on, to, extension = '' } of machine.transitions) {
      const row = section.split('\n').find((line) => line.startsWith(`| \`${from}\` | \`${on}\` | \`${to}\` |`))
      expect(row?.endsWith(`| ${extension} |`)).toBe(true)
    }
    for (const { from, to, because } of machine.forbidden)
      expect(section).toContain(`| \`${from}\` | \`${to}\` | ${because} |`)
  }
})

test('docs: the page of faults has code, meaning and remedy of every fault', () => {
  const text = pages.find((page) => page.path.endsWith('faults.md'))?.render() ?? ''
  for (const [code, { row }] of Object.entries(faults))
    expect(text).toContain(`| \`${code}\` | ${row.meaning} | ${row.remedy} | ${row.http} | `)
})

test('docs: a bar in a cell does not end the cell', () => {
  expect(table(['a|b'], [['c']])).toBe('| a\\|b |\n| --- |\n| c |')
})
