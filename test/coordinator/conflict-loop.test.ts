import { describe, expect } from 'vitest'
import { tapeMoves } from '../../src/coordinator/outputs/verify.ts'
import type { AnswerRound } from '../../src/coordinator/progress.ts'
import { audit } from '../../src/kernel/transition.ts'
import { coordinationMachine } from '../../src/machines/coordination.ts'
import { answering, intentOf, openQuestion, plan, rule, rulesOnly } from '../support/coordinator.ts'
import { scenario } from '../support/scenario.ts'

/** Rules that do not let the scan go to production. */
const registry = rulesOnly(
  rule('rule_ok', 'allow', 'context.risk >= 0'),
  rule('rule_no_production', 'deny', 'context.answers.contains("target=production")'),
  rule('rule_no_both', 'deny', 'context.answers.contains("left=go") && context.answers.contains("right=go")'),
)
const target = openQuestion('target', {
  affects_steps: ['cmd_scan'],
  suggested_answers: [
    { value: 'production', answer_text: 'Production.', rationale: 'It is real.' },
    { value: 'staging', answer_text: 'Staging.', rationale: 'It is safe.' },
  ],
  default_strategy: { action: 'use', value: 'staging', explanation: 'Staging is safe.' },
})
const intent = intentOf((i) => ({
  ...i,
  open_questions: [target, openQuestion('other', { affects_steps: ['cmd_read'] })],
}))

/** Answers round after round, each to the pack that is asked then. */
function playing(choices: readonly Readonly<Record<string, string>>[]) {
  const rounds: AnswerRound[] = []
  for (const choice of choices) rounds.push(answering(plan({ intent, registry }, rounds).waits_for, choice))
  return plan({ intent, registry }, rounds)
}

const wrong = { target: 'production', other: 'go' }

describe('Coordinator: AWAITING_ANSWERS and RULES_EVALUATED', () => {
  scenario('CO-16', 'An answer that the rules do not let stand sends the plan back to them', () => {
    // GIVEN an answer against the rules, and one that is fine
    const once = playing([wrong])
    // THEN the plan went back to the rules and asks again: only the refused question, with the reason
    expect(once.state).toBe('AWAITING_ANSWERS')
    expect(once.waits_for).toMatchObject({ round: 2 })
    expect(once.waits_for?.questions.map(({ key }) => key)).toEqual(['target'])
    expect(once.waits_for?.questions[0]?.context).toContain('"production" cannot stand: cmd_scan: rule_no_production')
    expect(
      once.tape.entries.filter(
        ({ from_state, to_state }) => from_state === 'AWAITING_ANSWERS' && to_state === 'RULES_EVALUATED',
      ),
    ).toHaveLength(1)
    // AND the question is not paid for twice
    expect(once.waits_for?.policy_constraints).toMatchObject({ budget_consumed: 2, question_budget: 5 })
    // WHEN it is answered with the rules, THEN there is a plan
    const done = playing([wrong, { target: 'staging' }])
    expect(done.state).toBe('DONE')
    expect(done.artifacts.execution_graph?.applied_answers.map(({ key, value }) => [key, value])).toEqual([
      ['target', 'staging'],
      ['other', 'go'],
    ])
    expect(done.audit.map(({ event_type }) => event_type)).toEqual(
      expect.arrayContaining(['conflict_detected', 'conflict_resolved']),
    )
  })

  scenario('CO-16', 'Three times is allowed; the fourth is blocked, with all conflicts listed', () => {
    // GIVEN three answers against the rules
    const again = { target: 'production' }
    const three = playing([wrong, again, again])
    // THEN it still asks
    expect(three.state).toBe('AWAITING_ANSWERS')
    expect(playing([wrong, again, again, { target: 'staging' }]).state).toBe('DONE')
    // WHEN the fourth is against them too
    const four = playing([wrong, again, again, again])
    // THEN it is blocked, and every conflict is on the list
    expect(four.state).toBe('BLOCKED')
    expect(four.artifacts.failure_pack).toMatchObject({
      cause: 'conflict_limit_reached',
      failed_at_state: 'AWAITING_ANSWERS',
    })
    expect(four.artifacts.failure_pack?.problems.map(({ message }) => message.slice(0, 26))).toEqual([
      'Round 1: target=production',
      'Round 2: target=production',
      'Round 3: target=production',
      'Round 4: target=production',
    ])
    expect(
      four.tape.entries.at(-1)?.guards_evaluated.find(({ guard_name }) => guard_name === 'conflict_rounds_left'),
    ).toMatchObject({ passed: false })
    expect(four.tape.entries.filter(({ to_state }) => to_state === 'RULES_EVALUATED')).toHaveLength(4)
  })

  scenario('CO-16', 'Answers that only together are against the rules are all asked again', () => {
    // GIVEN two answers that are fine alone
    const both = intentOf((i) => ({
      ...i,
      open_questions: [
        openQuestion('left', { affects_steps: ['cmd_scan'] }),
        openQuestion('right', { affects_steps: ['cmd_scan'] }),
      ],
    }))
    const asked = plan({ intent: both, registry }).waits_for
    expect(plan({ intent: both, registry }, [answering(asked, { left: 'go', right: 'stop' })]).state).toBe('DONE')
    // WHEN they are given together, THEN both come back
    const clash = plan({ intent: both, registry }, [answering(asked, { left: 'go', right: 'go' })])
    expect(clash.waits_for).toMatchObject({ round: 2, questions: [{ key: 'left' }, { key: 'right' }] })
  })

  scenario(
    'CO-16',
    'Only the answer at fault comes back; a question that was left to its default is not asked instead',
    () => {
      // GIVEN three questions about one step and room for two of them
      const three = intentOf((i) => ({
        ...i,
        interaction: { mode: 'interactive', question_budget: 2, question_policy: 'conceptual_only' },
        open_questions: [
          target,
          openQuestion('other', { affects_steps: ['cmd_scan'] }),
          openQuestion('third', { affects_steps: ['cmd_scan'] }),
        ],
      }))
      const asked = plan({ intent: three, registry }).waits_for
      expect(asked?.questions.map(({ key }) => key)).toEqual(['target', 'other'])
      // WHEN one of the two answers is against the rules
      const clash = plan({ intent: three, registry }, [answering(asked, { target: 'production', other: 'go' })])
      // THEN it alone is asked again
      expect(clash.waits_for?.questions.map(({ key }) => key)).toEqual(['target'])
      expect(clash.waits_for?.resolved_by_default.map(({ key }) => key)).toEqual(['third'])
      expect(clash.waits_for?.policy_constraints).toMatchObject({ budget_consumed: 2, budget_remaining: 0 })
    },
  )

  scenario('CO-16', 'There is no other way back', () => {
    // GIVEN the declaration and every tape of this file
    const order = Object.keys(coordinationMachine.states)
    const backward = coordinationMachine.transitions.filter(({ from, to }) => order.indexOf(to) < order.indexOf(from))
    // THEN the one edge that leads back is this one
    expect(backward.map(({ from, to }) => `${from} ${to}`)).toEqual(['AWAITING_ANSWERS RULES_EVALUATED'])
    // AND the tapes are legal by the declaration
    for (const { tape } of [
      playing([wrong]),
      playing([wrong, wrong, wrong, wrong].map((_, i) => (i === 0 ? wrong : { target: 'production' }))),
    ]) {
      expect(audit(coordinationMachine, tapeMoves(tape))).toEqual([])
    }
  })
})
