import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { advance, begin } from '../../src/coordinator/engine.ts'
import type { AnswerRound } from '../../src/coordinator/progress.ts'
import { finalRedLines } from '../../src/coordinator/review.ts'
import type { Json } from '../../src/kernel/json.ts'
import {
  answering,
  command,
  inputOf,
  intentOf,
  interactionOf,
  openQuestion,
  plan,
  planned,
  policyWith,
  ports,
  registryWith,
} from '../support/coordinator.ts'
import { isProof } from '../support/sampling.ts'

const levels = ['low', 'medium', 'high', 'critical'] as const
const modes = ['interactive', 'semi_auto', 'full_auto'] as const

const riskQuestion = (key: string, first: object, second: object, more: object = {}) =>
  openQuestion(key, {
    suggested_answers: [
      { value: 'go', answer_text: 'Yes.', rationale: 'It is wanted.', effect: first },
      { value: 'stop', answer_text: 'No.', rationale: 'It is not wanted.', effect: second },
    ],
    default_strategy: { action: 'use', value: 'go', explanation: 'Go.' },
    ...more,
  } as never)

describe('red lines before freezing', () => {
  test('F-08 coordinator: a default that raises the risk to critical blocks a full_auto plan', () => {
    const intent = intentOf((i) => ({
      ...i,
      interaction: interactionOf('full_auto'),
      open_questions: [riskQuestion('which_way', { set_risk: { cmd_scan: 'critical' } }, {})] as Json,
    }))
    const { state, artifacts, audit } = plan({ intent })
    expect(state).toBe('BLOCKED')
    expect(artifacts.failure_pack).toMatchObject({
      cause: 'full_auto_risk',
      failure_type: 'policy_violation',
      failed_at_state: 'REVIEW_PACK_BUILT',
    })
    expect(artifacts.review_pack?.red_lines[2]).toMatchObject({ red_line: 'RL3', verdict: 'crossed' })
    expect(audit.filter(({ severity }) => severity === 'critical')).toMatchObject([
      { event_type: 'red_line_check', at_state: 'REVIEW_PACK_BUILT', refs: ['RL3'] },
    ])
  })

  test('F-08 coordinator: no answers, defaults or silences freeze a plan that crosses a red line', () => {
    const effect = fc.record(
      {
        set_risk: fc.dictionary(fc.constantFrom('cmd_read', 'cmd_scan', 'cmd_write'), fc.constantFrom(...levels)),
        drop_steps: fc.subarray(['cmd_read', 'cmd_scan']),
      },
      { requiredKeys: [] },
    )
    const seen = { blocked: 0, done: 0 }
    fc.assert(
      fc.property(
        fc.array(fc.tuple(effect, effect, fc.constantFrom('blocker', 'clarification')), { minLength: 1, maxLength: 3 }),
        fc.constantFrom(...modes),
        fc.constantFrom(...modes),
        fc.constantFrom(...levels),
        fc.constantFrom('go', 'stop', 'silence'),
        (questions, mode, policyMode, commandRisk, choice) => {
          const intent = intentOf((i) => ({
            ...i,
            interaction: interactionOf(mode),
            open_questions: questions.map(([first, second, type], n) =>
              riskQuestion(`open_${n}`, first, second, { type }),
            ) as Json,
          }))
          const given = {
            intent,
            registry: registryWith(command('cmd_scan', { risk_level: commandRisk })),
            policy: policyWith({ mode: policyMode }),
          }
          const asked = plan(given).artifacts.question_pack.at(-1)
          const round: AnswerRound | undefined =
            asked === undefined
              ? undefined
              : choice === 'silence'
                ? { timed_out: true }
                : answering(asked, Object.fromEntries(asked.questions.map(({ key }) => [key, choice])))
          const { state, artifacts } = plan(given, round === undefined ? [] : [round])
          if (state !== 'DONE') {
            seen.blocked += 1
            return
          }
          seen.done += 1
          expect(artifacts.review_pack?.red_lines.map(({ verdict }) => verdict)).toEqual(Array(5).fill('holds'))
          if (artifacts.run_summary?.mode === 'full_auto')
            expect(['low', 'medium']).toContain(artifacts.run_summary.overall_risk)
        },
      ),
      { numRuns: isProof ? 1_000 : 25, seed: 8 },
    )
    expect(Math.min(seen.blocked, seen.done)).toBeGreaterThan(2)
  })
})

