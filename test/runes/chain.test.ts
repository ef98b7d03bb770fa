import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalJson, type Json } from '../../src/kernel/json.ts'
import { readHeader } from '../../src/runes/read-header.ts'
import { foldedRunesIn, headerText, linesOf, type RuneHeader, runeId, runesIn } from '../../src/runes/record.ts'
import { actorCategory, actors, concernNames, visibilities } from '../../src/runes/rune.ts'

const id = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_.:-]{0,20}$/)
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
/** Few values, so that some are shared. */
const few = fc.constantFrom('a', 'b')

const reading = fc.record({ because: fc.string({ unit: 'grapheme' }), guard: fc.string(), holds: fc.boolean() })
const move = fc.record(
  {
    machine: fc.constantFrom('session', 'run', 'tool', 'contract', 'unheard_of'),
    from: fc.option(id),
    trigger: fc.option(id),
    to: id,
    subject_id: few,
    guards: fc.array(reading, { minLength: 1, maxLength: 3 }),
  },
  { requiredKeys: ['machine', 'from', 'trigger', 'to', 'subject_id'] },
)

const own = fc.record({
  kind: id,
  actor: fc.constantFrom(...actors),
  at: fc.constantFrom(0, 1, 1_700_000_000_000),
  visibility: fc.constantFrom(...visibilities),
  payload_sha256: fc.option(fc.stringMatching(/^[0-9a-f]{64}$/)),
  schema_version: fc.constantFrom(1, 2),
  move: maybe(move),
  concerns: fc.record(Object.fromEntries(concernNames.map((name) => [name, few])), { requiredKeys: [] }),
})

/** Runes of one commit, as the store gives them to the header. */
const commit = fc
  .tuple(id, fc.integer({ min: 1, max: 2 ** 40 }), fc.array(own, { minLength: 1, maxLength: 5 }))
  .map(([session_id, first, runes]) =>
    runes.map(({ move, concerns, ...rest }, i) => ({
      event_id: first + i,
      session_id,
      actor_category: actorCategory(rest.actor),
      ...rest,
      ...concerns,
      ...move,
    })),
  )

const options = { seed: 1, numRuns: 500 }

describe('header of a commit', () => {
  test('header: its text is its canonical JSON, and reads back as the runes that were written', () => {
    fc.assert(
      fc.property(commit, (runes) => {
        const text = headerText(runes as unknown as readonly RuneHeader[])
        expect(text).toBe(canonicalJson(JSON.parse(text) as Json))
        const header = readHeader(text)
        const made = runes.map((rune) => ({
          ...rune,
          rune_id: runeId(rune.session_id, rune.event_id),
          payload: undefined,
          prev_hash: '',
          hash: '',
        }))
        expect(header && runesIn(header)).toEqual(made)
        expect(header && foldedRunesIn(header)).toEqual(made.map((rune) => ({ ...rune, rune_id: '' })))
      }),
      options,
    )
  })

  test('header: a field that half of the runes agree on is written once, and public visibility never', () => {
    fc.assert(
      fc.property(commit, (runes) => {
        const { runes: entries, ...shared } = JSON.parse(headerText(runes as unknown as readonly RuneHeader[]))
        for (const [name, value] of Object.entries(shared).filter(([name]) => !/^(event|session)_id$/.test(name)))
          for (const entry of entries) expect(entry[name], name).not.toBe(value)
        for (const entry of entries) expect(entry.visibility).not.toBe('public')
        if (runes.length > 1 && new Set(runes.map(({ at }) => at)).size === 1)
          expect(entries.some((entry: object) => 'at' in entry)).toBe(false)
      }),
      options,
    )
  })

  test('header: another text of it is refused', () => {
    fc.assert(
      fc.property(commit, fc.nat(), fc.constantFrom(' ', '0', '"', ',', '{', 'x', '\\'), (runes, place, more) => {
        const text = headerText(runes as unknown as readonly RuneHeader[])
        const at = place % (text.length + 1)
        const longer = text.slice(0, at) + more + text.slice(at)
        // Within a text or a number it gives another header, which has one text, too.
        if (readHeader(longer) !== undefined) expect(canonicalJson(JSON.parse(longer) as Json)).toBe(longer)
        const reversed = JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(text)).reverse()))
        for (const other of [reversed, `${text} `, text.replace('{', '{ '), text.replace('"runes":', '"runes": ')])
          expect(readHeader(other), other).toBeUndefined()
      }),
      options,
    )
  })
})

test('record: the lines of payloads and salts are those of the runes', () => {
  expect(linesOf('')).toEqual([''])
  expect(linesOf('{}\n')).toEqual(['{}', ''])
})

test('header: half of a surrogate pair in any text of it makes it unreadable, also in the reading of a guard', () => {
  const entry = { guards: [{ because: 'b', guard: 'g', holds: true }], kind: 'k', move: ['m', null, null, 's'] }
  const text = JSON.stringify({ actor: 'a', at: 1, event_id: 1, runes: [entry], session_id: 'ses_1' })
  expect(readHeader(text)).toBeDefined()
  for (const word of ['"b"', '"g"', '"k"', '"m"', '"s"', '"a"', '"ses_1"'])
    expect(readHeader(text.replace(word, '"\\ud800"')), word).toBeUndefined()
})
