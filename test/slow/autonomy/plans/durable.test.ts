import { generateKeyPairSync } from 'node:crypto'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { RunTape } from '../../../../src/coordinator/schemas/record.ts'
import type { Rune } from '../../../../src/runes/rune.ts'
import { inputOf, intentOf, openQuestion, policyWith } from '../../../support/coordinator.ts'
import {
  allAtOnce,
  asking,
  exampleIntent,
  exampleRegistry,
  forbidden,
  packFor,
  planWorld,
  whereTo,
} from '../../../support/plans.ts'
import { scenario } from '../../../support/scenario.ts'
import type { World } from '../../../support/world.ts'

let world: World
afterEach(() => world?.end())

const moves = (runes: readonly Rune[]) =>
  runes.flatMap((rune) => (rune.kind === 'coordination.moved' ? [`${rune.from} ${rune.to}`] : []))

describe('plans: in the log', () => {
  scenario('CO-22', 'Every move is a rune with its guards, its outputs, its time and its duration', async () => {
    // GIVEN a sound intent
    world = await planWorld()
    // WHEN it is submitted
    const view = await world.sw.plans.submit(inputOf())
    // THEN it is done, in a session of its own
    expect(view).toMatchObject({ state: 'DONE', intent_id: 'intent_rename_field', waits_for: null, failure: null })
    const runes = await world.runes(view.session_id)
    expect(runes.map(({ kind }) => kind)).toEqual([
      'session.created',
      'coordination.received',
      ...Array(8).fill('coordination.moved'),
      'coordination.frozen',
    ])
    expect(moves(runes).at(-1)).toBe('FROZEN_OUTPUTS DONE')
    // AND each move says what let it happen and what came of it
    for (const move of view.moves) expect(move).toMatchObject({ duration_ms: 0, at: world.hand.clock.now() })
    const { 'run_tape.json': tape = '' } = await world.sw.plans.files(view.coordination_id)
    const entries = (JSON.parse(tape) as RunTape).entries.slice(1)
    expect(view.moves.map(({ guards, outputs }) => ({ guards, outputs }))).toEqual(
      entries.map(({ guards_evaluated, outputs_produced }) => ({
        guards: guards_evaluated,
        outputs: outputs_produced,
      })),
    )
    // AND what it left behind is what the Coordinator makes of the same input, and verifies
    expect(await world.sw.plans.files(view.coordination_id)).toEqual(allAtOnce(inputOf()))
    expect(await world.sw.plans.verify(view.coordination_id)).toEqual([])
    expect(await world.sw.plans.list()).toMatchObject([{ coordination_id: view.coordination_id, state: 'DONE' }])
  })

  test('the duration of a move is on its rune and in no frozen file', async () => {
    world = await planWorld()
    const { clock } = world.hand
    let calls = 0
    const ticking = { ...clock, now: () => clock.now() + calls++ }
    await world.restart({ ports: { clock: ticking } } as never)
    const view = await world.sw.plans.submit(inputOf())
    expect(view.moves.every(({ duration_ms }) => duration_ms > 0)).toBe(true)
    expect(await world.sw.plans.files(view.coordination_id)).toEqual(allAtOnce(inputOf()))
  })

  test('F-50 durations: the time that a plan waited for its answers counts for the move that ends the wait', async () => {
    world = await planWorld({ store: 'sqlite' })
    const { coordination_id, submitted_at, waits_for } = await world.sw.plans.submit(asking(whereTo))
    await world.hand.advance(3_600_000)
    await world.restart()
    const answer_pack = packFor(waits_for?.question_pack, { target: 'staging' })
    const { moves } = await world.sw.plans.answer(coordination_id, { answerPack: answer_pack })
    const waited = moves.find(({ from }) => from === 'AWAITING_ANSWERS')
    expect(waited?.duration_ms).toBe(3_600_000)
    // Every duration is the time between two moves, so together they are the time since it was submitted.
    const last = moves.at(-1)?.at ?? 0
    expect(moves.reduce((sum, { duration_ms }) => sum + duration_ms, 0)).toBe(last - submitted_at)
    // The export contains them, and verifies.
    const folder = mkdtempSync(join(tmpdir(), 'statewright-journal-'))
    await world.sw.plans.export(coordination_id, folder)
    const { entries } = JSON.parse(readFileSync(join(folder, 'journal.json'), 'utf8'))
    expect(entries.slice(1)).toMatchObject(moves.map(({ at, duration_ms }) => ({ at, duration_ms })))
    rmSync(folder, { recursive: true })
  })

  scenario('CO-07', 'Questions are one interaction in the inbox, and wait across a restart', async () => {
    // GIVEN a plan that has to ask
    world = await planWorld({ store: 'sqlite' })
    const input = asking(whereTo, openQuestion('other'))
    const { coordination_id, state, waits_for } = await world.sw.plans.submit(input)
    expect(state).toBe('AWAITING_ANSWERS')
    expect(await world.sw.inbox.list()).toMatchObject([
      { interaction_id: waits_for?.interaction_id, interaction_kind: 'question_pack', coordination_id, run_id: null },
    ])
    // WHEN the process ends, and another one gets the answer
    await world.restart()
    const [open] = await world.sw.inbox.list()
    const answers = packFor(waits_for?.question_pack, { target: 'staging', other: 'go' })
    await world.sw.inbox.reply(open?.interaction_id ?? '', { reply: answers, repliedBy: 'ann' })
    await world.sw.idle()
    // THEN there is a plan, the same as if the answers had been there from the start
    expect((await world.sw.plans.show(coordination_id)).state).toBe('DONE')
    expect(await world.sw.inbox.list()).toEqual([])
    expect(await world.sw.plans.files(coordination_id)).toEqual(allAtOnce(input, [{ answer_pack: answers }]))
  })

  test('answers that do not fit are refused with every problem, and nothing is recorded', async () => {
    world = await planWorld()
    const { coordination_id, session_id, waits_for } = await world.sw.plans.submit(
      asking(whereTo, openQuestion('other')),
    )
    const before = (await world.runes(session_id)).length
    const pack = packFor(waits_for?.question_pack, { target: 'mars' }) as { answers: object[] }
    const unfit = {
      ...pack,
      answers: [...pack.answers, { question_id: 'q_x', answer_type: 'choice', provided_by: 'human' }],
    }
    await expect(world.sw.plans.answer(coordination_id, { answerPack: unfit as never })).rejects.toMatchObject({
      code: 'reply_unfit',
      details: {
        problems: [
          {
            pointer: '/answers/1/question_id',
            problem: expect.stringMatching(/^There is no open question "q_x"; there is target \(q_\w+\)/),
          },
          { problem: expect.stringContaining('takes production, staging, not mars') },
        ],
      },
    })
    expect(await world.runes(session_id)).toHaveLength(before)
  })

  scenario(
    'CO-07',
    'Without an answer in time the defaults stand; a question without one blocks the plan',
    async () => {
      // GIVEN two plans that ask, with a deadline; one of them has a question without a default
      world = await planWorld()
      const block = openQuestion('grave', { default_strategy: { action: 'block', explanation: 'A person decides.' } })
      const mild = await world.sw.plans.submit({ ...asking(whereTo), answerTimeoutMs: 60_000 })
      const grave = await world.sw.plans.submit({ ...asking(block), answerTimeoutMs: 60_000 })
      // WHEN the time passes
      await world.hand.advance(59_999)
      await world.sw.idle()
      expect(await world.sw.inbox.list()).toHaveLength(2)
      await world.hand.advance(1)
      await world.sw.idle()
      // THEN one has its plan, and the other says why it has none
      expect(await world.sw.inbox.list()).toEqual([])
      expect((await world.sw.plans.show(mild.coordination_id)).state).toBe('DONE')
      expect(await world.sw.plans.files(mild.coordination_id)).toEqual(
        allAtOnce(asking(whereTo), [{ timed_out: true }]),
      )
      expect(await world.sw.plans.show(grave.coordination_id)).toMatchObject({
        state: 'BLOCKED',
        failure: { cause: 'timed_out' },
      })
    },
  )

  test('a deadline holds across a restart, even a late one', async () => {
    world = await planWorld({ store: 'sqlite' })
    const { coordination_id } = await world.sw.plans.submit({ ...asking(whereTo), answerTimeoutMs: 60_000 })
    await world.sw.close()
    await world.hand.advance(3_600_000)
    await world.revive()
    await world.hand.advance(0)
    await world.sw.idle()
    expect((await world.sw.plans.show(coordination_id)).state).toBe('DONE')
  })

  scenario('CO-16', 'Answers against the rules ask again, three times; the fourth blocks', async () => {
    // GIVEN a plan whose question is answered against the rules, again and again
    world = await planWorld()
    let view = await world.sw.plans.submit(asking(whereTo))
    const asked: (string | undefined)[] = []
    for (let round = 1; round <= 4; round++) {
      expect(view).toMatchObject({ state: 'AWAITING_ANSWERS', waits_for: { question_pack: { round } } })
      asked.push(view.waits_for?.interaction_id)
      // WHEN it is answered once more
      view = await world.sw.plans.answer(view.coordination_id, {
        answerPack: packFor(view.waits_for?.question_pack, { target: 'production' }),
      })
    }
    // THEN each round was a question of its own, and the fourth conflict ends it with all of them listed
    expect(new Set(asked).size).toBe(4)
    expect(view).toMatchObject({ state: 'BLOCKED', failure: { cause: 'conflict_limit_reached' } })
    expect(view.failure?.problems).toHaveLength(4)
    expect(await world.sw.inbox.list()).toEqual([])
  })

  scenario(
    'CO-13',
    'ABORTED raises an alert: a rune, a line in the log, a notice that a person acknowledges',
    async () => {
      // GIVEN an intent over a red line
      world = await planWorld()
      // WHEN it is submitted
      const view = await world.sw.plans.submit(forbidden)
      // THEN it is aborted, and that is said in three places
      expect(view).toMatchObject({ state: 'ABORTED', failure: { failure_type: 'red_line_violation' } })
      const runes = await world.runes(view.session_id)
      expect(runes.filter(({ kind }) => kind === 'coordination.alerted')).toHaveLength(1)
      expect(world.warnings).toMatchObject([
        { message: 'a plan was aborted; a person has to look', details: { coordination_id: view.coordination_id } },
      ])
      const [notice] = await world.sw.inbox.list()
      expect(notice).toMatchObject({ interaction_kind: 'notice', coordination_id: view.coordination_id })
      // AND it stays until a person acknowledges it
      const seen = { reply: { acknowledged: true, note: 'I talked to them.' } }
      await expect(
        world.sw.inbox.reply(notice?.interaction_id ?? '', { reply: { acknowledged: false } }),
      ).rejects.toMatchObject({
        code: 'reply_unfit',
      })
      await world.sw.inbox.reply(notice?.interaction_id ?? '', seen)
      await world.sw.idle()
      expect(await world.sw.inbox.list()).toEqual([])
      expect(await world.sw.plans.verify(view.coordination_id)).toEqual([])
    },
  )

  scenario('CO-24', 'A corrected intent is a new coordination that names the one it takes the place of', async () => {
    // GIVEN a plan that is blocked for want of facts
    world = await planWorld()
    const { facts: _, ...without } = inputOf()
    const blocked = await world.sw.plans.submit(without)
    expect(blocked).toMatchObject({ state: 'BLOCKED', failure: { cause: 'facts_unavailable' } })
    // WHEN it is submitted with them
    const recovers = await world.sw.plans.recovery(blocked.coordination_id)
    const corrected = await world.sw.plans.submit({ ...inputOf(), recovers })
    // THEN there is a plan, and its lineage leads back
    expect(corrected.state).toBe('DONE')
    const { 'lineage.json': lineage = '' } = await world.sw.plans.files(corrected.coordination_id)
    expect(JSON.parse(lineage)).toMatchObject({ recovers: { run_id: blocked.run_id, final_state: 'BLOCKED' } })
  })
})

