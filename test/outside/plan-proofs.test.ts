import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Json } from 'statewright'
import { afterAll, expect } from 'vitest'
import {
  asking,
  commandEntry,
  contentWith,
  fullAuto,
  intentWith,
  question,
  step,
  usualContent,
  usualFacts,
  usualMemory,
  usualPolicy,
  writeRegistry,
} from './support/plan-content.ts'
import { type Doc, judge, judgedOf, withPlans } from './support/planning.ts'
import { runToEnd } from './support/process.ts'
import { scenario } from './support/scenario.ts'

const folder = mkdtempSync(join(tmpdir(), 'statewright-proofs-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

function inFile(name: string, value: Json): string {
  const file = join(folder, name)
  writeFileSync(file, JSON.stringify(value))
  return file
}

/** The command as an operator types it, on files. */
async function planByCli(out: string, intent: Json, answers?: Json, more: readonly string[] = []) {
  return runToEnd([
    'plan',
    inFile(`${out}-intent.json`, intent),
    ...['--registry', writeRegistry(folder, usualContent)],
    ...['--policy', inFile('policy.json', usualPolicy)],
    ...['--facts', inFile('facts.json', usualFacts)],
    ...['--memory', inFile('memory.json', usualMemory)],
    ...(answers === undefined ? [] : ['--answers', inFile(`${out}-answers.json`, answers)]),
    ...['-o', join(folder, out)],
    ...more,
  ])
}

const filesIn = (out: string) =>
  Object.fromEntries(
    readdirSync(join(folder, out)).map((name) => [name, readFileSync(join(folder, out, name), 'utf8')]),
  )

scenario('CO-10', 'FROZEN_OUTPUTS gives every output a checksum and a lineage, as JSON and Markdown', async () => {
  expect((await planByCli('frozen', asking(question('which')), { which: 'go' })).exit).toBe(0)
  const files = filesIn('frozen')
  const read = (name: string) => JSON.parse(files[`${name}.json`] ?? 'null') as Doc
  const lineage = read('lineage') as {
    derived_from_intent: string
    registry_versions: readonly { kind: string; id: string; version: string }[]
    outputs: readonly { artifact_type: string; checksum: string }[]
  }
  // THEN each output of the lineage is a file whose SHA-256 is its checksum
  const sums = Object.entries(files)
    .filter(([name]) => name.endsWith('.json'))
    .map(([, text]) => sha256(text))
  expect(lineage.outputs.length).toBeGreaterThan(8)
  for (const { artifact_type, checksum } of lineage.outputs)
    expect({ artifact_type, is: sums.includes(checksum) }).toEqual({ artifact_type, is: true })
  // AND each can be read by people, too
  for (const { artifact_type } of lineage.outputs)
    expect(
      Object.keys(files).filter((name) => name.startsWith(artifact_type) && name.endsWith('.md')).length,
    ).toBeGreaterThan(0)
  for (const [name, text] of Object.entries(files))
    if (name.endsWith('.md')) expect({ name, text }).toEqual({ name, text: expect.stringMatching(/^# \w.*\n\n.*\w/) })
  for (const [name, says] of [
    ['execution_graph', 'cmd_write'],
    ['review_pack', 'Revert the commit.'],
    ['rule_decisions_1', 'require_review'],
    ['run_tape', 'PRECHECKED'],
    ['audit_log', 'The intent was received.'],
  ])
    expect(files[`${name}.md`]).toContain(says)
  // AND it leads from the intent and the versions of the registry to them
  expect(lineage.derived_from_intent).toBe('intent_rename_field')
  expect(lineage.registry_versions.map(({ kind, id, version }) => `${kind}/${id}@${version}`)).toEqual(
    expect.arrayContaining([
      'command/cmd_write@1.0.0',
      'rule/rule_write@1.0.0',
      'workflow/wf_change@1.0.0',
      'agent/agent_reader@1.0.0',
    ]),
  )
  const { entries } = read('audit_log') as { entries: readonly Doc[] }
  expect(entries.length).toBeGreaterThan(5)
  // AND the command finds every byte as it was, and any that was changed
  expect((await runToEnd(['plan', 'verify', join(folder, 'frozen')])).exit).toBe(0)
  writeFileSync(
    join(folder, 'frozen', 'review_pack.json'),
    (files['review_pack.json'] ?? '').replace('"medium"', '"low"'),
  )
  const damaged = await runToEnd(['plan', 'verify', join(folder, 'frozen')])
  expect({ exit: damaged.exit, names: (damaged.out + damaged.err).includes('review_pack') }).toEqual({
    exit: 5,
    names: true,
  })
})

scenario('CO-17', 'red line 1: an intent carries nothing that executes, at any depth', async () => {
  for (const payload of [
    { execute: 'x' },
    { shell: 'rm -rf /' },
    { metadata: { nested: [{ run: 'x' }] } },
    { metadata: { script: 'x' } },
  ]) {
    const judged = await judge({ intent: { ...intentWith(), ...payload } })
    expect({ payload, state: judged.state, failure: judged.failure }).toMatchObject({
      payload,
      state: 'ABORTED',
      failure: { cause: 'execution_payload', failure_type: 'red_line_violation', failed_at_state: 'PRECHECKED' },
    })
  }
  // AND prose may say what it likes
  const objective = { goal: 'Run the script that executes the shell.', success_criteria: ['It ran.'], non_goals: [] }
  expect((await judge({ intent: intentWith({ objective }) })).state).toBe('DONE')
})

scenario('CO-18', 'red line 2: full automation never asks', async () => {
  const open_questions = [question('which'), question('other', { type: 'clarification' })]
  // GIVEN questions, and full automation by the intent or by the policy
  for (const judging of [
    { intent: intentWith({ ...fullAuto, open_questions }) },
    { intent: intentWith({ open_questions }), policy: { schema_version: '1.0.0', mode: 'full_auto' } },
  ]) {
    const { state, path, made, view } = await judge(judging)
    expect(state).toBe('DONE')
    expect(path).not.toContain('QUESTIONS_EMITTED')
    expect(path).not.toContain('AWAITING_ANSWERS')
    expect(view.waits_for).toBeNull()
    expect(Object.keys(made).filter((name) => name.startsWith('question_pack'))).toEqual([])
  }
  // AND a question budget next to it is refused
  const interaction = { mode: 'full_auto', question_budget: 3, question_policy: 'conceptual_only' }
  expect(await judge({ intent: intentWith({ interaction }) })).toMatchObject({
    state: 'BLOCKED',
    failure: {
      cause: 'schema_invalid',
      problems: [
        { path: 'interaction.question_budget', message: expect.stringContaining('must be 0 in full_auto') },
        { path: 'interaction.question_policy', message: expect.stringContaining('must be never in full_auto') },
      ],
    },
  })
})

scenario('CO-19', 'red line 3: high or critical risk is never fully automated', async () => {
  const risk = (overall: string) => ({ overall, drivers: ['It is new.'], requires_review: ['security'] })
  for (const overall of ['high', 'critical'])
    for (const judging of [
      { intent: intentWith({ ...fullAuto, risk: risk(overall) }) },
      { intent: intentWith({ risk: risk(overall) }), policy: { schema_version: '1.0.0', mode: 'full_auto' } },
      // The risk that the registry ascribes counts as well.
      {
        intent: intentWith(fullAuto),
        content: contentWith(commandEntry('cmd_write', { effects: ['write'], risk_level: overall, rollback: 'Undo.' })),
      },
    ]) {
      const { state, failure, path } = await judge(judging)
      expect({ overall, state, failure }).toMatchObject({
        overall,
        state: 'BLOCKED',
        failure: { cause: 'full_auto_risk' },
      })
      expect(path).not.toContain('FROZEN_OUTPUTS')
    }
  for (const overall of ['low', 'medium'])
    expect((await judge({ intent: intentWith({ ...fullAuto, risk: risk(overall) }) })).state).toBe('DONE')
})

scenario('CO-20', 'red line 4: no action without evidence', async () => {
  // GIVEN an intent with evidence, and one step without
  const bare = intentWith({ planned_commands: [step('cmd_scan'), step('cmd_read', { evidence_refs: [] })] })
  const { state, failure, failing } = await judge({ intent: bare })
  expect({ state, failure }).toMatchObject({
    state: 'BLOCKED',
    failure: { cause: 'action_without_evidence', failed_at_state: 'GRAPH_DRAFTED' },
  })
  expect(JSON.stringify(failure)).toContain('cmd_read')
  expect(failing).toContain('actions_have_evidence')
  // AND an intent that rests on nothing is none
  expect(await judge({ intent: intentWith({ evidence_refs: [] }) })).toMatchObject({
    state: 'BLOCKED',
    failure: { cause: 'schema_invalid', problems: [{ path: 'evidence_refs' }] },
  })
  // AND every action of a plan has some
  const { made } = await judge()
  const { nodes } = made.execution_graph as {
    nodes: readonly { node_type: string; evidence_refs?: readonly string[] }[]
  }
  const actions = nodes.filter(({ node_type }) => node_type === 'action_proposal')
  expect(actions).toHaveLength(3)
  for (const { evidence_refs } of actions) expect(evidence_refs?.length).toBeGreaterThan(0)
})

scenario('CO-21', 'red line 5: only entries of the registry', async () => {
  const gone = { agent_id: 'agent_gone', role: 'reader', responsibilities: ['Read.'] }
  const workflow = { workflow_id: 'wf_gone', phases: ['analysis'] }
  for (const intent of [
    intentWith({ planned_commands: [step('cmd_gone')] }),
    intentWith({ selected_agents: [gone] }),
    intentWith({ selected_workflows: [workflow] }),
  ]) {
    const { state, failure } = await judge({ intent })
    expect({ state, failure }).toMatchObject({
      state: 'BLOCKED',
      failure: { cause: 'reference_missing', failure_type: 'missing_registry', failed_at_state: 'PRECHECKED' },
    })
    expect(JSON.stringify(failure)).toMatch(/(cmd|agent|wf)_gone/)
  }
})

scenario(
  'CO-22',
  'every move leaves a tape entry, every significant decision an audit entry, with time and duration',
  () =>
    withPlans({}, async (sw) => {
      const since = Date.now()
      const asked = await sw.plans.submit({ intent: asking(question('which')), facts: usualFacts, memory: usualMemory })
      const asked_at = Date.now()
      await expect.poll(() => Date.now()).toBeGreaterThan(asked_at + 20)
      const waited = Date.now() - asked_at
      const view = await sw.plans.answer(asked.coordination_id, { choices: { which: 'go' } })
      const { tape, made } = await judgedOf(sw, view)
      // THEN the entries of the tape follow each other without a gap, and are the recorded moves
      expect(tape.map(({ sequence }) => sequence)).toEqual(tape.map((_, i) => i + 1))
      for (const [i, entry] of tape.entries()) {
        if (i > 0) expect(entry.from_state).toBe(tape[i - 1]?.to_state)
        expect(entry.trigger).toMatch(/^[a-z_]+$/)
        if (i > 1) expect(entry.guards_evaluated.length).toBeGreaterThan(0)
      }
      expect(view.moves.map(({ from, to, trigger }) => [from, to, trigger])).toEqual(
        tape.slice(1).map(({ from_state, to_state, trigger }) => [from_state, to_state, trigger]),
      )
      // AND each has its time and its duration
      const times = view.moves.map(({ at }) => at)
      expect(times).toEqual(times.toSorted((a, b) => a - b))
      for (const [i, { at, duration_ms }] of view.moves.entries()) {
        expect(at).toBeGreaterThanOrEqual(since)
        expect(at).toBeLessThanOrEqual(Date.now())
        expect(duration_ms).toBeGreaterThanOrEqual(0)
        if (i > 0) expect(duration_ms).toBe(at - (times[i - 1] ?? 0))
      }
      // AND the time for which it waited for the answer is in it
      const answered = view.moves.find(({ from }) => from === 'AWAITING_ANSWERS')
      expect(answered?.duration_ms).toBeGreaterThanOrEqual(waited)
      // AND what was decided is in the audit log, in order
      const { entries } = made.audit_log as { entries: readonly { event_type: string; sequence: number }[] }
      expect(entries.map(({ sequence }) => sequence)).toEqual(entries.map((_, i) => i + 1))
      const types = entries.map(({ event_type }) => event_type)
      expect([types[0], types.at(-1)]).toEqual(['run_started', 'run_completed'])
      expect(types).toEqual(
        expect.arrayContaining(['red_line_check', 'rule_adjudication', 'question_emitted', 'answer_received']),
      )
    }),
)

scenario('CO-23', 'the same inputs give the same bytes, and nothing is executed', async () => {
  // GIVEN the same input, with its members in another order, judged by two commands and by a program
  const intent = asking(question('which'))
  const turned = Object.fromEntries(Object.entries(intent).reverse())
  expect((await planByCli('one', intent, { which: 'go' })).exit).toBe(0)
  expect((await planByCli('two', turned, { which: 'go' })).exit).toBe(0)
  // The journal says when each move was made; it stands next to what is frozen, and is the only file that differs.
  const [{ 'journal.json': when, ...one }, { 'journal.json': _, ...two }] = [filesIn('one'), filesIn('two')]
  expect(two).toEqual(one)
  const { entries: timed } = JSON.parse(when ?? '') as { entries: readonly { at: number; duration_ms: number }[] }
  const { entries: moves } = JSON.parse(one['run_tape.json'] ?? '') as { entries: readonly object[] }
  expect(timed).toHaveLength(moves.length)
  for (const [i, { at, duration_ms }] of timed.entries()) {
    expect(at).toBeGreaterThan(1_700_000_000_000)
    expect(duration_ms).toBe(at - (timed[i - 1]?.at ?? at))
  }
  const byProgram = await withPlans({}, async (sw) => {
    const asked = await sw.plans.submit({ intent, facts: usualFacts, memory: usualMemory })
    await sw.plans.answer(asked.coordination_id, { choices: { which: 'go' } })
    // AND nothing ran: the session has no run, no call and no contract
    const kinds = (await sw.runelog.read(asked.session_id)).map(({ kind }) => kind)
    expect(kinds.filter((kind) => /^(run|turn|tool|contract)\./.test(kind))).toEqual([])
    return (await judgedOf(sw, await sw.plans.show(asked.coordination_id))).made
  })
  for (const name of ['execution_graph', 'review_pack', 'rule_decisions_1', 'precheck_report'])
    expect(byProgram[name]).toEqual(JSON.parse(filesIn('one')[`${name}.json`] ?? ''))
})

scenario('CO-24', 'the command line continues a folder of a plan that failed, by lineage', async () => {
  expect((await planByCli('failed', intentWith({ planned_commands: [step('cmd_raed')] }))).exit).toBe(1)
  expect((await planByCli('corrected', intentWith(), undefined, ['--recovers', join(folder, 'failed')])).exit).toBe(0)
  const failed = JSON.parse(filesIn('failed')['lineage.json'] ?? '') as Doc
  const corrected = JSON.parse(filesIn('corrected')['lineage.json'] ?? '') as Doc
  expect(corrected.recovers).toMatchObject({ run_id: failed.coordinator_run_id, final_state: 'BLOCKED' })
})

scenario('CO-24', 'after BLOCKED or ABORTED, a new coordination continues by lineage', () =>
  withPlans({}, async (sw) => {
    const given = { facts: usualFacts, memory: usualMemory }
    for (const [intent, final_state] of [
      [intentWith({ planned_commands: [step('cmd_raed')] }), 'BLOCKED'],
      [{ ...intentWith(), shell: 'x' }, 'ABORTED'],
    ] as const) {
      const failed = await sw.plans.submit({ intent, ...given })
      expect(failed.state).toBe(final_state)
      // WHEN a corrected intent is submitted in its place
      const recovers = await sw.plans.recovery(failed.coordination_id)
      const again = await sw.plans.submit({ intent: intentWith(), ...given, recovers })
      // THEN it is a run of its own, whose frozen lineage names the one before
      expect(again).toMatchObject({ state: 'DONE' })
      expect(again.run_id).not.toBe(failed.run_id)
      const { lineage } = (await judgedOf(sw, again)).made
      expect(lineage).toMatchObject({ recovers: { run_id: failed.run_id, final_state } })
      expect(await sw.plans.verify(again.coordination_id)).toEqual([])
    }
    // AND one that has not ended cannot be recovered from
    const waiting = await sw.plans.submit({ intent: asking(question('which')), ...given })
    await expect(sw.plans.recovery(waiting.coordination_id)).rejects.toMatchObject({ code: 'coordination_not_over' })
  }),
)
