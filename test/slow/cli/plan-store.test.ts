import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createBackendWorld } from '../../support/backend.ts'
import { runCli } from '../../support/run-cli.ts'
import { startServer } from '../../support/server.ts'

const scratch = mkdtempSync(join(tmpdir(), 'statewright-plan-store-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))
const examples = 'examples/plans'
const registry = ['--registry', `${examples}/registry`]
const judging = [...registry, '--policy', `${examples}/policy.yaml`]
const known = ['--memory', `${examples}/memory.yaml`, '--facts', `${examples}/shop`]
const intentOf = (name: string) => `${examples}/${name}/intent.yaml`
const bytesIn = (folder: string) => new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]))

describe('statewright plan on a store', () => {
  let names = 0
  let store: readonly string[]
  beforeEach(() => {
    store = ['--store', `sqlite:${join(scratch, `${++names}.db`)}`]
  })
  const submit = async (name: string) => {
    const { exit, out } = await runCli(['plan', intentOf(name), ...judging, ...known, ...store, '--json'])
    return { exit, card: JSON.parse(out) }
  }

  test('F-50 plan: --recovers names the plan of the store whose place the new one takes', async () => {
    const { card: first } = await submit('denied')
    expect(first.state).toBe('ABORTED')
    const recovers = ['--recovers', first.coordination_id.slice(0, 22)]
    const folder = join(scratch, `${++names}`)
    const args = ['plan', intentOf('read-only'), ...judging, ...known, ...store, ...recovers, '-o', folder]
    expect((await runCli(args)).exit).toBe(0)
    const lineage = JSON.parse(readFileSync(join(folder, 'lineage.json'), 'utf8'))
    expect(lineage.recovers).toMatchObject({ run_id: first.run_id, final_state: 'ABORTED' })
    expect((await runCli(['plan', 'verify', folder])).exit).toBe(0)
    expect(JSON.parse(readFileSync(join(folder, 'journal.json'), 'utf8')).entries).not.toEqual([])
  })

  test('plan answer: over several processes a plan waits, is answered against the rules and then with them', async () => {
    const { exit, card } = await submit('conflict')
    expect([exit, card.state]).toEqual([4, 'AWAITING_ANSWERS'])
    const id = card.coordination_id.slice(0, 16)
    expect(await runCli(['plan', 'show', ...store])).toMatchObject({
      exit: 0,
      out: expect.stringMatching(/AWAITING_ANSWERS .*intent_deploy_totals/),
    })
    const { err: hint } = await runCli(['inbox', ...store])
    expect(hint).toContain(`statewright plan show ${card.coordination_id} --store`)
    expect(await runCli(['plan', 'show', id, ...store])).toMatchObject({
      exit: 4,
      out: expect.stringContaining('Where shall the version go first?'),
    })
    expect(await runCli(['plan', 'answer', id, 'target=mars', ...store])).toMatchObject({
      exit: 2,
      err: expect.stringContaining('takes production, staging, not mars'),
    })
    for (const round of [2, 3])
      expect(await runCli(['plan', 'answer', id, 'target=production', ...store])).toMatchObject({
        exit: 4,
        out: expect.stringContaining(`1 question, round ${round}`),
      })
    const folder = join(scratch, `frozen-${names}`)
    writeFileSync(`${folder}.file`, '')
    const file = join(scratch, `answers-${names}.yaml`)
    writeFileSync(file, 'target: staging\n')
    const done = await runCli(['plan', 'answer', id, file, '--as', 'ann', '-o', folder, ...store])
    expect(done).toMatchObject({ exit: 0, out: expect.stringMatching(/DONE .*\nCustomers see the new totals/) })
    // The same input and the same answers: the same bytes as the committed example.
    const made = bytesIn(folder)
    // The times of this run stand next to what is frozen.
    expect(made.delete('journal.json')).toBe(true)
    expect(made).toEqual(bytesIn(`${examples}/conflict/frozen`))
    expect(await runCli(['plan', 'answer', id, 'target=staging', ...store])).toMatchObject({ exit: 6 })
    expect(await runCli(['plan', 'show', id, '-o', `${folder}.file`, ...store])).toMatchObject({
      exit: 1,
      err: expect.stringMatching(/\.file cannot be used: it cannot be made \(EEXIST\)/),
    })
    const explained = await runCli(['plan', 'explain', card.coordination_id, ...store])
    expect(explained).toEqual(await runCli(['plan', 'explain', folder]))
    const moves = await runCli(['plan', 'show', id, '--moves', ...store])
    expect(moves.out).toMatch(
      /AWAITING_ANSWERS → RULES_EVALUATED {2}\d+ ms\n( +holds: .*\n)+ +does not hold: no_answer_conflicts/,
    )
    expect(await runCli(['verify', ...store])).toMatchObject({ exit: 0 })
  })

  test('F-51 plan answer: a name that is given twice, as key or as id, is refused and nothing is recorded', async () => {
    const { card } = await submit('conflict')
    const id = card.coordination_id
    const [{ question_id }] = card.waits_for.question_pack.questions
    expect(await runCli(['plan', 'answer', id, 'target=staging', 'target=production', ...store])).toMatchObject({
      exit: 2,
      err: expect.stringContaining('target is answered twice'),
    })
    const both = ['target=staging', `${question_id}=production`]
    expect(await runCli(['plan', 'answer', id, ...both, ...store])).toMatchObject({
      exit: 2,
      err: expect.stringContaining('is answered twice'),
    })
    expect(await runCli(['plan', 'show', id, ...store])).toMatchObject({ exit: 4 })
  })

  test('CO-21 plan --timeout: without a process, show says that its time is over, and a late answer is refused', async () => {
    const waiting = ['plan', intentOf('conflict'), ...judging, ...known, ...store, '--timeout', '1', '--json']
    const { coordination_id: id, waits_for } = JSON.parse((await runCli(waiting)).out)
    await vi.waitUntil(() => Date.now() > waits_for.deadline, { timeout: 10_000 })
    const shown = await runCli(['plan', 'show', id, ...store])
    expect(shown).toMatchObject({ exit: 4, out: expect.stringContaining('Its time is over: answers are refused') })
    expect(shown.err).not.toContain('plan answer')
    expect(await runCli(['plan', 'answer', id, 'target=production', ...store])).toMatchObject({
      exit: 6,
      err: expect.stringMatching(/its time was over, .* It is DONE now\./),
    })
    expect(await runCli(['plan', 'show', id, ...store])).toMatchObject({
      exit: 0,
      out: expect.stringContaining('DONE'),
    })
  })

  test('plan: a red line is a notice in the inbox', async () => {
    const { exit, card } = await submit('red-line')
    expect([exit, card.failure.failure_type]).toEqual([1, 'red_line_violation'])
    const { out } = await runCli(['inbox', ...store])
    expect(out).toMatch(/int_\w+ +notice .*was aborted: The intent carries something/)
    expect(await runCli(['plan', 'show', card.coordination_id, ...store])).toMatchObject({
      exit: 1,
      err: expect.stringContaining('metadata.afterwards.shell'),
    })
  })

  test('plan: a missing plan or file, and options that exclude each other, are refused', async () => {
    expect(await runCli(['plan', 'show', ...store])).toMatchObject({
      exit: 7,
      err: expect.stringContaining('there is no such file'),
    })
    await submit('read-only')
    expect(await runCli(['plan', 'show', 'coord_x', ...store])).toMatchObject({ exit: 3 })
    const answered = await runCli(['plan', intentOf('conflict'), ...judging, ...store, '--answers', 'x'])
    expect(answered).toMatchObject({ exit: 2, err: expect.stringContaining('plan answer ID') })
    expect(await runCli(['plan', intentOf('conflict'), ...registry, '--timeout', '5'])).toMatchObject({ exit: 2 })
    expect(await runCli(['plan', intentOf('conflict'), ...registry, '--server', 'http://127.0.0.1:1'])).toMatchObject({
      exit: 2,
      err: expect.stringContaining('A server judges by its own registry'),
    })
  })
})

