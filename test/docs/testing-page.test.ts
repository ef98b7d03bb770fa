import { readFileSync } from 'node:fs'
import * as testing from 'statewright/testing'
import { expect, test } from 'vitest'
import { runProgram } from '../support/page-example.ts'

const page = readFileSync(new URL('../../docs/testing.md', import.meta.url), 'utf8')
const programs = [...page.matchAll(/```ts\n(.*?)```/gs)].map(([, code = '']) => code)

test('docs/testing.md: the program approves a call, lets a question time out and checks the stream', async () => {
  expect(programs).toHaveLength(1)
  const { status, refunds } = await runProgram(programs[0] ?? '', {}, ['status', 'refunds'])
  expect({ status, refunds }).toEqual({ status: 'succeeded', refunds: [{ order: 42 }] })
})

test('docs/testing.md: the page names every function of statewright/testing', () => {
  expect(Object.keys(testing).filter((name) => !page.includes(`\`${name}(`))).toEqual([])
})
