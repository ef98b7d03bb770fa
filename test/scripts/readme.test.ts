import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

test('the example in the README is the one that runs in the tests', () => {
  expect(readFileSync('README.md', 'utf8')).toContain(readFileSync('examples/01-refund.ts', 'utf8'))
})
