import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { hostPorts } from '../../src/adapters/host/ports.ts'
import { canonicalJson } from '../../src/kernel/json.ts'
import { startFold } from '../../src/runelog/judge.ts'
import { allModels, selectRows } from '../../src/runelog/models.ts'
import type { Row } from '../../src/runelog/port.ts'
import { createBundleVerifier } from '../../src/runes/bundle.ts'
import { erasedPayload } from '../../src/runes/erasure.ts'
import { payloadProblem } from '../../src/runes/kinds.ts'
import { genesis, runesOf, type StoredRecord } from '../../src/runes/record.ts'
import { type Rune, schemaVersion, upcast } from '../../src/runes/rune.ts'
import { createVerifier } from '../../src/runes/verify.ts'
import { verifierPorts } from '../support/verifier.ts'

/**
 * Logs as released versions wrote them. Each stays verifiable for ever; add bundles, never change one. The rows are the
 * result of the present version of each read model: states and versions in them never change.
 */
const golden = [
  {
    name: 'runelog-1',
    format: 1,
    records: 86,
    events: 86,
    key: 'eec860a59467ddd4807aa398be014f86127b866cad0d7eaf1cab85a864da520a',
  },
  {
    name: 'runelog-2',
    format: 2,
    records: 54,
    events: 93,
    key: '60adbaec84442ed54527dcb2348ae02d0edbed8768efceae8ee51a778a106fff',
  },
]

const fileOf = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8')
const linesIn = (name: string) => fileOf(`${name}.bundle.ndjson`).trimEnd().split('\n')

type FirstHeader = Pick<Rune, 'kind' | 'schema_version' | 'event_id'>

/** The record of 0.1: one rune, with a header of its own. One kind has lost its field since. */
function firstRune({ header, payload }: StoredRecord) {
  const { kind, schema_version, event_id } = JSON.parse(header) as FirstHeader
  const content = kind === 'tool.moved' ? {} : JSON.parse(payload)
  return { event_id, kind, payload: upcast(kind, schema_version, content) }
}

describe.each(golden)('golden log $name: stored bytes', ({ name, format, records, events, key }) => {
  const lines = linesIn(name)
  const stored = lines.slice(1, -1).map((line) => JSON.parse(line) as StoredRecord)

  function judged(all: readonly string[]) {
    const verifier = createBundleVerifier({ ...verifierPorts, trusted: [key] })
    for (const line of all) verifier.take(line)
    return verifier.end()
  }

  test('verify', () => {
    expect(stored).toHaveLength(records)
    expect(judged(lines)).toMatchObject({ format, events, bad: undefined, redactions: [{ event_id: 5 }] })
  })

  test('verify no longer when a line is changed, gone or doubled', () => {
    for (const [i, line] of lines.entries()) {
      const changed = line.replace(/(?<=[0-9a-f]{20})[0-9a-f]/, (digit) => (digit === '0' ? '1' : '0'))
      expect(changed).not.toBe(line)
      // 0.1 did not sign the list of machines, which is in the first line.
      if (i > 0 || format > 1) expect(judged(lines.with(i, changed)).bad, `changed ${i}`).toBeDefined()
      expect(judged(lines.toSpliced(i, 1)).bad, `gone ${i}`).toBeDefined()
      expect(judged(lines.toSpliced(i, 0, line)).bad, `doubled ${i}`).toBeDefined()
    }
  })

  test('have, in every rune, the shape that its kind has today', () => {
    const runes = format === 1 ? stored.map(firstRune) : runesOf(stored, genesis)
    for (const { event_id, kind, payload } of runes)
      expect(payloadProblem(kind, payload), `event ${event_id}`).toBeUndefined()
    expect(new Set(runes.map((rune) => rune.kind)).size).toBeGreaterThan(50)
  })
})

test('golden log runelog-2: its records fold to the state they had', () => {
  const records = linesIn('runelog-2')
    .slice(1, -1)
    .map((line) => JSON.parse(line) as StoredRecord)
  const models = allModels()
  const folding = startFold(models, () => undefined)
  for (const rune of runesOf(records, genesis)) expect(folding.fold(rune)).toBeUndefined()
  const rows = Object.fromEntries(
    models.map((model) => {
      const own = folding.changes().flatMap((c) => (c.model === model.name && c.row !== undefined ? [c.row] : []))
      return [model.name, selectRows(own)]
    }),
  )
  expect(rows).toEqual(JSON.parse(fileOf('runelog-2.rows.golden.json')) as Record<string, readonly Row[]>)
  for (const [model, found] of Object.entries(rows)) expect(found.length, model).toBeGreaterThan(0)
})

test('golden log runelog-1: any of its payloads can have been redacted by 0.1', () => {
  const records = linesIn('runelog-1')
    .slice(1, -1)
    .map((line) => JSON.parse(line) as StoredRecord)
  const last = records.at(-1) as StoredRecord
  const { sha256 } = hostPorts
  for (const record of records) {
    const { kind, schema_version } = JSON.parse(record.header) as FirstHeader
    if (record.salt === null || kind === 'rune.redacted' || schema_version !== schemaVersion(kind)) continue
    const content = JSON.parse(record.payload)
    const payload = canonicalJson(kind === 'tool.moved' ? content : erasedPayload(kind, content))
    const reason = { event_id: record.event_id, reason: 'r', remains_sha256: sha256(payload) }
    const [text, salt] = [canonicalJson(reason), 'ab'.repeat(16)]
    const event_id = last.event_id + 1
    const payload_sha256 = sha256(salt + text)
    const header = canonicalJson({
      ...{ actor: 'human', actor_category: 'human', at: 1, event_id, kind: 'rune.redacted', payload_sha256 },
      ...{ rune_id: 'rune_1', schema_version: 1, session_id: 'ses_golden', visibility: 'public' },
    })
    const voucher = { event_id, header, payload: text, salt, hash: sha256(last.hash + header) }
    const judge = (erased: string) => {
      const all = [
        ...records.map((each) => (each === record ? { ...record, payload: erased, salt: null } : each)),
        voucher,
      ]
      const verifier = createVerifier('ses_golden', { ...verifierPorts, format: 1 })
      for (const each of all) {
        const bad = verifier.take(each)
        if (bad !== undefined) return bad
      }
      return verifier.end()
    }
    expect(judge(payload), kind).toBeUndefined()
    expect(judge('{"content":"forged","more":1}'), kind).toMatchObject({ event_id: record.event_id })
  }
})
