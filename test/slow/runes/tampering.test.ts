import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { hostPorts } from '../../../src/adapters/host/ports.ts'
import { accepted } from '../../../src/faults/catalogue.ts'
import { openMemoryRunelog } from '../../../src/runelog/memory.ts'
import { genesis, link, type Mark, payloadDigest, type StoredRecord } from '../../../src/runes/rune.ts'
import type { BadEvent } from '../../../src/runes/verify.ts'
import { created, plain } from '../../support/drafts.ts'
import { verifierOf } from '../../support/verifier.ts'

const { sha256 } = hostPorts
const size = process.env.STATEWRIGHT_PROOF === '1' ? 2000 : 300
const marked = [100, 200, 500, 1000, 1500].filter((event_id) => event_id < size)

let log: readonly StoredRecord[]
let marks: readonly Mark[]

beforeAll(async () => {
  const runelog = openMemoryRunelog(hostPorts)
  accepted(await runelog.append({ session_id: 'ses_1', runes: [created('ses_1')] }))
  for (let i = 2; i < size; i++) {
    if (i === 8) await runelog.redact('ses_1', 7, 'a test')
    const piece = plain('turn.assistant_delta', { content: `piece ${i}`, offset: i })
    accepted(await runelog.append({ session_id: 'ses_1', runes: [piece] }))
  }
  log = await Array.fromAsync(runelog.records('ses_1'))
  marks = marked.map((event_id) => ({ event_id, hash: at(event_id).hash }))
})

const at = (event_id: number, records = log) => records[event_id - 1] as StoredRecord
const put = (event_id: number, change: Partial<StoredRecord>) => log.with(event_id - 1, { ...at(event_id), ...change })

function firstBad(records: readonly StoredRecord[], against: readonly Mark[] = []): BadEvent | undefined {
  const verifier = verifierOf('ses_1', against)
  for (const record of records) {
    const bad = verifier.take(record)
    if (bad !== undefined) return bad
  }
  return verifier.end()
}

/** An attacker who can hash makes all records from an event on fit. */
function rechained(records: readonly StoredRecord[], from: number): readonly StoredRecord[] {
  let hash = records[from - 2]?.hash ?? genesis
  return records.map((record, i) => {
    if (i < from - 1) return record
    const header = JSON.parse(record.header)
    if (record.salt !== null) header.payload_sha256 = payloadDigest(record.salt, record.payload, sha256)
    const text = JSON.stringify(header)
    hash = link(hash, text, sha256)
    return { ...record, header: text, hash }
  })
}

const somewhere = fc.integer({ min: 10, max: size - 5 })
function each(check: (event_id: number) => void): void {
  const property = fc.property(somewhere, (event_id) => {
    check(event_id)
  })
  fc.assert(property, { seed: 12, numRuns: 60 })
}

test('tampering: the log as it was recorded verifies, with and without its marks', () => {
  expect(log).toHaveLength(size)
  expect(firstBad(log)).toBeUndefined()
  expect(firstBad(log, marks)).toBeUndefined()
})

describe('tampering: flipped bits', () => {
  const places = [1, 7, 8, 40].map((event_id) => [event_id] as const)
  test.each(places)('any flipped bit of event %i is found there', (event_id) => {
    for (const field of ['header', 'payload', 'hash', 'salt'] as const) {
      const text = at(event_id)[field]
      if (text === null) continue
      for (let i = 0; i < text.length; i++)
        for (const bit of [1, 2, 4, 8, 16, 32, 64]) {
          const flipped = text.slice(0, i) + String.fromCharCode(text.charCodeAt(i) ^ bit) + text.slice(i + 1)
          expect(firstBad(put(event_id, { [field]: flipped })), `${field} ${i} ${bit}`).toMatchObject({ event_id })
        }
    }
  })

  test('a rewritten header that keeps its meaning is found too', () => {
    const { header } = at(20)
    const reordered = JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(header)).reverse()))
    for (const text of [reordered, header.replace('{', '{ '), header.replace('{', '{"actor":"human",')]) {
      const hash = link(at(19).hash, text, sha256)
      expect(firstBad(put(20, { header: text, hash }))).toEqual({
        event_id: 20,
        problem: 'its header is not the canonical JSON of a header.',
      })
    }
  })
})

test('delete: the first missing event is named', () => {
  each((k) => expect(firstBad(log.toSpliced(k - 1, 1))).toMatchObject({ event_id: k }))
  each((k) => expect(firstBad(log.toSpliced(k - 1, 3))).toMatchObject({ event_id: k }))
})

test('swap: the first of the two is named', () => {
  each((k) => expect(firstBad(log.with(k - 1, at(k + 1)).with(k, at(k)))).toMatchObject({ event_id: k }))
  each((k) => expect(firstBad(log.with(k - 1, at(size)).with(size - 1, at(k)))).toMatchObject({ event_id: k }))
})

test('insert: the place of the first that does not belong is named', () => {
  each((k) => expect(firstBad(log.toSpliced(k - 1, 0, at(k)))).toMatchObject({ event_id: k + 1 }))
  each((k) => {
    const header = at(k).header.replace('piece', 'forged')
    const forged = { ...at(k), header, payload: '{}', hash: sha256('x') }
    expect(firstBad(log.toSpliced(k - 1, 0, forged))).toMatchObject({ event_id: k })
  })
})

test('tampering: an event of another session is named', async () => {
  const other = openMemoryRunelog(hostPorts)
  accepted(await other.append({ session_id: 'ses_2', runes: [created('ses_2')] }))
  const [foreign] = await Array.fromAsync(other.records('ses_2'))
  expect(firstBad([foreign as StoredRecord])).toMatchObject({ event_id: 1, problem: expect.stringContaining('ses_2') })
})

test('truncate: found against a mark, and only then', () => {
  each((k) => {
    expect(firstBad(log.slice(0, k))).toBeUndefined()
    const bad = k < (marked.at(-1) ?? 0) ? { event_id: k + 1 } : undefined
    const found = firstBad(log.slice(0, k), marks)
    if (bad === undefined) expect(found).toBeUndefined()
    else expect(found).toMatchObject(bad)
  })
})

test('re-chain: found at the first mark after the change, and only then', () => {
  each((k) => {
    const changed = rechained(put(k, { payload: at(k).payload.replace('piece', 'PIECE') }), k)
    expect(firstBad(changed)).toBeUndefined()
    const mark = marked.find((event_id) => event_id >= k)
    if (mark === undefined) expect(firstBad(changed, marks)).toBeUndefined()
    else expect(firstBad(changed, marks)).toMatchObject({ event_id: mark })
  })
})

describe('tampering: redaction', () => {
  test('an erasure without a record is found', () => {
    each((k) => {
      if (k === size) return
      expect(firstBad(put(k, { salt: null, payload: '{}' }))).toMatchObject({
        event_id: k,
        problem: expect.stringContaining('erased'),
      })
    })
  })

  test('the marker that a redaction left cannot be changed', () => {
    expect(at(7).salt).toBeNull()
    expect(firstBad(put(7, { payload: '{"content":"forged"}' }))).toMatchObject({ event_id: 7 })
  })

  test('a redacted payload cannot be restored', () => {
    const salt = '00'.repeat(16)
    expect(firstBad(put(7, { salt }))).toMatchObject({ event_id: 7 })
  })
})
