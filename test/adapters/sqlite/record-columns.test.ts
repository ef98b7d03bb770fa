import { hash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { packed, unpacked, unpackedHeader } from '../../../src/adapters/sqlite/record-columns.ts'
import { recordDictionary } from '../../../src/adapters/sqlite/record-dictionary.ts'
import { createDice } from '../../support/dice.ts'

type Texts = Parameters<typeof packed>[0]

const digest = (i: number) => hash('sha256', String(i))
const entry = (i: number) => `{"kind":"turn.assistant_delta","payload_sha256":"${digest(i)}"}`

/** A record of so many runes, each with a salt. */
function recordOf(payload: string, runes = 1, first = 7): Texts {
  const entries = Array.from({ length: runes }, (_, i) => entry(i)).join()
  const header = `{"actor":"reasoning","at":1,"event_id":${first},"run_id":"run_1","runes":[${entries}],"session_id":"ses_1"}`
  return { event_id: first + runes - 1, header, payload, salt: Array(runes).fill('ab'.repeat(16)).join('\n') }
}

const read = (record: Texts) => unpacked({ ...record, ...packed(record) })
const textsOf = ({ header, payload }: Texts) => ({ header, payload })

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 2_000 }),
  fc
    .array(fc.constantFrom('{"run_id":"run_1"}', '\n', 'Grüße, 世界 🦉', '{}', '"content":', 'x'), { maxLength: 800 })
    .map((parts) => parts.join('')),
)
/** Texts that are headers, nearly headers, and none. */
const header = fc.oneof(
  text,
  fc
    .array(
      fc.constantFrom(
        ...['"event_id":', '"event_id":7,', '7', ',', '"', '"payload_sha256":"', digest(1), digest(2).slice(1), '世'],
        ...[
          entry(1),
          entry(2),
          'A'.repeat(64),
          digest(3).toUpperCase(),
          '\u0001',
          '\u0002',
          '{"actor":"graph_runner","agent_id":"agt_1"',
        ],
      ),
      { maxLength: 20 },
    )
    .map((parts) => parts.join('')),
)

test('record columns: packed texts unpack to themselves', () => {
  const salt = fc.integer({ min: 0, max: 3 }).map((lines) => '\n'.repeat(lines))
  let packedHeaders = 0
  fc.assert(
    fc.property(header, text, salt, (header, payload, salt) => {
      const record = { event_id: 7 + salt.length, header, payload, salt }
      const columns = packed(record)
      expect(unpacked({ ...record, ...columns })).toEqual({ header, payload })
      expect(unpackedHeader({ ...record, ...columns })).toBe(header)
      // The header may be stored as a text, too.
      expect(unpacked({ ...record, ...columns, header })).toEqual({ header, payload })
      for (const name of ['header', 'payload'] as const) {
        const column = columns[name]
        if (typeof column === 'string') expect(column).toBe(record[name])
        else expect(column.length).toBeLessThan(Buffer.byteLength(record[name]))
      }
      if (typeof columns.header !== 'string') packedHeaders += 1
    }),
    { seed: 1, numRuns: 3_000 },
  )
  expect(packedHeaders).toBeGreaterThan(50)
})

test('record columns: the header of a step takes few bytes besides its ids and digests', () => {
  for (const runes of [1, 5, 255]) {
    const record = recordOf('{}', runes)
    const { header } = packed(record)
    expect(header.length).toBeLessThan(60 + 33 * runes)
    expect(read(record)).toEqual(textsOf(record))
  }
})

test.each<[string, (record: Texts) => Texts]>([
  ['names another event', (record) => ({ ...record, event_id: record.event_id + 1 })],
  ['has no salt for an event', (record) => ({ ...record, salt: '\n' })],
  [
    'has a digest in capitals',
    (record) => ({ ...record, header: record.header.replace(digest(0), digest(0).toUpperCase()) }),
  ],
  ['has a digest that is cut', (record) => ({ ...record, header: record.header.replace(digest(0), '0') })],
  [
    'has a digest of other letters',
    (record) => ({ ...record, header: record.header.replace(digest(0), 'x'.repeat(64)) }),
  ],
  ['has more digests than a byte counts', ({ payload }) => recordOf(payload, 256)],
  ['is longer than two bytes count', (record) => ({ ...record, header: `${record.header}${' '.repeat(65_536)}` })],
])('record columns: a header that %s stays a text, and its payload can be packed', (_, change) => {
  const record = change(recordOf('{"content":"piece"}'.repeat(99), 3))
  const columns = packed(record)
  expect(columns.header).toBe(record.header)
  expect(columns.payload).not.toBeTypeOf('string')
  expect(unpacked({ ...record, ...columns })).toEqual(textsOf(record))
})

