import * as cedar from '@cedar-policy/cedar-wasm/nodejs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createCedarRuleEngine } from '../../src/adapters/cedar/engines.ts'
import { conclude } from '../../src/coordinator/rules/adjudicate.ts'
import { type RuleContext, type RuleSets, ruleAttributes } from '../../src/coordinator/rules/engine.ts'
import type { MatchedRule } from '../../src/coordinator/schemas/judgement.ts'
import { type RiskLevel, riskLevel, severity, verdicts } from '../../src/coordinator/schemas/scalars.ts'
import { plan, rule, rulesOnly } from '../support/coordinator.ts'

const matched = (verdict: MatchedRule['verdict'], severity: MatchedRule['severity'] = 'warn'): MatchedRule => ({
  rule_id: `rule_${verdict}_${severity}`,
  version: '1.0.0',
  verdict,
  severity,
  reason: 'Because.',
})

describe('Coordinator: verdicts', () => {
  test('every combination of verdicts, severities and risks gives what the table says', () => {
    const one = fc.record({ verdict: fc.constantFrom(...verdicts), severity: fc.constantFrom(...severity.options) })
    fc.assert(
      fc.property(
        fc.array(one, { maxLength: 5 }),
        fc.constantFrom(...riskLevel.options),
        fc.boolean(),
        (fired, risk, broken) => {
          const rules = fired.map(({ verdict, severity }) => matched(verdict, severity))
          const result = conclude(rules, broken ? [{ rule_id: 'rule_x', message: 'overflow' }] : [], risk as RiskLevel)
          const has = (verdict: string) => rules.some((rule) => rule.verdict === verdict)
          const expected =
            broken || rules.length === 0
              ? null
              : has('deny')
                ? 'deny'
                : has('require_review')
                  ? 'require_review'
                  : has('warn')
                    ? 'warn'
                    : 'allow'
          expect(result.decision).toBe(expected)
          expect(result.undecidable_because.length > 0).toBe(expected === null)
          const blocks = (verdict: string) =>
            rules.some((rule) => rule.verdict === verdict && rule.severity === 'block')
          expect(result.is_hard_deny).toBe(
            expected === 'deny' && (blocks('deny') || risk === 'high' || risk === 'critical'),
          )
          expect(result.conflict !== null).toBe(blocks('allow') && blocks('deny'))
          expect(result.reason).not.toBe('')
        },
      ),
      { numRuns: 500, seed: 4 },
    )
  })
})

const context: RuleContext = {
  step: 's',
  mode: 'interactive',
  workflow: 'w',
  phase: 'analysis',
  role: 'r',
  effects: ['read'],
  tools: [],
  risk: 1,
  overall_risk: 1,
  irreversible: false,
  has_rollback: true,
  evidence_count: 1,
  areas: [],
  target_files: 1,
  requires_review: [],
  risk_profile: 'safe',
  allow_destructive: false,
  allow_bulk_changes: false,
  provider: 'p',
  locality: 'local',
  languages: [],
  has_tests: false,
  has_ci: false,
  has_owners: false,
  memory_count: 0,
  answers: [],
}

describe('Coordinator: Cedar', () => {
  const engine = createCedarRuleEngine(cedar)
  const request = { agent_id: 'agent_x', command_id: 'cmd_x', context }
  const permit = (condition: string) => `permit (principal, action, resource) when { ${condition} };`
  const sets = (digest: string, policies: Partial<RuleSets['policies']>): RuleSets => ({
    digest,
    policies: { deny: {}, require_review: {}, warn: {}, allow: {}, ...policies },
  })

  test('every rule that fires is named, in order, by its class', () => {
    const rules = sets('a', {
      allow: {
        rule_b: permit('context.risk == 1'),
        rule_a: permit('context.mode == "interactive"'),
        rule_c: permit('context.risk == 2'),
      },
      deny: { rule_d: permit('resource == Command::"cmd_y"') },
    })
    expect(engine.judge(rules, [request, { ...request, command_id: 'cmd_y' }])).toEqual([
      { matched: { deny: [], require_review: [], warn: [], allow: ['rule_a', 'rule_b'] }, errors: [] },
      { matched: { deny: ['rule_d'], require_review: [], warn: [], allow: ['rule_a', 'rule_b'] }, errors: [] },
    ])
  })

  test('a rule that fails while it is evaluated is an error, although Cedar itself passes over it', () => {
    const rules = sets('b', {
      deny: { rule_boom: permit('context.risk * 9223372036854775807 * 2 > 0') },
      allow: { rule_ok: permit('context.risk == 1') },
    })
    expect(engine.judge(rules, [request])).toMatchObject([
      {
        matched: { allow: ['rule_ok'] },
        errors: [{ rule_id: 'rule_boom', message: expect.stringContaining('overflow') }],
      },
    ])
  })

  test('rules that were never admitted and do not hold are errors for every request, never silence', () => {
    for (const bad of ['permit (principal, action, resource) when { context.nope };', 'nonsense'])
      expect(
        engine.judge(sets(`c ${bad}`, { deny: { rule_bad: bad }, allow: { rule_ok: permit('context.risk == 1') } }), [
          request,
          request,
        ]),
      ).toMatchObject([{ errors: [{}] }, { errors: [{}] }])
  })

  test('a request that the vocabulary does not know is an error', () => {
    const rules = sets('d', { allow: { rule_ok: permit('context.risk == 1') } })
    const { memory_count: _, ...less } = context
    expect(engine.judge(rules, [{ ...request, context: less as RuleContext }])[0]?.errors.length).toBeGreaterThan(0)
  })

  test('more rule sets than are kept parsed still give each its own answer', () => {
    const all = Array.from({ length: 20 }, (_, i) =>
      sets(`many ${i}`, { allow: { [`rule_${i}`]: permit('context.risk == 1') } }),
    )
    for (const round of [all, all.toReversed()])
      for (const rules of round)
        expect(engine.judge(rules, [request])[0]?.matched.allow).toEqual(Object.keys(rules.policies.allow))
  })
})

