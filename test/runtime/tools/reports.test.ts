import { expect, test } from 'vitest'
import { createRedactor } from '../../../src/runelog/redactor.ts'
import { createReports } from '../../../src/runtime/tools/output.ts'
import { turnsDuring } from '../../support/turns-during.ts'

function start(secrets: Readonly<Record<string, string>> = {}) {
  const passed: string[] = []
  const redactor = createRedactor({ secrets: new Map(Object.entries(secrets)) })
  const reports = createReports(redactor, (stream, text) => void passed.push(`${stream}: ${text}`))
  const all = () => passed.map((each) => each.slice(each.indexOf(' ') + 1)).join('')
  return { ...reports, passed, all }
}

test('F-88 reports: while much is reported at once others get their turn, and the end comes after all of it', async () => {
  const { add, end, all } = start()
  const report = '0123456789'.repeat(9_000)
  const turns = await turnsDuring(() => {
    for (let i = 0; i < 10; i++) add(report, 'message')
    return end()
  })
  expect(turns).toBeGreaterThanOrEqual(10)
  expect(all()).toBe(report.repeat(10))
})

test('reports: a short one is passed on at once, and one after the end is not', async () => {
  const { add, end, passed } = start()
  add('a', 'stdout')
  add(7, 'stderr')
  expect(passed).toEqual(['stdout: a', 'stderr: 7'])
  const ended = end()
  add('late', 'stdout')
  await ended
  add('later', 'stdout')
  expect(passed.filter((each) => !each.endsWith(': '))).toEqual(['stdout: a', 'stderr: 7'])
})

test('F-91 reports: a secret is found where two long reports meet', async () => {
  const { add, end, all } = start({ bank: 'sk-live-0123456789' })
  add(`${'x'.repeat(65_530)}sk-live-`, 'stdout')
  add(`0123456789${'y'.repeat(70_000)}`, 'stdout')
  await end()
  expect(all()).toBe(`${'x'.repeat(65_530)}[secret:bank]${'y'.repeat(70_000)}`)
})

test('F-88 reports: reports beyond the limit are dropped, with one note', async () => {
  const { add, end, all } = start()
  for (let i = 0; i < 30; i++) add('x'.repeat(100_000), 'stdout')
  await end()
  expect(all()).toBe(
    `${'x'.repeat(1_000_000)}\n[The limit of progress reports is reached; the rest is not recorded.]\n`,
  )
})

test('F-91 reports: the limit leaves no half of a secret, and the sentence about it stays', async () => {
  const note = '\n[The limit of progress reports is reached; the rest is not recorded.]\n'
  for (const shown of [1, 7, 17]) {
    const { add, end, all } = start({ bank: 'sk-live-0123456789' })
    add('sk-l', 'stderr')
    add(`${'x'.repeat(1_000_000 - 4 - shown)}sk-live-0123456789`, 'stdout')
    add('more', 'stdout')
    await end()
    expect(all()).toBe(`${'x'.repeat(1_000_000 - 4 - shown)}${note}`)
  }
})

test('F-91 reports: of reports that are cut, the beginning of a secret is left out', async () => {
  const { add, end, all } = start({ bank: 'sk-live-0123456789' })
  add('so far sk-live-', 'stdout')
  await end(true)
  await end()
  expect(all()).toBe('so far ')
})
