import { createHash, generateKeyPairSync } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { planArguments } from '../../../scripts/plan-examples.ts'
import { executionIntent } from '../../../src/coordinator/schemas/intent.ts'
import { runCli } from '../../support/run-cli.ts'

const scratch = mkdtempSync(join(tmpdir(), 'statewright-plan-cli-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))
let names = 0
const fresh = (ending = '') => join(scratch, `${++names}${ending}`)

function written(text: string, ending = '.yaml'): string {
  const file = fresh(ending)
  writeFileSync(file, text)
  return file
}

/** The intent of an example, with some of its text replaced. */
function changed(example: string, ...changes: readonly [string, string][]): string {
  const text = readFileSync(`examples/plans/${example}/intent.yaml`, 'utf8')
  return written(
    changes.reduce((sofar, [before, after]) => {
      expect(sofar).toContain(before)
      return sofar.replace(before, after)
    }, text),
  )
}

const within = ['--registry', 'examples/plans/registry', '--facts', 'examples/plans/shop']
const allowing = ['--policy', 'examples/plans/policy.yaml']

describe('statewright plan', () => {
  test('plan: an invalid intent is refused with every mistake and its path', async () => {
    const file = changed(
      'read-only',
      ['title: Find out', 'titel: Find out'],
      ['effects: [read]', 'effects: [look]'],
      ['max_files: 5', 'max_files: -1'],
    )
    const { exit, err } = await runCli(['plan', file, ...within])
    expect(exit).toBe(1)
    expect(err).toMatch(/BLOCKED/)
    for (const path of [
      /^ +title: /m,
      /^ +planned_commands\[0\]\.effects\[0\]: /m,
      /^ +budgets\.max_files: /m,
      /titel/,
    ])
      expect(err).toMatch(path)
  })

  test('plan: a missing reference is named, with the nearest that exists', async () => {
    const file = changed('read-only', ['command_id: cmd_read_code', 'command_id: cmd_raed_code'])
    const { exit, err } = await runCli(['plan', file, ...within])
    expect(exit).toBe(1)
    expect(err).toMatch(/planned_commands\[0\]: .*cmd_raed_code.*cmd_read_code/)
  })

  test('plan: an intent that was changed after it was sealed is refused; one that is not sealed yet is sealed', async () => {
    const sealed = changed('read-only', ['checksum: ""', `checksum: ${'a'.repeat(64)}`])
    const { exit, err } = await runCli(['plan', sealed, ...within])
    expect([exit, err]).toEqual([1, expect.stringContaining('checksum_mismatch')])
  })

  test('plan: questions are printed, and the exit code says that a person is waited for', async () => {
    const { exit, out, err } = await runCli([
      'plan',
      'examples/plans/ask-first/intent.yaml',
      ...within,
      ...allowing,
      '-o',
      fresh(),
    ])
    expect(exit).toBe(4)
    expect(out).toContain('AWAITING_ANSWERS  2 questions, round 1')
    expect(out).toContain('window (blocker, critical): When may the table of orders be locked for ten minutes?')
    expect(out).toContain('without an answer the plan is blocked')
    expect(err).toContain('"window: night", and name it with --answers')
  })

  test('--answers: takes an answer pack, choices by key, or none; refuses answers that do not fit', async () => {
    const plan = (answers: string) =>
      runCli([
        'plan',
        'examples/plans/ask-first/intent.yaml',
        ...within,
        ...allowing,
        '--answers',
        written(answers),
        '--json',
      ])
    const asked = JSON.parse((await plan('[]')).out).question_pack
    const pack = {
      pack_id: 'apack_mine',
      schema_version: '1.0.0',
      question_pack_id: asked.pack_id,
      answers: asked.questions.map((one: { question_id: string; suggested_answers: { value: string }[] }) => ({
        question_id: one.question_id,
        answer_type: 'choice',
        value: one.suggested_answers[0]?.value,
        provided_by: 'human',
      })),
    }
    expect(JSON.parse((await plan(JSON.stringify(pack))).out)).toMatchObject({ state: 'DONE' })
    expect(JSON.parse((await plan('window: night')).out)).toMatchObject({ state: 'DONE' })
    expect(await plan('timed_out: true')).toMatchObject({
      exit: 1,
      out: expect.stringContaining('"cause":"timed_out"'),
    })
    expect(await plan('window: noon')).toMatchObject({
      exit: 1,
      err: expect.stringMatching(/round 1: .*takes night, never, not noon/),
    })
    for (const said of ['widow: night', 'widow: 1'])
      expect(await plan(said)).toMatchObject({
        exit: 1,
        err: expect.stringMatching(/There is no open question \\"widow\\"; there is window \(q_\w+\)/),
      })
  })

  test('plan: an unreadable file is refused by name', async () => {
    const intent = 'examples/plans/read-only/intent.yaml'
    expect(await runCli(['plan', fresh(), ...within])).toMatchObject({
      exit: 3,
      err: expect.stringContaining('There is no file'),
    })
    expect(await runCli(['plan', written('a: [1'), ...within])).toMatchObject({
      exit: 1,
      err: expect.stringMatching(/line \d/),
    })
    expect(await runCli(['plan'])).toMatchObject({ exit: 2 })
    expect(await runCli(['plan', 'verify', 'x', '--registry', 'y'])).toMatchObject({
      exit: 2,
      err: expect.stringContaining('plan verify takes no --registry'),
    })
    expect(await runCli(['plan', intent, '--registry', fresh()])).toMatchObject({
      exit: 1,
      err: expect.stringContaining('there is no such file or folder'),
    })
    const registry = fresh()
    mkdirSync(registry)
    writeFileSync(join(registry, 'a.yaml'), 'kind: rule\nid: rule_x\n')
    expect(await runCli(['plan', intent, '--registry', registry])).toMatchObject({
      exit: 1,
      err: expect.stringMatching(/refused as a whole: a\.yaml/),
    })
    const full = fresh()
    mkdirSync(full)
    writeFileSync(join(full, 'mine.txt'), 'mine')
    expect(await runCli(['plan', intent, ...within, '-o', full])).toMatchObject({
      exit: 1,
      err: expect.stringContaining('it holds mine.txt'),
    })
    expect(readFileSync(join(full, 'mine.txt'), 'utf8')).toBe('mine')
  })

  test('plan: a signed plan verifies with its key and with no other', async () => {
    const pem = (type: 'private' | 'public', keys = generateKeyPairSync('ed25519')) => ({
      keys,
      file: written(
        String(
          type === 'private'
            ? keys.privateKey.export({ type: 'pkcs8', format: 'pem' })
            : keys.publicKey.export({ type: 'spki', format: 'pem' }),
        ),
        '.pem',
      ),
    })
    const own = pem('private')
    const folder = fresh()
    expect(await runCli([...planArguments('read-only', folder), '--key', own.file])).toMatchObject({ exit: 0 })
    expect(await runCli(['plan', 'verify', folder, '--key', own.file])).toMatchObject({
      exit: 0,
      out: expect.stringContaining('signed'),
    })
    expect(await runCli(['plan', 'verify', folder, '--key', pem('public', own.keys).file])).toMatchObject({ exit: 0 })
    expect(await runCli(['plan', 'verify', folder, '--key', pem('public').file])).toMatchObject({ exit: 5 })
    const keyless = expect.stringContaining('their signature was not checked, give --key FILE')
    expect(await runCli(['plan', 'verify', folder])).toMatchObject({ exit: 0, out: keyless })
    expect(await runCli(['plan', 'verify', folder, '--key', written('nonsense')])).toMatchObject({ exit: 1 })
  })
})

describe('statewright plan explain', () => {
  test('plan explain: shows for each verdict its rules, reasons and evidence', async () => {
    const { exit, out } = await runCli(['plan', 'explain', 'examples/plans/conflict/frozen'])
    expect(exit).toBe(0)
    expect(out).toContain('Round 4')
    expect(out).toMatch(
      /cmd_deploy: warn; risk high\n +warn by rule_deploys_are_watched 1\.0\.0 \(warn\): Someone watches/,
    )
    expect(out).toContain('evidence: ticket_119, mem_outage')
    expect(out.match(/AWAITING_ANSWERS: no_answer_conflicts does not hold\. .*rule_staging_first/g)).toHaveLength(2)
  })

  test('plan explain: an intent and its frozen plan are explained alike', async () => {
    const args = planArguments('denied', '').slice(1, -2)
    const fromIntent = await runCli(['plan', 'explain', ...args])
    expect(await runCli(['plan', 'explain', 'examples/plans/denied/frozen'])).toEqual(fromIntent)
    expect(fromIntent.out).toContain('cmd_drop_table: deny, which ends the plan; risk critical')
    expect(fromIntent.out).toContain('deny by rule_no_drops 1.0.0 (block): A dropped table is gone')
    expect(fromIntent.out).toContain('RULES_EVALUATED: no_hard_denies does not hold.')
  })

  test('plan explain: a rule that cannot be evaluated is shown as undecidable', async () => {
    const registry = fresh()
    mkdirSync(registry)
    for (const name of ['workflows', 'agents', 'commands'])
      writeFileSync(join(registry, `${name}.yaml`), readFileSync(`examples/plans/registry/${name}.yaml`))
    const policy =
      '@id("rule_odd") @reason("Odd.") @severity("info") permit (principal, action, resource) when { context.target_files * 9223372036854775807 > 9 };'
    writeFileSync(
      join(registry, 'rule.json'),
      JSON.stringify({
        kind: 'rule',
        id: 'rule_odd',
        version: '1.0.0',
        status: 'active',
        title: 'Odd',
        lineage: { is_root: true },
        verdict: 'allow',
        policy,
      }),
    )
    const intent = changed('read-only', ['files: [app/orders.py]', 'files: [app/orders.py, app/lines.py]'])
    const facts = ['--facts', 'examples/plans/shop']
    const { out } = await runCli(['plan', 'explain', intent, '--registry', registry, ...facts])
    expect(out).toMatch(/cmd_read_code: undecidable; risk low\n +undecidable by rule_odd: .*overflow/)
    expect(await runCli(['plan', intent, '--registry', registry, ...facts])).toMatchObject({
      exit: 1,
      err: expect.stringContaining('BLOCKED'),
    })
  })
})

test('plan: statewright plan init writes an intent that fits its schema and becomes a plan', async () => {
  const file = fresh('.yaml')
  expect(await runCli(['plan', 'init', file])).toMatchObject({ exit: 0 })
  expect(await runCli(['plan', 'init', file])).toMatchObject({
    exit: 1,
    err: expect.stringContaining('it exists already'),
  })
  const text = readFileSync(file, 'utf8')
  expect((await runCli(['plan', 'init'])).out.replace(/created_at.*/, '')).toBe(
    text.trimEnd().replace(/created_at.*/, ''),
  )
  const mine = written(
    text.replace('workflow_id: wf_change', 'workflow_id: wf_audit').replaceAll('cmd_read\n', 'cmd_read_code\n'),
  )
  const folder = fresh()
  const { exit, err } = await runCli(['plan', mine, ...within, '-o', folder])
  expect([exit, err]).toEqual([0, expect.stringContaining('Frozen in')])
  expect(executionIntent.safeParse(JSON.parse(readFileSync(join(folder, 'intent.json'), 'utf8'))).success).toBe(true)
})

test('plan: statewright facts prints each fact with file and line, and writes the pack', async () => {
  const file = fresh('.json')
  const { exit, out } = await runCli(['facts', 'examples/plans/shop', '--project', 'shop', '-o', file])
  expect(exit).toBe(0)
  expect(out).toContain('ev4    tests/test_orders.py:1  A test')
  expect((await runCli(['facts', 'examples/plans/shop', '--project', 'shop', '--json'])).out).toBe(
    readFileSync(file, 'utf8').trimEnd(),
  )
  expect(await runCli(['facts', fresh()])).toMatchObject({ exit: 3 })
  const plan = (facts: string) =>
    runCli([
      'plan',
      'examples/plans/read-only/intent.yaml',
      '--registry',
      'examples/plans/registry',
      '--facts',
      facts,
      '--json',
    ])
  // The same plan, made at another time.
  const told = async (facts: string) => ({ ...JSON.parse((await plan(facts)).out), moves: [] })
  expect(await told(file)).toEqual(await told('examples/plans/shop'))
})

describe('F-50 statewright plan', () => {
  test('F-50 plan: a plan from files has the time and the duration of every move, beside the frozen files', async () => {
    const folder = fresh()
    const { exit, out } = await runCli([...planArguments('ask-first', folder), '--json'])
    expect(exit).toBe(0)
    const { entries } = JSON.parse(readFileSync(join(folder, 'journal.json'), 'utf8'))
    expect(entries).toEqual(JSON.parse(out).moves)
    const { entries: tape } = JSON.parse(readFileSync(join(folder, 'run_tape.json'), 'utf8'))
    expect(entries.map(({ from_state, to_state }: never) => [from_state, to_state])).toEqual(
      tape.map(({ from_state, to_state }: never) => [from_state, to_state]),
    )
    for (const [i, { at, duration_ms }] of entries.entries())
      expect(duration_ms).toBe(i === 0 ? 0 : at - entries[i - 1].at)
    // Made again, it is the same plan with other times.
    expect((await runCli(planArguments('ask-first', folder))).exit).toBe(0)
    expect((await runCli(['plan', 'verify', folder])).exit).toBe(0)
  })

  test('F-50 plan: a journal that does not tell of the moves on the tape does not verify', async () => {
    const folder = fresh()
    await runCli(planArguments('read-only', folder))
    const file = join(folder, 'journal.json')
    const journal = JSON.parse(readFileSync(file, 'utf8'))
    for (const damaged of [
      'no JSON',
      JSON.stringify({ ...journal, entries: journal.entries.slice(1) }),
      JSON.stringify({ ...journal, coordinator_run_id: 'coord_run_other' }),
      JSON.stringify({ ...journal, entries: journal.entries.with(2, { ...journal.entries[2], duration_ms: 12_345 }) }),
      JSON.stringify({ ...journal, entries: journal.entries.with(2, { ...journal.entries[2], to_state: 'DONE' }) }),
    ]) {
      writeFileSync(file, damaged)
      expect(await runCli(['plan', 'verify', folder])).toMatchObject({
        exit: 5,
        err: expect.stringContaining('journal.json'),
      })
    }
  })

  test('F-50 plan: --recovers names the folder of the plan whose place the new one takes', async () => {
    const [blocked, folder] = [fresh(), fresh()]
    await runCli(planArguments('denied', blocked))
    const recovering = [...planArguments('read-only', folder), '--recovers', blocked]
    expect((await runCli(recovering)).exit).toBe(0)
    const { recovers } = JSON.parse(readFileSync(join(folder, 'lineage.json'), 'utf8'))
    const tape = readFileSync(join(blocked, 'run_tape.json'), 'utf8')
    const { run_id, state } = JSON.parse(tape)
    expect(recovers).toEqual({
      run_id,
      final_state: state,
      tape_checksum: createHash('sha256').update(tape).digest('hex'),
    })
    // One that does not verify is no plan to take the place of.
    writeFileSync(join(blocked, 'intent.json'), '{}')
    expect(await runCli([...planArguments('read-only', fresh()), '--recovers', blocked])).toMatchObject({
      exit: 1,
      err: expect.stringContaining('the folder has no plan that verifies'),
    })
  })
})

test('F-51 plan: an alias bomb and half of a surrogate pair are refused with the file name and the problem', async () => {
  const lines = ['a: &a [x, x, x, x, x, x, x, x, x]']
  for (const [to, from] of ['ba', 'cb', 'dc', 'ed', 'fe'] as const)
    lines.push(`${to}: &${to} [${Array(9).fill(`*${from}`).join(', ')}]`)
  const bad = { bomb: written(lines.join('\n')), half: written('{"metadata": {"x": "\\ud800"}}', '.json') }
  for (const file of Object.values(bad))
    for (const option of ['intent', 'policy', 'memory', 'facts', 'answers']) {
      const given = planArguments('ask-first', fresh())
      const args = option === 'intent' ? given.with(1, file) : given.with(given.indexOf(`--${option}`) + 1, file)
      const { exit, err } = await runCli(args)
      expect(exit, option).toBe(1)
      expect(err).toContain(`${file} cannot be used: `)
      expect(err).toMatch(/alias|lone surrogate/)
      expect(err).not.toMatch(/\n\s+at /)
    }
})
