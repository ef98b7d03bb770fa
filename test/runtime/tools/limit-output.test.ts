import { describe, expect, test } from 'vitest'
import { createRedactor } from '../../../src/runelog/redactor.ts'
import { limitOutput } from '../../../src/runtime/tools/output.ts'

const redactors = {
  'without secrets': createRedactor({}),
  'with secrets': createRedactor({ secrets: new Map([['bank', 'sk-live-0123456789abcdef']]) }),
}

describe('F-88 tool output: a long text', () => {
  test.each(Object.entries(redactors))('of control characters costs as much as plain text, %s', async (_, redactor) => {
    const keep = async () => 'blob_1'
    const timed = async (text: string) => {
      const before = performance.now()
      const limited = await limitOutput(text, 1_000, keep, redactor)
      expect(limited).toMatchObject({
        output: expect.stringMatching(/of 3000000 bytes are shown/),
        output_ref: 'blob_1',
      })
      return performance.now() - before
    }
    const best = async (part: string) => {
      const times: number[] = []
      // One that came out clean is not cleaned again, so each text is another one.
      for (const last of 'abcde') times.push(await timed(part.repeat(2_999_999) + last))
      return Math.min(...times)
    }
    await best('x')
    const plain = await best('x')
    expect(await best('\0')).toBeLessThan(3 * plain + 5)
  })

  test.each(Object.entries(redactors))(
    'is kept in a later turn of the event loop than it is read in, %s',
    async (_, redactor) => {
      let turns = 0
      const count = () => {
        turns += 1
      }
      setImmediate(count)
      const keep = async () => `blob_${turns}`
      expect(await limitOutput('한'.repeat(2_000_000), 1_000, keep, redactor)).toMatchObject({ output_ref: 'blob_1' })
      expect(await limitOutput({ a: '\0'.repeat(2_000_000) }, 1_000, keep, redactor)).toHaveProperty('output_ref')
    },
  )
})
