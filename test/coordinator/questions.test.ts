import { describe, expect, test } from 'vitest'
import { readGuards } from '../../src/coordinator/guard-table.ts'
import { readAnswers } from '../../src/coordinator/questions/answers.ts'
import { answerGuards } from '../../src/coordinator/states/asking.ts'
import type { Json } from '../../src/kernel/json.ts'
import {
  answering,
  command,
  intentOf,
  openQuestion,
  plan,
  planned,
  policyWith,
  registryWith,
} from '../support/coordinator.ts'
import { scenario } from '../support/scenario.ts'

type Interaction = { mode: string; question_budget: number; question_policy: string }

const interactive: Interaction = { mode: 'interactive', question_budget: 5, question_policy: 'conceptual_only' }
const fullAuto: Interaction = { mode: 'full_auto', question_budget: 0, question_policy: 'never' }
const block = { action: 'block', explanation: 'Only a person may decide this.' }

function asking(questions: readonly Json[], interaction: Interaction = interactive): Json {
  return intentOf((i) => ({ ...i, interaction, open_questions: questions }))
}

function keysAsked(change: Parameters<typeof plan>[0]): readonly string[] {
  return plan(change).waits_for?.questions.map(({ key }) => key) ?? []
}

const types = ['clarification', 'blocker', 'optimization', 'risk_mitigation']
const oneOfEach = types.map((type) => openQuestion(`a_${type}`, { type }))

describe('Coordinator: QUESTIONS_EMITTED', () => {
  scenario('CO-06', 'Questions carry type, level, evidence, impact and the effect of no answer', () => {
    // GIVEN a question about one step
    const { state, waits_for, tape } = plan({
      intent: asking([openQuestion('which_way', { affects_steps: ['cmd_scan'] })]),
    })
    // THEN it is asked, with all that
    expect(state).toBe('AWAITING_ANSWERS')
    expect(waits_for).toMatchObject({
      round: 1,
      policy_constraints: {
        execution_mode: 'interactive',
        question_budget: 5,
        budget_consumed: 1,
        budget_remaining: 4,
      },
    })
    expect(waits_for?.questions).toMatchObject([
      {
        key: 'which_way',
        type: 'blocker',
        blocking_level: 'high',
        evidence_refs: ['ticket_17'],
        default_strategy: { action: 'use', value: 'stop' },
        impact: { scope: 'single_action', affected_steps: ['cmd_scan'] },
      },
    ])
    // AND the move says why it was asked
    expect(tape.entries.at(-1)).toMatchObject({
      from_state: 'QUESTIONS_EMITTED',
      to_state: 'AWAITING_ANSWERS',
      trigger: 'questions_emitted',
    })
    expect(tape.decisions.some(({ decision_type }) => decision_type === 'question_emission')).toBe(true)
  })

  scenario('CO-06', 'The mode decides which types may be asked; the stricter of intent and policy holds', () => {
    const semiAuto = { mode: 'semi_auto', question_budget: 5, question_policy: 'conceptual_only' }
    const blockersOnly = { ...interactive, question_policy: 'blockers_only' }
    // GIVEN one question of each type
    for (const [interaction, mode, asked] of [
      [interactive, 'interactive', types],
      [semiAuto, 'interactive', ['blocker']],
      [interactive, 'semi_auto', ['blocker']],
      [blockersOnly, 'interactive', ['blocker']],
      [{ ...interactive, question_policy: 'never' }, 'interactive', []],
      [{ ...interactive, question_budget: 0 }, 'interactive', []],
      [interactive, 'full_auto', []],
      [fullAuto, 'interactive', []],
    ] as const) {
      // THEN only those that both allow are asked, and a default answers the others
      const change = { intent: asking(oneOfEach, interaction), policy: policyWith({ mode }) }
      expect(keysAsked(change).toSorted()).toEqual(asked.map((type) => `a_${type}`).toSorted())
      if (asked.length === 0) expect(plan(change).state).toBe('DONE')
    }
    // AND the policy may leave out a type by name
    expect(
      keysAsked({
        intent: asking(oneOfEach),
        policy: policyWith({ question_rules: { allowed_types: ['clarification'] } }),
      }),
    ).toEqual(['a_clarification'])
  })

  scenario('CO-06', 'Over budget the most pressing are asked; only one that must be answered blocks', () => {
    const levels = ['low', 'critical', 'medium', 'high'].map((blocking_level) =>
      openQuestion(`is_${blocking_level}`, { blocking_level }),
    )
    // GIVEN four questions of different levels, WHEN there is room for two
    const two = plan({ intent: asking(levels, { ...interactive, question_budget: 2 }) })
    // THEN the two most pressing are asked, and defaults answer the rest
    expect(two.waits_for?.questions.map(({ key }) => key)).toEqual(['is_critical', 'is_high'])
    expect(two.waits_for?.resolved_by_default.map(({ key, value }) => [key, value])).toEqual([
      ['is_medium', 'stop'],
      ['is_low', 'stop'],
    ])
    // WHEN two critical ones have room for one, or one without a default does not fit, THEN it is blocked
    for (const questions of [
      [openQuestion('first', { blocking_level: 'critical' }), openQuestion('second', { blocking_level: 'critical' })],
      [openQuestion('first'), openQuestion('second', { blocking_level: 'low', default_strategy: block })],
    ]) {
      const { state, artifacts } = plan({ intent: asking(questions, { ...interactive, question_budget: 1 }) })
      expect(state).toBe('BLOCKED')
      expect(artifacts.failure_pack).toMatchObject({
        cause: 'question_budget_exceeded',
        failed_at_state: 'QUESTIONS_EMITTED',
      })
      expect(artifacts.failure_pack?.problems[0]?.message).toContain('second')
    }
  })

  scenario('CO-06', 'A question without the evidence that the policy asks for is blocked', () => {
    const intent = asking([openQuestion('which_way')])
    // GIVEN one piece of evidence and a policy that asks for two; and none at all
    expect(plan({ intent, policy: policyWith({ question_rules: { min_evidence_count: 1 } }) }).state).toBe(
      'AWAITING_ANSWERS',
    )
    for (const change of [
      { intent, policy: policyWith({ question_rules: { min_evidence_count: 2 } }) },
      { intent: asking([openQuestion('which_way', { evidence_refs: [] })]) },
    ]) {
      const { state, artifacts } = plan(change)
      // THEN it is not asked
      expect(state).toBe('BLOCKED')
      expect(artifacts.failure_pack).toMatchObject({
        cause: 'question_ungoverned',
        problems: [{ code: 'questions_have_evidence' }],
      })
    }
  })

  scenario('CO-06', 'A question that may not be asked and has no default blocks the plan', () => {
    // GIVEN a question whose default is to block; and a policy that does not fall back
    for (const [question, more] of [
      [openQuestion('which_way', { default_strategy: block }), {}],
      [openQuestion('which_way'), { auto_fallback: false }],
    ] as const) {
      const intent = asking([question], { ...interactive, question_budget: 0 })
      const { state, artifacts } = plan({ intent, policy: policyWith(more) })
      // THEN it is blocked where the graph was drafted
      expect(state).toBe('BLOCKED')
      expect(artifacts.failure_pack).toMatchObject({
        cause: 'question_without_fallback',
        failed_at_state: 'GRAPH_DRAFTED',
      })
    }
  })

  scenario('CO-06', 'Commands ask, lost evidence asks, and a change without a way back asks', () => {
    // GIVEN a command that asks for its target, one without a rollback, and evidence that is unknown
    const { evidence_refs: _, ...target } = openQuestion('which_target', { type: 'clarification' }) as {
      evidence_refs: Json
    }
    const registry = registryWith(
      command('cmd_scan', { asks: [target as never] }),
      command('cmd_write', { effects: ['write'], risk_level: 'medium' }),
    )
    const intent = intentOf((i) => ({
      ...i,
      planned_commands: [
        planned('cmd_read', { evidence_refs: ['ev99'] }),
        planned('cmd_scan'),
        planned('cmd_write', { effects: ['write'] }),
      ],
    }))
    const { waits_for } = plan({ intent, registry })
    // THEN each is a question about its step, with evidence
    expect(
      waits_for?.questions.map(({ key, impact, evidence_refs }) => [key, impact.affected_steps, evidence_refs]),
    ).toEqual([
      ['which_target', ['cmd_scan'], ['registry:command/cmd_scan@1.0.0']],
      ['evidence_not_found', ['cmd_read'], ['ev99']],
      ['no_way_back', ['cmd_write'], ['registry:command/cmd_write@1.0.0']],
    ])
  })
})