test('rules: two engines in one process never judge by the rules of the other', () => {
  const permit = '@id("rule_x") @reason("x") @severity("block") permit (principal, action, resource);'
  const request = { agent_id: 'a', command_id: 'c', context }
  const [forbids, allows] = [createCedarRuleEngine(cedar), createCedarRuleEngine(cedar)]
  const none = { deny: {}, require_review: {}, warn: {}, allow: {} }
  const forbidden = { digest: 'forbids', policies: { ...none, deny: { rule_x: permit } } }
  const allowed = { digest: 'allows', policies: { ...none, allow: { rule_x: permit } } }
  for (const _ of [1, 2]) {
    expect(forbids.judge(forbidden, [request])[0]?.matched).toMatchObject({ deny: ['rule_x'], allow: [] })
    expect(allows.judge(allowed, [request])[0]?.matched).toMatchObject({ deny: [], allow: ['rule_x'] })
  }
})

describe('F-53 rules', () => {
  const engine = createCedarRuleEngine(cedar)
  const policy = (condition: string) =>
    `@id("rule_x") @reason("x") @severity("warn") permit (principal, action, resource) when { ${condition} };`

  test('F-53 rules: one mistake of a rule is listed once, wherever it stands, without its consequences', () => {
    for (const condition of ['context.nope && context.nope', 'action == Action::"other"', 'principal is Stranger'])
      expect(engine.check('rule_x', policy(condition)).problems, condition).toHaveLength(1)
    expect(engine.check('rule_x', policy('context.nope || context.neither')).problems).toHaveLength(2)
  })

  test('F-53 rules: a request that no rule can read is one error, not one for each verdict', () => {
    const rules = { deny: { rule_x: policy('context.risk == 1') }, require_review: {}, warn: {}, allow: {} }
    const request = { agent_id: 'a', command_id: 'c', context: {} as never }
    expect(engine.judge({ digest: 'f53', policies: rules }, [request])[0]?.errors).toHaveLength(1)
  })

  test('F-53 rules: an undecided verdict names the rule that failed', () => {
    const boom = rule('rule_boom', 'warn', 'context.memory_count * 9223372036854775807 + 9223372036854775807 > -1')
    const memories = [1, 2].map((n) => ({ id: `m${n}`, type: 't', scope: 'repo', content: 'c', confidence: 1 }))
    const { artifacts } = plan({
      registry: rulesOnly(boom),
      memory: { schema_version: '1.0.0', project_id: 'shop', memories },
    })
    expect(artifacts.failure_pack?.problems[0]?.message).toMatch(/^cmd_read: rule_boom: integer overflow/)
  })

  test('F-53 rules: the schema declares every attribute of the context, and a rule that reads one is valid', () => {
    expect(Object.keys(ruleAttributes)).toHaveLength(26)
    const sample = { String: '== "x"', Long: '== 1', Bool: '== true', 'Set<String>': '.contains("x")' }
    for (const [name, { type }] of Object.entries(ruleAttributes)) {
      const condition = type === 'Set<String>' ? `context.${name}${sample[type]}` : `context.${name} ${sample[type]}`
      expect(engine.check('rule_x', policy(condition)).problems, name).toEqual([])
    }
  })
})
