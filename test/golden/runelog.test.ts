import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { hostPorts } from '../../src/adapters/host/ports.ts'
import { checkSignature } from '../../src/adapters/host/secret-files.ts'
import { startFold } from '../../src/runelog/judge.ts'
import { allModels, selectRows } from '../../src/runelog/models.ts'
import type { Row } from '../../src/runelog/port.ts'
import { createBundleVerifier } from '../../src/runes/bundle.ts'
import { payloadProblem } from '../../src/runes/kinds.ts'
import { type StoredRecord, toRune } from '../../src/runes/rune.ts'

/**
 * Logs as earlier versions wrote them. Each stays readable and verifiable for ever; add bundles, never change one. The
 * rows are what the present version of each read model makes of them: states and versions in them never change.
 */
const golden = [
  { name: 'runelog-1', format: 1, events: 86, key: 'eec860a59467ddd4807aa398be014f86127b866cad0d7eaf1cab85a864da520a' },
  { name: 'runelog-2', format: 2, events: 91, key: '8d4bb7bcfe59f541aabd251516c39d5d024e41c5eec4c5e3c809ef754e6cb13e' },
  { name: 'runelog-3', format: 3, events: 93, key: 'f123fe600c9d649613fd7046d6b64c13ad602a7f6f809a8782b2f51108c5bd64' },
]

describe.each(golden)('golden log $name: stored bytes', ({ name, format, events, key }) => {
  const file = (suffix: string) => readFileSync(new URL(`${name}.${suffix}`, import.meta.url), 'utf8')
  const lines = file('bundle.ndjson').trimEnd().split('\n')
  const runes = lines.slice(1, -1).map((line) => toRune(JSON.parse(line) as StoredRecord, ''))

  test('verify', () => {
    const verifier = createBundleVerifier({ sha256: hostPorts.sha256, check: checkSignature, trusted: [key] })
    for (const line of lines) verifier.take(line)
    expect(verifier.end()).toMatchObject({ format, events, bad: undefined, redactions: [{ event_id: 5 }] })
  })

  test('have, in every rune, the shape that its kind has today', () => {
    for (const { event_id, kind, payload } of runes)
      expect(payloadProblem(kind, payload), `event ${event_id}`).toBeUndefined()
    expect(new Set(runes.map((rune) => rune.kind)).size).toBeGreaterThan(50)
  })

  test('fold to the state they had', () => {
    const models = allModels()
    const folding = startFold(models, () => undefined)
    for (const rune of runes) expect(folding.fold(rune)).toBeUndefined()
    const rows = Object.fromEntries(
      models.map((model) => {
        const own = folding.changes().flatMap((c) => (c.model === model.name && c.row !== undefined ? [c.row] : []))
        return [model.name, selectRows(own)]
      }),
    )
    expect(rows).toEqual(JSON.parse(file('rows.golden.json')) as Record<string, readonly Row[]>)
    // These logs are from before requests were recorded.
    for (const [model, found] of Object.entries(rows).filter(([model]) => model !== 'requests'))
      expect(found.length, model).toBeGreaterThan(0)
  })
})