describe('red lines and budgets that cannot be evaluated', () => {
  test('F-09 precheck: an intent that cannot be read leaves RL2 to RL5 not_evaluated, in report and audit log', () => {
    const { artifacts, audit } = plan({ intent: { title: 'x' } as Json })
    expect(artifacts.precheck_report?.red_lines.map(({ verdict }) => verdict)).toEqual([
      'holds',
      'not_evaluated',
      'not_evaluated',
      'not_evaluated',
      'not_evaluated',
    ])
    const said = audit.filter(({ event_type }) => event_type === 'red_line_check').map((e) => e.message)
    expect(said).toHaveLength(5)
    expect(said.filter((message) => message.includes('holds'))).toEqual([
      'RL1 holds: An intent carries nothing to execute.',
    ])
    expect(said[2]).toBe('RL3 is not evaluated: The intent does not have the shape of an intent.')
  })

  test('F-09 precheck: RL3 is not_evaluated under a policy that cannot be read', () => {
    const { artifacts } = plan({ policy: { mode: 'full_auto' } as never })
    expect(artifacts.precheck_report?.red_lines[2]).toMatchObject({
      verdict: 'not_evaluated',
      reason: 'The mode is not known: the policy does not have the shape of a policy.',
    })
  })

  test('F-09 review: RL2, RL4 and RL5 are computed from the plan and can be crossed', () => {
    const progress = advance(begin(inputOf(), ports), ports)
    const graph = progress.artifacts.execution_graph as NonNullable<typeof progress.artifacts.execution_graph>
    const lines = (change: object, drawn = graph) =>
      finalRedLines({ ...progress, ...change }, drawn)
        .filter(({ verdict }) => verdict !== 'holds')
        .map(({ red_line, verdict }) => `${red_line} ${verdict}`)
    const bundle = progress.artifacts.context_bundle as { effective: object }
    const auto = { ...bundle, effective: { ...bundle.effective, mode: 'full_auto' } }
    const asked = { ledger: { ...progress.ledger, asked: ['q_1'] } }
    expect(lines({})).toEqual([])
    expect(lines(asked)).toEqual([])
    expect(lines({ ...asked, artifacts: { ...progress.artifacts, context_bundle: auto } })).toContain('RL2 crossed')
    const bare = { ...graph, nodes: graph.nodes.map((node) => ({ ...node, evidence_refs: [] })) }
    expect(lines({}, bare)).toEqual(['RL4 crossed'])
    const strange = { ...graph, swimlanes: graph.swimlanes.map((lane) => ({ ...lane, agent_id: 'agent_none' })) }
    expect(lines({}, strange)).toEqual(['RL5 crossed'])
    const unassessed = { artifacts: { ...progress.artifacts, risk_assessment: [], precheck_report: undefined } }
    expect(lines(unassessed)).toEqual(['RL3 not_evaluated', 'RL5 not_evaluated'])
  })

  test('F-09 review: a budget that no estimate speaks to is not_evaluated, and an absent duration is null', () => {
    const registry = registryWith(
      command('cmd_scan', { estimate: {} }),
      command('cmd_read', { estimate: { tokens: 5 } }),
    )
    const intent = intentOf((i) => ({ ...i, planned_commands: [planned('cmd_read'), planned('cmd_scan')] }))
    const { artifacts } = plan({ intent, registry })
    expect(artifacts.review_pack).toMatchObject({
      plan_summary: { estimated_duration_ms: null, duration_not_estimated: ['cmd_read', 'cmd_scan'] },
      change_impact: {
        files: { estimated: 0, within: 'yes' },
        tokens: { estimated: 5, within: 'not_evaluated', not_estimated: ['cmd_scan'] },
        cost_usd: { estimated: null, within: 'not_evaluated' },
      },
    })
  })
})