test('durable: a frozen plan is signed with the configured key, and written to a folder that holds nothing else', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'statewright-export-'))
  const key = join(folder, 'key.pem')
  writeFileSync(key, generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }))
  world = await planWorld({ plans: { signingKey: key } })
  const { coordination_id } = await world.sw.plans.submit(inputOf())
  const files = await world.sw.plans.files(coordination_id)
  expect(Object.keys(files)).toContain('statement.dsse.json')
  expect(await world.sw.plans.verify(coordination_id)).toEqual([])
  await expect(world.sw.plans.export(coordination_id, folder)).rejects.toMatchObject({ code: 'file_unusable' })
  const own = join(folder, 'plan')
  await world.sw.plans.export(coordination_id, own)
  // Once more changes nothing.
  await world.sw.plans.export(coordination_id, own)
  const frozen = readdirSync(own).filter((name) => name !== 'journal.json')
  const written = frozen.map((name) => [name, readFileSync(join(own, name), 'utf8')])
  expect(Object.fromEntries(written)).toEqual(files)
  rmSync(folder, { recursive: true })
})

describe('plans: submissions and answers', () => {
  test('the same submission under the same id is the same coordination; another one is refused', async () => {
    world = await planWorld()
    const mine = { ...inputOf(), coordinationId: 'coord_mine' }
    const both = await Promise.all([world.sw.plans.submit(mine), world.sw.plans.submit(mine)])
    expect(both.map(({ coordination_id, state }) => [coordination_id, state])).toEqual([
      ['coord_mine', 'DONE'],
      ['coord_mine', 'DONE'],
    ])
    expect(await world.sw.plans.list()).toHaveLength(1)
    const other = { ...mine, policy: policyWith({ question_budget: 1 }) }
    await expect(world.sw.plans.submit(other)).rejects.toMatchObject({ code: 'key_reused' })
  })

  test('a submission that is sent again is the same, also when policy and registry have changed since', async () => {
    const registry = mkdtempSync(join(tmpdir(), 'statewright-registry-'))
    cpSync(exampleRegistry, registry, { recursive: true })
    world = await planWorld({ store: 'sqlite', plans: { registry }, secrets: { word: 'hush-hush' } })
    const { facts } = inputOf()
    const unsealed = exampleIntent({ title: 'Say hush-hush' })
    const intent = { ...unsealed, audit: { ...(unsealed.audit as object), checksum: '' } }
    const mine = { intent, facts, coordinationId: 'coord_mine' }
    const first = await world.sw.plans.submit(mine)
    // The seal of an intent is computed without its secrets.
    expect(first).toMatchObject({ state: 'DONE', input: { intent: { title: 'Say [secret:word]' } } })
    writeFileSync(join(registry, 'broken.yaml'), 'kind: nonsense\n')
    await world.restart({ plans: { registry, policy: policyWith({ question_budget: 1 }) } })
    expect(await world.sw.plans.submit(mine)).toEqual(first)
    for (const other of [
      { ...mine, facts: null },
      { ...mine, policy: policyWith({ question_budget: 2 }) },
      { ...mine, intent: exampleIntent() },
    ])
      await expect(world.sw.plans.submit(other)).rejects.toMatchObject({ code: 'key_reused' })
    rmSync(registry, { recursive: true })
  })

  test('choices with the same idempotency key take effect once', async () => {
    world = await planWorld()
    const { coordination_id } = await world.sw.plans.submit(asking(whereTo))
    const send = (target: string, idempotencyKey: string) =>
      world.sw.plans.answer(coordination_id, { choices: { target }, idempotencyKey })
    const again = await send('production', 'k1')
    expect(again).toMatchObject({ state: 'AWAITING_ANSWERS', waits_for: { question_pack: { round: 2 } } })
    expect(await send('production', 'k1')).toEqual(again)
    expect((await send('staging', 'k2')).state).toBe('DONE')
    expect((await send('production', 'k1')).state).toBe('DONE')
    await expect(send('staging', 'k1')).rejects.toMatchObject({ code: 'key_reused' })
  })

  test('answers with the same idempotency key take effect once', async () => {
    world = await planWorld()
    const { coordination_id, waits_for } = await world.sw.plans.submit(asking(whereTo))
    const answer_pack = packFor(waits_for?.question_pack, { target: 'staging' })
    const send = () => world.sw.plans.answer(coordination_id, { answerPack: answer_pack, idempotencyKey: 'k1' })
    expect((await send()).state).toBe('DONE')
    expect((await send()).state).toBe('DONE')
    await expect(world.sw.plans.answer(coordination_id, { answerPack: answer_pack })).rejects.toMatchObject({
      code: 'coordination_not_waiting',
    })
  })

  test('a plan lives in the session it is given, beside its runs, and ends with it', async () => {
    world = await planWorld()
    const run = await world.sw.runs.start({ agent: 'bystander', input: 'hello' })
    await run.result()
    const { sessionId } = run
    const view = await world.sw.plans.submit({ ...asking(whereTo), sessionId, goalId: 'goal_1' })
    expect(view).toMatchObject({ session_id: sessionId, goal_id: 'goal_1', state: 'AWAITING_ANSWERS' })
    await world.sw.sessions.close(sessionId)
    expect(await world.sw.inbox.list()).toEqual([])
    expect(await world.sw.plans.show(view.coordination_id)).toMatchObject({
      state: 'BLOCKED',
      waits_for: null,
      failure: { cause: 'questions_withdrawn' },
    })
    await expect(
      world.sw.plans.answer(view.coordination_id, {
        answerPack: packFor(view.waits_for?.question_pack, { target: 'staging' }),
      }),
    ).rejects.toMatchObject({ code: 'coordination_not_waiting' })
    await expect(world.sw.plans.submit({ ...inputOf(), sessionId })).rejects.toMatchObject({ code: 'session_over' })
  })

  test('a session that began with a plan takes a run, whose agent is its root', async () => {
    world = await planWorld()
    const { session_id } = await world.sw.plans.submit(inputOf())
    const run = await world.sw.runs.start({ agent: 'bystander', input: 'hello', sessionId: session_id })
    expect(await run.result()).toMatchObject({ status: 'succeeded' })
    const runes = await world.runes(session_id)
    const spawned = runes.find(({ kind }) => kind === 'agent.spawning')?.agent_id
    expect(runes.find(({ kind }) => kind === 'session.activated')?.payload).toEqual({ root_agent_id: spawned })
  })

  test('a secret reaches neither the log nor the frozen plan', async () => {
    world = await planWorld({ secrets: { key: 'hunter22' } })
    const input = inputOf({ intent: intentOf((i) => ({ ...i, title: 'Use hunter22 to get in' })) })
    const view = await world.sw.plans.submit(input)
    expect(JSON.stringify(await world.runes(view.session_id))).not.toContain('hunter22')
    const files = await world.sw.plans.files(view.coordination_id)
    expect(JSON.stringify(files)).not.toContain('hunter22')
    expect(files['intent.json']).toContain('[secret:key]')
    expect(await world.sw.plans.verify(view.coordination_id)).toEqual([])
  })

  test('an unknown, unfinished or malformed plan is refused with a fault', async () => {
    world = await planWorld()
    await expect(world.sw.plans.show('coord_x')).rejects.toMatchObject({ code: 'not_found' })
    const { coordination_id } = await world.sw.plans.submit(asking(whereTo))
    await expect(world.sw.plans.files(coordination_id)).rejects.toMatchObject({ code: 'coordination_not_over' })
    const { registry, ...without } = inputOf()
    await expect(world.sw.plans.submit(without)).rejects.toMatchObject({ code: 'registry_refused' })
    const forged = { ...registry, entries: registry.entries.filter(({ kind }) => kind !== 'rule') }
    await expect(world.sw.plans.submit({ ...without, registry: forged })).rejects.toMatchObject({
      code: 'registry_refused',
      details: { problems: [{ path: 'snapshot_id' }] },
    })
    await expect(world.sw.plans.submit(inputOf({ intent: '\ud800' }))).rejects.toMatchObject({ code: 'not_plain_json' })
  })
})
