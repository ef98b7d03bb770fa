import fc from 'fast-check'
import { expect, test } from 'vitest'
import { claimOwnFile, isOwnFile } from '../../src/adapters/workspace/own-files.ts'
import { streamSafe } from '../../src/runelog/normal-form.ts'
import { wordsOf } from '../../src/runelog/words.ts'
import { scratchFolder } from '../support/scratch-folder.ts'

const scratch = scratchFolder('marks')

/** Marks of several classes, in an order that sorting them has to change. */
const marked = (count: number) => `a${'\u0301\u0316'.repeat(count / 2)}`

/** A run this long takes `normalize` seconds. */
const many = marked(90_000)

function timed(work: () => void): number {
  const before = performance.now()
  work()
  return performance.now() - before
}

test('F-88 search words: a letter with 90,000 marks is indexed in linear time', () => {
  const took = timed(() => expect(wordsOf(`Zoë ${many}b`)).toEqual(['zoe', 'ab']))
  expect(took).toBeLessThan(700)
})

test('F-88 own files: a name with 90,000 marks is compared in linear time', () => {
  const folder = scratch.fresh()
  const release = claimOwnFile(`${folder}/app.db`)
  try {
    const took = timed(() => expect(isOwnFile(`${folder}/${many}`)).toBe(false))
    expect(took).toBeLessThan(700)
    expect(isOwnFile(`${folder}/ａpp.db`)).toBe(true)
  } finally {
    release()
  }
})

const form = fc.constantFrom('NFC', 'NFD', 'NFKC', 'NFKD')
const letter = fc.constantFrom('a', 'é', '\u0301', '\u0316', '\u3099', 'ﾞ', 'ｶ', '한', '\u1161', '\ud834\udd5e', ' ')

test('F-88 normal form: a text whose letters have at most 30 marks is normalised as a whole', () => {
  fc.assert(
    fc.property(fc.string({ unit: letter, maxLength: 30 }), form, (text, form) => {
      expect(streamSafe(text, (part) => part.normalize(form))).toBe(text.normalize(form))
    }),
  )
})

test('F-88 search words: a text has the same words for any number of marks on its letters', () => {
  const text = fc.array(fc.oneof(letter, fc.constantFrom(marked(40), marked(100))), { maxLength: 8 })
  fc.assert(
    fc.property(text, (parts) => {
      const plain = parts.join('').normalize('NFKD').replace(/\p{M}/gu, '')
      expect(wordsOf(parts.join(''))).toEqual(wordsOf(plain))
    }),
  )
})