describe('Coordinator: AWAITING_ANSWERS', () => {
  const intent = asking([
    openQuestion('must_know', { blocking_level: 'critical' }),
    openQuestion('nice_to_know', { blocking_level: 'low' }),
  ])
  const waiting = plan({ intent })

  scenario('CO-07', 'It waits, and goes on with the answers; a question without an answer takes its default', () => {
    // GIVEN a plan that waits, WHEN the critical question alone is answered
    const done = plan({ intent }, [answering(waiting.waits_for, { must_know: 'go' })])
    // THEN it goes on, and the other question has its default
    expect(done.state).toBe('DONE')
    expect(
      done.artifacts.execution_graph?.applied_answers.map(({ key, value, provided_by }) => [key, value, provided_by]),
    ).toEqual([
      ['must_know', 'go', 'human'],
      ['nice_to_know', 'stop', 'fallback'],
    ])
  })

  scenario('CO-07', 'A pack that does not fit is refused with every problem, and the waiting goes on', () => {
    const pack = waiting.waits_for
    const good = answering(pack, { must_know: 'go' }) as { answer_pack: { answers: Json[] } }
    const first = good.answer_pack.answers[0] as { question_id: string }
    const broken = (change: object) => ({ answer_pack: { ...good.answer_pack, ...change } as Json })
    for (const [round, code, guard] of [
      [answering(pack, { nice_to_know: 'go' }), 'critical_question_unanswered', 'critical_questions_answered'],
      [answering(pack, { must_know: 'perhaps' }), 'answer_unknown', 'answers_fit_schema'],
      [broken({ question_pack_id: 'qpack_0000000000000000' }), 'answer_pack_stale', 'answers_fit_schema'],
      [
        broken({ answers: [first, { ...first, question_id: 'q_0000000000000000' }] }),
        'answer_unasked',
        'answers_fit_schema',
      ],
      [
        // Its value has not the form of a choice either, which does not matter.
        broken({ answers: [first, { question_id: 'nope', answer_type: 'choice', value: '1', provided_by: 'human' }] }),
        'answer_unasked',
        'answers_fit_schema',
      ],
      [broken({ answers: [first, first] }), 'answer_repeated', 'answers_fit_schema'],
      [broken({ answers: [] }), 'answer_pack_invalid', 'answers_fit_schema'],
      [broken({ metadata: { nested: [{ shell: 'rm' }] } }), 'execution_payload', 'answers_fit_schema'],
      [{ answer_pack: 'yes' }, 'answer_pack_invalid', 'answers_fit_schema'],
    ] as const) {
      // WHEN such a pack arrives
      const after = plan({ intent }, [round])
      // THEN nothing moved, the problem is named, and the guard that stopped it is recorded
      expect(after.state).toBe('AWAITING_ANSWERS')
      expect(after.tape).toEqual(waiting.tape)
      expect(after.refused_answers[0]?.problems.map((problem) => problem.code)).toContain(code)
      expect(
        after.refused_answers[0]?.guards.filter(({ passed }) => !passed).map(({ guard_name }) => guard_name),
      ).toEqual([guard])
      expect(after.audit.at(-1)).toMatchObject({ event_type: 'answer_received', severity: 'warning' })
      // AND a good one is still taken
      expect(plan({ intent }, [round, good]).state).toBe('DONE')
    }
  })

  scenario('CO-07', 'Time that runs out is an input: defaults apply, or the plan is blocked', () => {
    // GIVEN questions with defaults, WHEN time runs out, THEN they apply
    const late = plan({ intent }, [{ timed_out: true }])
    expect(late.state).toBe('DONE')
    expect(
      late.artifacts.execution_graph?.applied_answers.map(({ provided_by, value }) => [provided_by, value]),
    ).toEqual([
      ['fallback', 'stop'],
      ['fallback', 'stop'],
    ])
    // GIVEN one whose default is to block, THEN it is blocked and named
    const stuck = plan({ intent: asking([openQuestion('must_know', { default_strategy: block })]) }, [
      { timed_out: true },
    ])
    expect(stuck.state).toBe('BLOCKED')
    expect(stuck.artifacts.failure_pack).toMatchObject({
      cause: 'timed_out',
      failed_at_state: 'AWAITING_ANSWERS',
      problems: [{ message: expect.stringContaining('must_know') }],
    })
    expect(
      stuck.tape.entries.at(-1)?.guards_evaluated.find(({ guard_name }) => guard_name === 'critical_questions_answered')
        ?.passed,
    ).toBe(false)
  })

  test('Withdrawn questions block the plan, even if they have defaults', () => {
    const left = plan({ intent }, [{ withdrawn: true }])
    expect(left.state).toBe('BLOCKED')
    expect(left.artifacts.failure_pack).toMatchObject({
      cause: 'questions_withdrawn',
      failed_at_state: 'AWAITING_ANSWERS',
      needs_person: false,
    })
    expect(left.artifacts.failure_pack?.problems).toHaveLength(left.artifacts.question_pack[0]?.questions.length ?? 0)
    const { trigger, guards_evaluated } = left.tape.entries.at(-1) ?? { guards_evaluated: [] }
    expect(trigger).toBe('timeout_no_fallback')
    expect(guards_evaluated.filter(({ passed }) => !passed).map(({ guard_name }) => guard_name)).toEqual([
      'critical_questions_answered',
    ])
  })

  scenario('CO-07', 'A fallback may be asked for by name, unless the fallback is to block', () => {
    const pack = plan({
      intent: asking([openQuestion('may_fall'), openQuestion('may_not', { default_strategy: block })]),
    }).waits_for
    if (pack === null) throw new Error('Nothing is asked.')
    const answers = pack.questions.map(({ question_id }) => ({
      question_id,
      answer_type: 'fallback',
      provided_by: 'human',
    }))
    // WHEN both are left to their default
    const read = readAnswers(
      { pack_id: 'apack_x1234', schema_version: '1.0.0', question_pack_id: pack.pack_id, answers },
      pack,
    )
    // THEN the one that cannot fall back is refused
    expect(read).toMatchObject({ taken: false, problems: [{ code: 'question_without_fallback' }] })
    const isLeftAfter = (returns: number) => {
      const facts = { problems: [], unanswered: [], withdrawn: false, conflicts: [], all: [], returns }
      return readGuards(answerGuards, facts).find(({ guard_name }) => guard_name === 'conflict_rounds_left')?.passed
    }
    expect([isLeftAfter(2), isLeftAfter(3)]).toEqual([true, false])
  })
})
