import { expect, onTestFinished, test } from 'vitest'
import { hostPorts } from '../../src/adapters/host/ports.ts'
import { readGuardsAgain } from '../../src/observation/readings.ts'
import { isErased } from '../../src/runes/erasure.ts'
import type { Rune } from '../../src/runes/rune.ts'
import { createVerifier } from '../../src/runes/verify.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import { say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { chosen, form, formWithDefault } from '../scenarios/props.ts'
import { asking, planWorld, whereTo } from '../support/plans.ts'
import { type Piece, piecesOf, rehashed } from '../support/records.ts'
import { createWorld } from '../support/world.ts'

const { sha256 } = hostPorts

/** The log of a run that asked, was answered and ended, in a session that was paused and resumed before. */
async function played() {
  const main = agent({ role: 'main', model: scriptedModel([form, say('Done.')]) })
  const world = await createWorld({ agents: { main } })
  onTestFinished(() => world.end())
  const { sessionId } = await world.sw.sessions.create({ agent: 'main' })
  const run = await world.sw.runs.start({ agent: 'main', input: 'Go.', sessionId })
  await world.sw.idle()
  await world.sw.sessions.pause(sessionId)
  await world.sw.sessions.resume(sessionId)
  const [question] = await world.sw.inbox.list()
  await world.sw.inbox.answer(question?.interaction_id ?? '', chosen)
  expect(await run.result()).toMatchObject({ status: 'succeeded' })
  return { sessionId, log: piecesOf(await Array.fromAsync(world.sw.runelog.records(sessionId))) }
}

/** An attacker with the database and without the key changes the log, and hashes all of it again. */
function verified(session_id: string, pieces: readonly Piece[]) {
  const ports = { sha256, check: () => true, isErased, trusted: undefined, readAgain: readGuardsAgain }
  const { take, end } = createVerifier(session_id, ports)
  for (const record of rehashed(pieces)) {
    const bad = take(record)
    if (bad !== undefined) return bad
  }
  return end()
}

const kindOf = ({ header }: Piece) => header.kind

test('audit: every reading of a log follows from the record before it', async () => {
  const { sessionId, log } = await played()
  expect(verified(sessionId, log)).toBeUndefined()
})

test('audit: a reading that the record contradicts is named, although it says that it holds', async () => {
  const { sessionId, log } = await played()
  const resumed = log.findIndex((record) => kindOf(record) === 'session.resumed')
  const paused = log[resumed - 1] as Piece
  const starts = log.findIndex(({ header }) => header.guards?.some(({ guard }) => guard === 'session_is_active'))
  expect(kindOf(paused)).toBe('session.paused')
  expect(starts).toBeLessThan(resumed)
  // WHEN the pause comes to stand before the move that read an active session
  const others = log.filter((record) => record !== paused)
  expect(verified(sessionId, others.toSpliced(starts, 0, paused))).toEqual({
    event_id: starts + 2,
    problem:
      'its guard session_is_active did not hold: it read "The session is active.", and the record says "The session is paused."',
  })
})

test('audit: a submission whose mode was changed contradicts the question that was asked', async () => {
  const { sessionId, log } = await played()
  const submitted = log.findIndex((record) => kindOf(record) === 'run.submitted')
  const record = log[submitted] as Piece
  const payload = record.payload.replace('"mode":"interactive"', '"mode":"auto"')
  expect(payload).not.toBe(record.payload)
  expect(verified(sessionId, log.with(submitted, { ...record, payload }))?.problem).toMatch(
    /^its guard mode_is_interactive did not hold/,
  )
})

test('audit: a move of a plan has the reasons of its tape, and a tape that says otherwise is named', async () => {
  const world = await planWorld()
  onTestFinished(() => world.end())
  const { session_id, waits_for } = await world.sw.plans.submit(asking(whereTo))
  expect(waits_for).toBeDefined()
  const log = piecesOf(await Array.fromAsync(world.sw.runelog.records(session_id)))
  const moves = (await world.runes(session_id)).filter(
    (rune) => rune.kind === 'coordination.moved' && rune.guards !== undefined,
  ) as Rune<'coordination.moved'>[]
  expect(moves.length).toBeGreaterThan(3)
  for (const { guards = [], payload } of moves)
    for (const { guard, because } of guards)
      expect(payload.guards.find(({ guard_name }) => guard_name === guard)?.reason).toBe(because)

  const { event_id = 0 } = moves[1] ?? {}
  const record = log[event_id - 1] as Piece
  const payload = record.payload.replace('"passed":true', '"passed":false')
  expect(verified(session_id, log.with(event_id - 1, { ...record, payload }))).toEqual({
    event_id,
    problem: expect.stringMatching(/^its guard \w+ did not hold/),
  })
})

test('audit: a payload of another shape than its kind is named, and nothing is thrown', async () => {
  const { sessionId, log } = await played()
  const submitted = log.findIndex((record) => kindOf(record) === 'run.submitted')
  const record = log[submitted] as Piece
  const problem = 'its payload has another shape than its kind.'
  expect(verified(sessionId, log.with(submitted, { ...record, payload: 'null' }))).toEqual({
    event_id: submitted + 1,
    problem,
  })
  for (const payload of ['7', '"x"', '[]', '{}'])
    expect(verified(sessionId, log.with(submitted, { ...record, payload }))?.event_id).toBeGreaterThan(submitted)
})

test('audit: whatever was erased, no honest log is called damaged', async () => {
  // GIVEN two runs, of which one asked and was left without an answer until its deadline
  const main = agent({ role: 'main', model: scriptedModel([form, say('Done.'), formWithDefault, say('As usual.')]) })
  const world = await createWorld({ agents: { main }, settings: { replyTimeoutMs: 60_000 } })
  onTestFinished(() => world.end())
  const { sw, hand } = world
  const run = await sw.runs.start({ agent: 'main', input: 'Go.' })
  const { sessionId } = run
  await sw.idle()
  const [question] = await sw.inbox.list()
  await sw.inbox.answer(question?.interaction_id ?? '', chosen)
  await run.result()
  const silent = { agent: 'main', input: 'Go on.', sessionId, interactiveRequireUserReply: false }
  const left = await sw.runs.start(silent)
  await sw.idle()
  await hand.advance(60_000)
  expect(await left.result()).toMatchObject({ status: 'succeeded' })
  const runes = await world.runes(sessionId)
  expect(runes.some(({ kind }) => kind === 'interaction.expired')).toBe(true)

  // WHEN one event after the other is erased, THEN the log verifies each time
  let erased = 0
  for (const { event_id } of runes) {
    await sw.sessions.redact(sessionId, event_id, 'asked for').then(
      () => (erased += 1),
      () => {},
    )
    const log = await Array.fromAsync(sw.runelog.records(sessionId))
    const ports = { sha256, check: () => true, isErased, trusted: undefined, readAgain: readGuardsAgain }
    const { take } = createVerifier(sessionId, ports)
    expect(log.map(take).find((bad) => bad !== undefined)).toBeUndefined()
  }
  expect(erased).toBeGreaterThan(20)
})