test('record columns: a packed header has the event of its row', () => {
  const record = recordOf('{}', 3, 7)
  const { header } = packed(record)
  expect(unpackedHeader({ ...record, header, event_id: 129 })).toBe(
    record.header.replace('"event_id":7', '"event_id":127'),
  )
})

test('record columns: the dictionary is part of the schema', () => {
  // With another dictionary no stored record can be read: give the schema another number.
  expect(hash('sha256', recordDictionary)).toBe('87917e993810ecdc3b2e39c45486618ce746d9a4062acbdb3ab616fe589ed8b1')
})

test('record columns: short payloads, long payloads and noise stay as they are, all others are packed', () => {
  const dice = createDice(1)
  const noise = Array.from({ length: 5_000 }, () => String.fromCharCode(0x4e00 + dice.below(20_000))).join('')
  const long = 'x'.repeat(2 ** 20)
  for (const [payload, isPacked] of [
    ['', false],
    ['{}', false],
    ['x'.repeat(511), false],
    ['x'.repeat(512), true],
    ['世'.repeat(512), true],
    [long, true],
    ['世'.repeat(2 ** 20), true],
    [`${long}x`, false],
    [noise, false],
  ] as const) {
    const record = recordOf(payload)
    const column = packed(record).payload
    expect(typeof column !== 'string', `${payload.length} of ${payload.slice(0, 1)}`).toBe(isPacked)
    expect(read(record).payload === payload).toBe(true)
  }
  const record = { ...recordOf('x'.repeat(600)), header: `${long}x` }
  expect(packed(record)).toEqual(textsOf(record))
})

test('record columns: a column is a copy that later ones do not change', () => {
  const records = Array.from({ length: 50 }, (_, i) => recordOf(`payload ${i} `.repeat(100 + i * 50), 1 + (i % 5), i))
  const columns = records.map((record) => ({ ...record, ...packed(record) }))
  expect(columns.map(unpacked)).toEqual(records.map(textsOf))
})

test('record columns: bytes that were changed are refused or read as another text, and another header is not taken', () => {
  const record = recordOf('{"content":"piece","run_id":"run_1","session_id":"ses_1"}\n'.repeat(20), 2)
  const columns = packed(record)
  const [header, payload] = [columns.header as Uint8Array, columns.payload as Uint8Array]
  const outcome = (changed: object) => {
    try {
      return unpacked({ ...record, ...columns, ...changed })
    } catch (error) {
      expect(error).toBeInstanceOf(RangeError)
      return undefined
    }
  }
  expect(outcome({})).toEqual(textsOf(record))
  for (const [name, bytes] of Object.entries({ header, payload })) {
    for (let at = 0; at < bytes.length; at++) {
      expect(outcome({ [name]: bytes.slice(0, at) }), `${name} cut at ${at}`).toBeUndefined()
      for (let bit = 1; bit < 256; bit *= 2) {
        const found = outcome({ [name]: bytes.with(at, (bytes[at] ?? 0) ^ bit) })
        // A flip of a new byte or of a digest reads as another text; the bytes in front must fit what follows.
        if (at < (name === 'header' ? 3 : 4)) expect(found, `${name} byte ${at}`).toBeUndefined()
      }
    }
    expect(outcome({ [name]: Buffer.concat([bytes, Buffer.alloc(1)]) }), name).toBeUndefined()
  }
  for (const given of ['', record.header.slice(0, -1), record.header.replace('run_1', 'run_2')])
    expect(outcome({ header: given })?.payload, given).not.toBe(record.payload)
})

test('record columns: a payload that cannot be packed leaves nothing that the next one is packed with', () => {
  const dice = createDice(1)
  const printable = Array.from({ length: 90 }, (_, i) => String.fromCharCode(33 + i))
  const letters = (length: number) => Array.from({ length }, () => dice.pick(printable)).join('')
  let unfit = 0
  for (let i = 0; i < 5; i++) {
    // A repeated piece about every 300 characters costs more than it saves, so the block runs out of room after many of them.
    let noise = letters(300)
    while (noise.length < 200_000) noise += noise.slice(0, 4) + letters(280)
    if (typeof packed(recordOf(noise)).payload === 'string') unfit += 1
    // The same pieces are in the next one, earlier than the places that the first has left.
    const payload = noise + 'x'.repeat(5_000)
    expect(read(recordOf(payload)).payload === payload, `payload ${i}`).toBe(true)
  }
  expect(unfit).toBe(5)
})