describe('statewright plan through a server', () => {
  const open: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    vi.unstubAllEnvs()
    for (const close of open.splice(0).reverse()) await close()
  })

  test('plan through a server: the commands print the same', async () => {
    const policy = { schema_version: '1.0.0', mode: 'interactive', constraints: { allow_destructive: true } }
    const { world, backend } = await createBackendWorld(undefined, {
      plans: { registry: `${examples}/registry`, policy },
    })
    const server = await startServer(backend)
    open.push(world.end, server.close)
    vi.stubEnv('STATEWRIGHT_TOKEN', 'approve-secret')
    const there = ['--server', server.url]
    const asked = await runCli(['plan', intentOf('ask-first'), ...known, ...there, '--json'])
    expect(asked.exit).toBe(4)
    const { coordination_id } = JSON.parse(asked.out)
    const folder = join(scratch, 'from-server')
    const done = await runCli(['plan', 'answer', coordination_id, 'window=night', '-o', folder, ...there])
    expect(done).toMatchObject({
      exit: 0,
      out: expect.stringContaining('5 actions in 4 phases, risk high, 4 review gates'),
    })
    expect(await runCli(['plan', 'verify', folder])).toMatchObject({ exit: 0 })
    expect(await runCli(['plan', 'show', coordination_id, ...there])).toEqual({ ...done, err: expect.any(String) })
    expect(await runCli(['plan', 'explain', coordination_id, ...there])).toEqual(
      await runCli(['plan', 'explain', folder]),
    )
  })
})
