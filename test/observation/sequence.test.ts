import { expect, onTestFinished, test } from 'vitest'
import { verifyBundle } from '../../console/audit/verify-bundle.ts'
import { hostPorts } from '../../src/adapters/host/ports.ts'
import { isTerminal } from '../../src/kernel/machine.ts'
import { couplings } from '../../src/machines/couplings.ts'
import { runMachine } from '../../src/machines/run.ts'
import { readGuardsAgain } from '../../src/observation/readings.ts'
import type { Recorded } from '../../src/observation/sequence.ts'
import { bundleHeader, headerLine, recordLine } from '../../src/runes/bundle.ts'
import { isErased } from '../../src/runes/erasure.ts'
import { createVerifier } from '../../src/runes/verify.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { chosen, form, refund } from '../scenarios/props.ts'
import { auditRunes } from '../support/audit-runes.ts'
import { type Piece, piecesOf, rehashed } from '../support/records.ts'
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
  return { sessionId, log: piecesOf(await Array.fromAsync(sw.runelog.records(sessionId))) }
}

/** The first thing that is wrong with the runes once they are hashed again. */
function firstBad(session_id: string, pieces: readonly Piece[]) {
  const ports = { sha256, check: () => true, isErased, trusted: undefined, readAgain: readGuardsAgain }
  const { take, end } = createVerifier(session_id, ports)
  for (const record of rehashed(pieces)) {
    const bad = take(record)
    if (bad !== undefined) return bad
  }
  return end()
}

const nameOf = ({ header: { kind, to } }: Piece) => (to === undefined ? kind : `${kind} to ${to}`)

/** A note says what a move did, and moves nothing. The last move may be missing: only a checkpoint shows that a log was longer. */
const notes = ['memory.committed', 'memory.committed']

test('audit: a rune that was taken out of a log is missed', async () => {
  const { sessionId, log } = await played()
  expect(firstBad(sessionId, log)).toBeUndefined()
  const unmissed = log.filter((_, i) => firstBad(sessionId, log.toSpliced(i, 1)) === undefined)
  expect(unmissed.map(nameOf)).toEqual([...notes, 'session.closed to closed'])
})

test('audit: a rune that stands in a log twice is named', async () => {
  const { sessionId, log } = await played()
  const unnoticed = log.filter((piece, i) => firstBad(sessionId, log.toSpliced(i, 0, piece)) === undefined)
  expect(unnoticed.map(nameOf)).toEqual(notes)
})

test('audit: two moves of one subject that changed places are named', async () => {
  const { sessionId, log } = await played()
  let swapped = 0
  for (const [i, piece] of log.entries()) {
    const { subject_id } = piece.header
    const next = log.findIndex(({ header }, j) => j > i && header.subject_id === subject_id)
    if (subject_id === undefined || next < 0) continue
    swapped += 1
    const other = log[next] as Piece
    expect(firstBad(sessionId, log.with(i, other).with(next, piece)), nameOf(piece)).toBeDefined()
  }
  expect(swapped).toBeGreaterThan(20)
})

test('audit: the browser finds in a bundle what the command line finds', async () => {
  const { sessionId, log } = await played()
  const approved = log.findIndex((piece) => nameOf(piece) === 'tool.approved to executing')
  async function* bundle(pieces: readonly Piece[]) {
    yield headerLine(bundleHeader(sessionId, {}))
    yield* rehashed(pieces).map(recordLine)
  }
  const damaged = log.toSpliced(approved, 1)
  const { bad } = await verifyBundle(bundle(damaged), () => {})
  expect(bad).toEqual(firstBad(sessionId, damaged))
  // A bundle without its checkpoint is incomplete, and nothing before that is wrong.
  expect((await verifyBundle(bundle(log), () => {})).bad?.event_id).toBe(log.length + 1)
})

/** The headers of a played log, as the check takes them; `at` finds the first of a name. */
async function headers() {
  const { sessionId, log } = await played()
  const runes: readonly Recorded[] = log.map(({ header }) => header)
  const at = (name: string) => {
    const place = log.findIndex((piece) => nameOf(piece) === name)
    if (place < 0) throw new Error(`There is no ${name}.`)
    return place
  }
  return { sessionId, runes, at }
}

type Played = Awaited<ReturnType<typeof headers>>
const subjectless = ({ machine: _m, subject_id: _s, from: _f, to: _t, trigger: _g, ...rest }: Recorded) =>
  rest as Recorded
