import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createTestClock } from '../../../src/adapters/system/testing.ts'
import { coalesce } from '../../../src/runtime/turns/model-call.ts'
import { roughText } from '../../support/rough-text.ts'

const proof = process.env.STATEWRIGHT_PROOF === '1'

function start(limits?: { after_ms: number; characters: number }) {
  const hand = createTestClock()
  const pieces: [channel: string, text: string, offset: number][] = []
  const sink = coalesce(hand.timers, (channel, text, offset) => void pieces.push([channel, text, offset]), limits)
  return { ...hand, pieces, ...sink }
}

test('coalesce: small pieces are handed on together once the first is 250 ms old', async () => {
  const { add, advance, pieces, pending } = start()
  add('text', 'a')
  await advance(200)
  add('text', 'b')
  await advance(49)
  expect(pieces).toEqual([])
  await advance(1)
  expect(pieces).toEqual([['text', 'ab', 0]])
  expect(pending()).toBe(0)
  add('text', 'c')
  await advance(250)
  expect(pieces.at(-1)).toEqual(['text', 'c', 2])
})

test('coalesce: 2,048 characters are handed on at once', () => {
  const { add, pieces, pending } = start()
  add('text', 'x'.repeat(2047))
  expect(pieces).toEqual([])
  add('text', 'y')
  expect(pieces).toEqual([['text', `${'x'.repeat(2047)}y`, 0]])
  expect(pending()).toBe(0)
})

test('coalesce: a character whose halves come apart is handed on whole', async () => {
  const { add, advance, pieces, finish } = start()
  const [high = '', low = ''] = '😀'.split('')
  add('text', 'x'.repeat(2047))
  add('text', high)
  expect(pieces).toEqual([['text', 'x'.repeat(2047), 0]])
  add('text', low)
  await advance(250)
  expect(pieces.at(-1)).toEqual(['text', '😀', 2047])
  add('text', `y${high}`)
  await advance(250)
  expect(pieces.at(-1)).toEqual(['text', 'y', 2049])
  finish()
  expect(pieces.at(-1)).toEqual(['text', '\ufffd', 2050])
})

test('coalesce: channels keep their order, and each counts its own text', () => {
  const { add, finish, pieces } = start()
  add('reasoning', 'hm')
  add('text', 'A')
  add('reasoning', 'ok')
  finish()
  expect(pieces).toEqual([
    ['reasoning', 'hm', 0],
    ['text', 'A', 0],
    ['reasoning', 'ok', 2],
  ])
})

test('coalesce: the end of one channel hands on neither the other channels nor later text', async () => {
  for (const [channel, handedOn] of [
    ['text', []],
    ['reasoning', [['reasoning', 'a', 0]]],
  ] as const) {
    const { add, finish, advance, pieces, pending } = start()
    add(channel, 'a')
    finish('reasoning')
    add(channel, 'b')
    await advance(1000)
    expect(pieces).toEqual(handedOn)
    expect(pending()).toBe(0)
  }
})

test('coalesce: text in random pieces at random times arrives whole, in order, and without split characters', async () => {
  const step = fc.oneof(
    fc.tuple(fc.constantFrom('text', 'reasoning'), roughText({ maxLength: 12 })),
    fc.integer({ min: 0, max: 300 }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const { add, finish, advance, pieces } = start({ after_ms: 250, characters: 10 })
      const said: Record<string, string> = { text: '', reasoning: '' }
      let last = ''
      for (const each of steps) {
        if (typeof each === 'number') await advance(each)
        else {
          // A character is cut in two only within one channel: another voice ends it.
          const [channel, text] = each
          for (const half of text.split('')) add(channel as 'text', half)
          if (text !== '' && last !== '' && last !== channel) said[last] = (said[last] ?? '').toWellFormed()
          if (text !== '') last = channel
          said[channel] += text
        }
      }
      finish()
      const arrived: Record<string, string> = { text: '', reasoning: '' }
      for (const [channel, text, offset] of pieces) {
        expect(text.isWellFormed()).toBe(true)
        expect(offset).toBe(arrived[channel]?.length)
        arrived[channel] += text
      }
      expect(arrived).toEqual({ text: said.text?.toWellFormed(), reasoning: said.reasoning?.toWellFormed() })
    }),
    { seed: 2, numRuns: proof ? 3_000 : 60 },
  )
})
