import { expect, test } from 'vitest'
import { hostPorts } from '../../src/adapters/host/ports.ts'
import { partsText } from '../../src/kernel/digest.ts'
import { emptyPayload, genesis, hashedTexts, linesOf, link, payloadDigest, runesOf } from '../../src/runes/record.ts'
import { signRedaction } from '../../src/runes/redaction.ts'
import { ourVerdict, own, written } from '../support/random-bundles.ts'
import { changedBundle, digests, pageBundle, pageChanges, pageKey } from '../support/record-format-page.ts'

const { sha256 } = hostPorts
const [head = '', ...rest] = pageBundle.trimEnd().split('\n')
const records = rest.slice(0, -1).map((line) => JSON.parse(line))

test('record-format.md: its digests are those of the product', () => {
  expect(digests.map((digest) => ({ ...digest, sha256: sha256(digest.text) }))).toEqual(digests)
  const salt = '00112233445566778899aabbccddeeff'
  expect(digests.map(({ text }) => text)).toEqual([
    partsText('payload', ['', '']),
    hashedTexts.payload(salt, '{"a":"é"}'),
    hashedTexts.remains('{"content":"[redacted]"}'),
    hashedTexts.commit(genesis, records[0].header),
  ])
  expect(payloadDigest(salt, '{"a":"é"}', sha256)).toBe(digests[1]?.sha256)
  expect(link(genesis, records[0].header, sha256)).toBe(digests[3]?.sha256)
})

test('record-format.md: its bundle is the one that the product writes, and verifies', async () => {
  expect(pageKey).toBe(own.public_key)
  expect(
    written({ head: JSON.parse(head), records, signer: own })
      .split('\n')
      .slice(0, -2),
  ).toEqual([head, ...rest.slice(0, -1)])
  expect(await ourVerdict(Buffer.from(pageBundle), [pageKey])).toEqual({ bad: undefined, said: '5 events' })
  expect(await ourVerdict(Buffer.from(pageBundle.trimEnd()), undefined)).toMatchObject({ bad: undefined })
  const runes = runesOf(records, genesis)
  expect(runes.map(({ event_id, kind, redacted = false }) => [event_id, kind, redacted])).toEqual([
    [1, 'session.created', false],
    [2, 'contract.opened', false],
    [3, 'contract.moved', false],
    [4, 'turn.assistant_delta', true],
    [5, 'rune.redacted', false],
  ])
  expect(linesOf(records[1].payload)[1]).toBe(emptyPayload)
  expect(runes[3]).not.toHaveProperty('call_id')
  const { reason, remains_sha256, blobs, redacted_by, public_key, signature } = JSON.parse(records[2].payload)
  const about = { session_id: 'ses_1', event_id: 4, hash: records[1].hash, at: runes[4]?.at ?? 0 }
  const statement = { ...about, reason, remains_sha256, blobs, redacted_by }
  expect(signRedaction(statement, own)).toMatchObject({ public_key, signature })
})

test.each(pageChanges)('record-format.md: $from in place of $to is found at event $event_id', async (change) => {
  expect(pageBundle).toContain(change.from)
  expect((await ourVerdict(changedBundle(change), [pageKey])).bad).toBe(change.event_id)
})

test('record-format.md: every field of its bundle is covered by one of the changes or more', () => {
  expect(pageChanges.length).toBeGreaterThanOrEqual(11)
  expect(new Set(pageChanges.map(({ event_id }) => event_id))).toEqual(new Set([0, 1, 2, 3, 4, 5]))
})
