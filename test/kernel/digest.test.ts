import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { digestOf, hashedId, partsText, utf8Length } from '../../src/kernel/digest.ts'
import { requestKey } from '../../src/surface/operation.ts'
import { sha256 } from '../support/sha256.ts'

const parts = fc.array(fc.string({ unit: 'grapheme', maxLength: 6 }), { maxLength: 4 })

test('F-81 digest: different parts never give the same text, wherever one ends and the next begins', () => {
  fc.assert(
    fc.property(parts, parts, (a, b) => {
      expect(partsText('payload', a) === partsText('payload', b)).toBe(JSON.stringify(a) === JSON.stringify(b))
    }),
    { seed: 1, numRuns: 500 },
  )
  const joined = ['aé', '1:b', '']
  for (const other of [
    ['aé1:b', '', ''],
    ['aé', '1:b'],
    ['a', 'é1:b', ''],
    ['aé', '', '1:b'],
  ])
    expect(digestOf('payload', other, sha256)).not.toBe(digestOf('payload', joined, sha256))
})

test('F-81 digest: the length of a part is that of its UTF-8, so any other tool can compute it', () => {
  const text = 'aé€😀'
  expect(partsText('commit', [text])).toBe(`statewright/2 commit\n${Buffer.byteLength(text)}:${text}`)
})

test('F-88 digest: the length in UTF-8 is that of the encoder, also of half a character and in a browser', async () => {
  vi.resetModules()
  vi.stubGlobal('Buffer', undefined)
  const inBrowser = await import('../../src/kernel/digest.ts').finally(() => vi.unstubAllGlobals())
  expect(inBrowser.utf8Length).not.toBe(utf8Length)
  const unit = fc.constantFrom('a', '\0', 'é', '\u07ff', '\u0800', '한', '\uffff', '😀', '\ud83d', '\ude00')
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 12 }), (text) => {
      expect(inBrowser.utf8Length(text)).toBe(new TextEncoder().encode(text).length)
      expect(utf8Length(text)).toBe(inBrowser.utf8Length(text))
    }),
  )
})

test('F-81 digest: a digest for one purpose does not pass for another', () => {
  expect(digestOf('payload', ['a'], sha256)).not.toBe(digestOf('remains', ['a'], sha256))
  expect(hashedId('run', ['a'], sha256).slice(4)).not.toBe(hashedId('ses', ['a'], sha256).slice(4))
})

test('F-81 request key: a blank in a token name or in a key does not make two requests one', () => {
  const scope = 'operate' as const
  const asked = (by: string, idempotency_key: string) => ({
    params: {},
    query: {},
    body: {},
    by,
    idempotency_key,
    scope,
  })
  expect(requestKey('submit_run', asked('ann', 'b k'))).not.toBe(requestKey('submit_run', asked('ann b', 'k')))
})
