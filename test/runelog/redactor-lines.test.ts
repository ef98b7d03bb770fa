import { Buffer } from 'node:buffer'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cleanStream, createRedactor } from '../../src/runelog/redactor.ts'
import { shortest_secret } from '../../src/runelog/secret-finder.ts'
import { isProof } from '../support/sampling.ts'
import { written } from '../support/written-secrets.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')
const key = `-----BEGIN PRIVATE KEY-----\n${'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ+/x7\n'.repeat(9)}-----END PRIVATE KEY-----\n`
const crlf = key.replaceAll('\n', '\r\n')
const folded = (text: string, columns: number, lineBreak: string) =>
  text.replaceAll(new RegExp(`[^]{${columns}}`, 'g'), (line) => `${line}${lineBreak}`)
const inLines: Readonly<Record<string, string>> = {
  'with other line ends': crlf,
  'with the oldest line ends': key.replaceAll('\n', '\r'),
  'with other line ends in JSON': JSON.stringify({ key: crlf }),
  'with other line ends in JSON in JSON': JSON.stringify(JSON.stringify({ key: crlf })),
  'with other line ends, percent-encoded': encodeURIComponent(crlf),
  'with other line ends in base64': base64(`x${crlf}`),
  'with other line ends in hex': Buffer.from(crlf).toString('hex'),
  'with empty lines': key.replaceAll('\n', '\n\n'),
  indented: key.replaceAll('\n', '\n      '),
  'in one line': key.replaceAll('\n', ''),
  'in one line with blanks': key.replaceAll('\n', ' '),
  'without its last line end': key.trimEnd(),
  'without its last line end in base64': base64(key.trimEnd()),
  'in wider lines': folded(key.replaceAll('\n', ''), 76, '\n'),
  'in narrower lines': folded(key.replaceAll('\n', ''), 40, '\r\n'),
  'folded with its own line ends': folded(key, 30, '\n'),
  'folded before a blank': folded(key, 10, '\n'),
  'folded in JSON': JSON.stringify(folded(key, 16, '\r\n')),
  'with every word in a line of its own': key.replaceAll(' ', '\n'),
}
test.each(Object.entries(inLines))('F-91 redactor: a secret in lines is found %s', (_, form) => {
  const one = createRedactor({ secrets: new Map([['key', key]]) })
  const around = `before ${form}after`
  const cleaned = one.redact(around)
  expect(cleaned).toMatch(/^before .{0,12}\[secret:key\].{0,9}after$/s)
  for (let cut = 1; cut < around.length; cut += 7) {
    const stream = cleanStream(one)
    expect(stream.add(around.slice(0, cut)) + stream.add(around.slice(cut)) + stream.end()).toBe(cleaned)
  }
})

test.each(['pass\n word x9', 'pass\nword x9', 'pass \nword x9', 'pass\r\n    word\r\n    x9', 'pa\nss\n word\n x9'])(
  'F-91 redactor: a secret with blanks is found when it is wrapped as %j',
  (wrapped) => {
    const one = createRedactor({ secrets: new Map([['s', 'pass word x9']]) })
    for (const form of [wrapped, JSON.stringify(wrapped).slice(1, -1), encodeURIComponent(wrapped)])
      expect(one.redact(`a ${form}\n  b`)).toBe('a [secret:s]\n  b')
  },
)

test('F-91 redactor: line breaks around a secret, and those of a text without one, are left as they are', () => {
  const one = createRedactor({ secrets: new Map(Object.entries({ key, words: 'pass word x9', bank: 'tok-12345' })) })
  expect(one.redact('a\n tok-12345\r\n\t b')).toBe('a\n [secret:bank]\r\n\t b')
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('pass', ' ', '\n', '\r', '\t', 'word', 'tok-') }), (text) => {
      expect(one.redact(text)).toBe(text)
    }),
    { seed: 91 },
  )
})

test('F-91 redactor: any secret that is wrapped anywhere is found, also when it arrives in pieces', () => {
  const unit = fc.constantFrom('a', 'B', '7', ' ', '\n', '\r\n', 'é', '+', '"')
  // A line break next to a secret may be taken for a part of it, or not.
  const lineBreaks = String.raw`(?:\\[rn]|%5c[rn]|%0[ad]|[\r\n])*`
  const bare = (text: string) => text.replace(new RegExp(`${lineBreaks}(\\[secret:s\\])${lineBreaks}`, 'i'), '$1')
  fc.assert(
    fc.property(
      fc.string({ unit, minLength: 12, maxLength: 40 }),
      fc.array(fc.nat(60), { maxLength: 6 }),
      fc.constantFrom('\n', '\r\n', '\n\n'),
      fc.constantFrom('as it is', 'as JSON', 'with every byte as %hh', 'percent-encoded JSON', 'in NFD'),
      fc.array(fc.nat(400), { maxLength: 4 }),
      (value, wraps, lineBreak, name, cuts) => {
        fc.pre(value.replaceAll(/[\r\n]/g, '').length >= shortest_secret)
        const one = createRedactor({ secrets: new Map([['s', value]]) })
        const wrapped = [...value].map((c, i) => (wraps.includes(i) ? `${lineBreak}${c}` : c)).join('')
        const text = `before#${written[name]?.(wrapped)}# after`
        const cleaned = one.redact(text)
        expect(bare(cleaned)).toBe('before#[secret:s]# after')
        const stream = cleanStream(one)
        const places = [0, ...cuts.map((cut) => cut % text.length).sort((a, b) => a - b), text.length]
        const passed = places.slice(1).map((to, i) => stream.add(text.slice(places[i], to)))
        expect(bare([...passed, stream.end()].join(''))).toBe(bare(cleaned))
      },
    ),
    { seed: 91, numRuns: isProof ? 20_000 : 600 },
  )
})
