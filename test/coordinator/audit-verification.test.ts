import { expect, test } from 'vitest'
import { idOf } from '../../src/coordinator/checksum.ts'
import { coordinate } from '../../src/coordinator/coordinate.ts'
import { digests, type FrozenFiles, freeze, statementOf } from '../../src/coordinator/outputs/freeze.ts'
import { markdownOf } from '../../src/coordinator/outputs/markdown.ts'
import { verifyPlan } from '../../src/coordinator/outputs/verify.ts'
import type { AuditEntry, AuditLog } from '../../src/coordinator/schemas/record.ts'
import { canonicalJson, type Json } from '../../src/kernel/json.ts'
import { inputOf, intentOf, openQuestion, ports } from '../support/coordinator.ts'

const input = inputOf({ intent: intentOf((i) => ({ ...i, open_questions: [openQuestion('which')] })) })
const files = freeze(coordinate(input, [{ answer_pack: { not: 'a pack' } }, { timed_out: true }], ports), input, ports)

/** Rewrites a file, its page and the statement, as someone would who wants the change to go unseen. */
function rewritten(name: string, change: (value: never) => unknown): FrozenFiles {
  const value = change(JSON.parse(files[name] ?? '') as never) as Json
  const base = name.replace(/(_\d+)?\.json$/, '')
  const changed = { ...files, [name]: canonicalJson(value), [name.replace(/json$/, 'md')]: markdownOf(base, value) }
  const lineage = JSON.parse(changed['lineage.json'] ?? '')
  return { ...changed, 'statement.json': canonicalJson(statementOf(lineage, digests(changed, ports.sha256)) as never) }
}

const withEntries = (change: (entries: readonly AuditEntry[]) => readonly unknown[]) =>
  verifyPlan(
    rewritten('audit_log.json', (log: AuditLog) => ({ ...log, entries: change(log.entries) })),
    ports,
  )

const numbered = ({ log_id: _, ...entry }: AuditEntry, i: number) => {
  const body = { ...entry, sequence: i + 1 }
  return { log_id: idOf('log', body, ports.sha256), ...body }
}

test('F-52 audit log: the log that the Coordinator wrote verifies, and the tape names every entry', () => {
  expect(verifyPlan(files, ports)).toEqual([])
  expect(withEntries((entries) => entries)).toEqual([])
  // The refused answers moved nothing; they are named by the move after them.
  const { entries } = JSON.parse(files['audit_log.json'] ?? '') as AuditLog
  expect(entries.filter(({ message }) => message.startsWith('Refused'))).toHaveLength(1)
})

const damages: Readonly<Record<string, (entries: readonly AuditEntry[]) => readonly unknown[]>> = {
  'an entry removed from the middle': (entries) => entries.toSpliced(3, 1),
  'the last entry removed': (entries) => entries.slice(0, -1),
  'the first entry removed': (entries) => entries.slice(1),
  'entries removed and the rest numbered again': (entries) =>
    entries.toSpliced(3, 2).map((e, i) => ({ ...e, sequence: i + 1 })),
  'entries removed, numbered again, with new ids': (entries) => entries.toSpliced(3, 2).map(numbered),
  'all entries removed': () => [],
  'a message changed': (entries) => entries.with(2, { ...(entries[2] as AuditEntry), message: 'All is well.' }),
  'a severity changed, with a new id': (entries) =>
    entries.map((entry, i) => (i === 2 ? numbered({ ...entry, severity: 'critical' }, i) : entry)),
  'two entries exchanged': (entries) => [entries[1], entries[0], ...entries.slice(2)],
  'an entry repeated': (entries) => [...entries, entries[0]],
  'an entry made up': (entries) => [...entries, numbered(entries[0] as AuditEntry, entries.length)],
}

test.each(Object.keys(damages))('F-52 audit log: %s is found, although the statement was rewritten', (name) => {
  const problems = withEntries(damages[name] ?? ((entries) => entries))
  expect(problems.length).toBeGreaterThan(0)
  expect(problems.every(({ file }) => file === 'audit_log.json')).toBe(true)
})

test.each([
  ['precheck_report.json', 'report_id'],
  ['context_bundle.json', 'bundle_id'],
  ['rule_decisions_1.json', 'decisions_id'],
  ['risk_assessment_1.json', 'assessment_id'],
  ['question_pack_1.json', 'pack_id'],
  ['execution_graph.json', 'graph_id'],
  ['execution_graph_draft_1.json', 'graph_id'],
  ['review_pack.json', 'pack_id'],
])('F-52 ids: %s with another %s does not verify, and the id that its content gives is named', (file, field) => {
  const problems = verifyPlan(
    rewritten(file, (value: Record<string, string>) => ({
      ...value,
      [field]: value[field]?.replace(/.$/, (c) => (c === '0' ? '1' : '0')),
    })),
    ports,
  )
  expect(problems).toContainEqual({ file, check: 'lineage', message: expect.stringMatching(/its content gives/) })
})

test('F-52 ids: a file called like a member of every object is a stranger, not a crash', () => {
  for (const name of ['constructor.json', '__proto__.json', 'toString_1.json'])
    expect(verifyPlan({ ...files, [name]: '{}' }, ports)).toContainEqual(
      expect.objectContaining({ file: name, message: 'No coordination leaves a file of this name.' }),
    )
})
