import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { hostPorts } from '../../../src/adapters/host/ports.ts'
import { accepted } from '../../../src/faults/catalogue.ts'
import { openMemoryRunelog } from '../../../src/runelog/memory.ts'
import { linesOf, link, type Mark, type StoredRecord } from '../../../src/runes/record.ts'
import type { BadEvent } from '../../../src/runes/verify.ts'
import { created, move, opening, plain } from '../../support/drafts.ts'
import { commitOf, piecesOf, relinked, withLine } from '../../support/records.ts'
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
  const before = records.slice(0, from - 1)
  return [...before, ...relinked(records.slice(from - 1), before.at(-1)?.hash)]
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
    for (const text of [
      reordered,
      header.replace('{', '{ '),
      header.replace('{', '{"actor":"human",').replace('"kind"', '"actor":"human","kind"'),
    ]) {
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
      expect(firstBad(put(k, { salt: '', payload: '{}' }))).toMatchObject({
        event_id: k,
        problem: expect.stringContaining('erased'),
      })
    })
  })

  test('the marker that a redaction left cannot be changed', () => {
    expect(at(7).salt).toBe('')
    expect(firstBad(put(7, { payload: '{"content":"forged"}' }))).toMatchObject({ event_id: 7 })
  })

  test('a redacted payload cannot be restored', () => {
    const salt = '00'.repeat(16)
    expect(firstBad(put(7, { salt }))).toMatchObject({ event_id: 7 })
  })
})

describe('tampering: a commit of several events', () => {
  /** Commits of events 1, 2 to 5 (of which 4 has an empty payload), 6 to 8, and 9. */
  let commits: readonly StoredRecord[]
  const commit = () => commits[1] as StoredRecord
  const changed = (change: Partial<StoredRecord>) => commits.with(1, { ...commit(), ...change })

  beforeAll(async () => {
    const runelog = openMemoryRunelog(hostPorts)
    const begun = [opening('contract', 'exe_1'), move('contract', 'exe_1', ['pending', 'start'])]
    const pieces = (from: number, to: number) =>
      Array.from(
        { length: to - from + 1 },
        (_, i) =>
          begun[from + i - 3] ?? plain('turn.assistant_delta', { content: `piece ${from + i}`, offset: from + i }),
      )
    accepted(await runelog.append({ session_id: 'ses_1', runes: [created('ses_1')] }))
    for (const [from, to] of [
      [2, 5],
      [6, 8],
      [9, 9],
    ] as const)
      accepted(await runelog.append({ session_id: 'ses_1', runes: pieces(from, to) }))
    commits = await Array.fromAsync(runelog.records('ses_1'))
  })

  test('it verifies, and its fourth payload needs no salt', () => {
    expect(commits.map(({ event_id }) => event_id)).toEqual([1, 5, 8, 9])
    expect(linesOf(commit().salt).map((salt) => salt.length)).toEqual([32, 32, 0, 32])
    expect(linesOf(commit().payload)[2]).toBe('{}')
    expect(firstBad(commits)).toBeUndefined()
  })

  test('any flipped bit of a payload or a salt is found at its event, and one of the header or hash at the first', () => {
    for (const field of ['header', 'payload', 'hash', 'salt'] as const) {
      const text = commit()[field]
      for (let i = 0; i < text.length; i++)
        for (const bit of [1, 2, 4, 8, 16, 32, 64]) {
          const flipped = text.slice(0, i) + String.fromCharCode(text.charCodeAt(i) ^ bit) + text.slice(i + 1)
          const isLine = (field === 'payload' || field === 'salt') && linesOf(flipped).length === 4
          const event_id = isLine ? 1 + linesOf(text.slice(0, i + 1)).length : 2
          expect(firstBad(changed({ [field]: flipped })), `${field} ${i} ${bit}`).toMatchObject({ event_id })
        }
    }
  })

  test('every line that is dropped, doubled, emptied or moved is found', () => {
    for (const field of ['payload', 'salt'] as const) {
      const lines = linesOf(commit()[field])
      for (const [i, line] of lines.entries()) {
        const put = (all: readonly string[]) => firstBad(changed({ [field]: all.join('\n') }))
        expect(put(lines.toSpliced(i, 1)), `${field} ${i} dropped`).toMatchObject({ event_id: 2 })
        expect(put(lines.toSpliced(i, 0, line)), `${field} ${i} doubled`).toMatchObject({ event_id: 2 })
        if (line !== '') expect(put(lines.with(i, '')), `${field} ${i} emptied`).toMatchObject({ event_id: 2 + i })
        for (let j = i + 1; j < lines.length; j++) {
          // A rune that gets an empty salt may have been redacted. That it was not shows later than the salt of the other.
          const event_id = field === 'salt' && lines[j] === '' ? 2 + j : 2 + i
          const swapped = lines.with(i, lines[j] ?? '').with(j, line)
          expect(put(swapped), `${field} ${i} ${j}`).toMatchObject({ event_id })
        }
      }
    }
  })

  test('an event that is dropped, doubled or moved within it is found at its first event', () => {
    const pieces = piecesOf([commit()])
    const put = (all: typeof pieces) => firstBad(commits.with(1, { ...commitOf(all, 2), hash: commit().hash }))
    for (const [i, piece] of pieces.entries()) {
      expect(put(pieces.toSpliced(i, 1)), `${i} dropped`).toMatchObject({ event_id: 2 })
      expect(put(pieces.toSpliced(i, 0, piece)), `${i} doubled`).toMatchObject({ event_id: 2 })
      for (let j = i + 1; j < pieces.length; j++)
        expect(put(pieces.with(i, pieces[j] ?? piece).with(j, piece)), `${i} ${j}`).toMatchObject({ event_id: 2 })
    }
  })

  test('a commit that is divided or joined with the next is found, and against a mark if it was hashed again', () => {
    const [pieces, next] = [piecesOf([commit()]), piecesOf([commits[2] as StoredRecord])]
    const divided = [commitOf(pieces.slice(0, 2), 2), commitOf(pieces.slice(2), 4)]
    const joined = commitOf([...pieces, ...next], 2)
    const mark = { event_id: 5, hash: commit().hash }
    for (const other of [commits.toSpliced(1, 1, ...divided), commits.toSpliced(1, 2, joined)]) {
      expect(firstBad(other)).toMatchObject({ event_id: 2 })
      expect(firstBad(relinked(other))).toBeUndefined()
      expect(firstBad(relinked(other), [mark])).toMatchObject({ event_id: 5 })
    }
  })

  test('a mark within a commit is never met', () => {
    for (const event_id of [2, 3, 4])
      expect(firstBad(commits, [{ event_id, hash: commit().hash }])).toMatchObject({ event_id })
    expect(firstBad(commits, [{ event_id: 5, hash: commit().hash }])).toBeUndefined()
  })

  test('an erasure of one of its events without a record is found there', () => {
    for (const i of [0, 1, 3]) {
      const payload = withLine(commit().payload, i, () => '{"channel":"[redacted]","content":"[redacted]"}')
      const salt = withLine(commit().salt, i, () => '')
      expect(firstBad(changed({ payload, salt }))).toMatchObject({ event_id: 2 + i })
    }
  })
})
