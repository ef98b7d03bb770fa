import { expect, onTestFinished, test } from 'vitest'
import { hostPorts } from '../../src/adapters/host/ports.ts'
import { canonicalJson } from '../../src/kernel/json.ts'
import { readGuardsAgain } from '../../src/observation/readings.ts'
import { genesis, link, type StoredRecord } from '../../src/runes/rune.ts'
import { createVerifier } from '../../src/runes/verify.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { chosen, form, refund } from '../scenarios/props.ts'
import { createWorld } from '../support/world.ts'

const { sha256 } = hostPorts

/** The log of a closed session in which a form was answered, and an irreversible call was approved and ran. */
async function played() {
  const model = scriptedModel([form, call('payments.refund', { order: 'A-7' }), say('Done.')])
  const main = agent({ role: 'main', model, tools: [refund().tool] })
  const world = await createWorld({ agents: { main } })
  onTestFinished(() => world.end())
  const { sw } = world
  const run = await sw.runs.start({ agent: 'main', input: 'Go.' })
  const { sessionId } = run
  await sw.idle()
  const [asked] = await sw.inbox.list()
  await sw.inbox.answer(asked?.interaction_id ?? '', chosen)
  await sw.idle()
  const [approval] = await sw.inbox.list()
  await sw.inbox.approve(approval?.interaction_id ?? '')
  expect(await run.result()).toMatchObject({ status: 'succeeded' })
  await sw.sessions.close(sessionId)
  return { sessionId, log: await Array.fromAsync(sw.runelog.records(sessionId)) }
}

/** The first thing that is wrong with the records, numbered and hashed again by someone who has no key. */
function firstBad(session_id: string, records: readonly StoredRecord[]) {
  const ports = { sha256, check: () => true, trusted: undefined, readAgain: readGuardsAgain }
  const { take, end } = createVerifier(session_id, ports)
  let before = genesis
  for (const [i, record] of records.entries()) {
    const header = canonicalJson({ ...JSON.parse(record.header), event_id: i + 1 })
    before = link(before, header, sha256)
    const bad = take({ ...record, event_id: i + 1, header, hash: before })
    if (bad !== undefined) return bad
  }
  return end()
}

const headerOf = ({ header }: StoredRecord) => JSON.parse(header) as { kind: string; subject_id?: string; to?: string }
const nameOf = (record: StoredRecord) => {
  const { kind, to } = headerOf(record)
  return to === undefined ? kind : `${kind} to ${to}`
}

/** A note says what a move did, and moves nothing. The last move may be missing: only a checkpoint shows that a log was longer. */
const notes = ['memory.committed', 'memory.committed']

test('audit: a rune that was taken out of a log is missed', async () => {
  const { sessionId, log } = await played()
  expect(firstBad(sessionId, log)).toBeUndefined()
  const unmissed = log.filter(
    (record) =>
      firstBad(
        sessionId,
        log.filter((other) => other !== record),
      ) === undefined,
  )
  expect(unmissed.map(nameOf)).toEqual([...notes, 'session.closed to closed'])
})

test('audit: a rune that stands in a log twice is named', async () => {
  const { sessionId, log } = await played()
  const unnoticed = log.filter((record, i) => firstBad(sessionId, log.toSpliced(i, 0, record)) === undefined)
  expect(unnoticed.map(nameOf)).toEqual(notes)
})

test('audit: two moves of one subject that changed places are named', async () => {
  const { sessionId, log } = await played()
  let swapped = 0
  for (const [i, record] of log.entries()) {
    const { subject_id } = headerOf(record)
    const next = log.findIndex((other, j) => j > i && headerOf(other).subject_id === subject_id)
    if (subject_id === undefined || next < 0) continue
    swapped += 1
    const other = log[next] as StoredRecord
    expect(firstBad(sessionId, log.with(i, other).with(next, record)), nameOf(record)).toBeDefined()
  }
  expect(swapped).toBeGreaterThan(20)
})