const rune = ({ runes, at }: Played, name: string) => runes[at(name)] as Recorded

test.each<[string, (played: Played) => readonly Recorded[], RegExp]>([
  [
    'a move of a subject that nothing opened',
    ({ runes, at }) => runes.toSpliced(at('session.created to created'), 1),
    /session ses_\d+ moves, and nothing opened it/,
  ],
  [
    'an opening that happens twice',
    ({ runes, at }) =>
      runes.toSpliced(at('tool.call to pending_call') + 1, 0, runes[at('tool.call to pending_call')] as Recorded),
    /tool call_\d+ was opened before/,
  ],
  [
    'a move from where the subject is not',
    ({ runes, at }) => runes.toSpliced(at('tool.approval_requested to awaiting_approval'), 1),
    /it leaves awaiting_approval, but tool call_\d+ was pending_call/,
  ],
  [
    'a move without those that belong to it',
    ({ runes, at }) => runes.toSpliced(at('tool.approved to executing') + 1, 1),
    /the moves that belong to success are not all there|it leaves running, but contract exe_\d+ was waiting/,
  ],
  [
    'a reply that no one gave',
    ({ runes, at }) => runes.toSpliced(at('interaction.answered to answered'), 1),
    /run run_\d+: no question of it was answered/,
  ],
  [
    'a result of a call that was not made',
    (all) =>
      all.runes.toSpliced(
        all.at('turn.started to streaming') + 1,
        0,
        subjectless(rune(all, 'tool.result to completed_result')),
      ),
    /INV-TOOL-TERMINAL: call call_\d+ was not made/,
  ],
  [
    'two results of one call',
    (all) =>
      all.runes.toSpliced(
        all.at('tool.result to completed_result') + 1,
        0,
        subjectless(rune(all, 'tool.result to completed_result')),
      ),
    /INV-TOOL-TERMINAL: call call_\d+ .*has a result already/,
  ],
  [
    'a round that ended without the result of its call',
    ({ runes, at }) => runes.toSpliced(at('tool.result to completed_result'), 2),
    /INV-TOOL-TERMINAL: call_\d+ is under way or has no result/,
  ],
  [
    'a second turn of an agent that is in one',
    (all) => {
      const [taken, started] = [rune(all, 'run.moved to running'), rune(all, 'turn.started to streaming')]
      const other = { run_id: 'run_other' }
      const submitted = { ...rune(all, 'run.submitted to queued'), subject_id: 'run_other', ...other }
      const second = { ...started, subject_id: 'turn_other', turn_id: 'turn_other', ...other }
      const more = [submitted, { ...taken, subject_id: 'run_other', ...other }, second]
      return all.runes.toSpliced(all.at('turn.started to streaming') + 1, 0, ...more)
    },
    /INV-TURN-SEQUENTIAL: agent agt_\d+ began turn turn_other and was running_turn/,
  ],
  [
    'a session that is closed while an agent is not over',
    ({ runes, at }) => runes.toSpliced(at('agent.terminated to terminated'), 1),
    /session ses_\d+ is closed while agt_\d+ is not over/,
  ],
])('audit: %s is named', async (_, change, problem) => {
  const [first = ''] = auditRunes(change(await headers()))
  expect(first).toMatch(problem)
})

test('audit: sessions do not disturb each other', async () => {
  const { runes, sessionId } = await headers()
  const renamed = (rune: Recorded): Recorded => JSON.parse(JSON.stringify(rune).replaceAll(sessionId, 'ses_other'))
  expect(auditRunes(runes.flatMap((rune) => [rune, renamed(rune)]))).toEqual([])
})

test('couplings: a turn whose tools crash is never retried, since each row that has it ends the run', () => {
  const rows = Object.values(couplings.frames).map(({ moves }): readonly string[] => moves)
  const crashes = rows.filter((moves) => moves.includes('turn.tool_crash'))
  expect(crashes.length).toBeGreaterThan(1)
  for (const moves of crashes) {
    const trigger = moves.find((move) => move.startsWith('run.'))?.slice('run.'.length)
    const ends = runMachine.transitions.filter(({ on }) => on === trigger).map(({ to }) => to)
    expect(ends.length).toBeGreaterThan(0)
    for (const to of ends) expect(isTerminal(runMachine, to)).toBe(true)
  }
})
