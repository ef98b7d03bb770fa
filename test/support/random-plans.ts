import fc from 'fast-check'
import type { AnswerRound, CoordinationInput } from '../../src/coordinator/progress.ts'
import type { QuestionPack } from '../../src/coordinator/schemas/questions.ts'
import type { RegistrySnapshot } from '../../src/coordinator/schemas/registry.ts'
import type { Json } from '../../src/kernel/json.ts'
import {
  agent,
  command,
  facts,
  intentOf,
  interactionOf,
  memory,
  openQuestion,
  planned,
  registryOf,
  rule,
  workflow,
} from './coordinator.ts'
import type { Known, KnownCommand, KnownRule } from './plan-judge.ts'

const commands: readonly KnownCommand[] = [
  {
    id: 'cmd_read',
    risk_level: 'low',
    effects: ['read'],
    estimate: { files: 0, commits: 0, tokens: 10, cost_usd: 0.1 },
  },
  { id: 'cmd_note', risk_level: 'low', effects: ['read'], estimate: {} },
  {
    id: 'cmd_edit',
    risk_level: 'medium',
    effects: ['write'],
    rollback: 'Revert.',
    estimate: { files: 3, commits: 1, tokens: 20, cost_usd: 0.2 },
  },
  { id: 'cmd_rename', risk_level: 'low', effects: ['write'], rollback: 'Revert.', estimate: { commits: 1, tokens: 5 } },
  { id: 'cmd_move', risk_level: 'low', effects: ['write'], rollback: 'Revert.', estimate: { files: 8, commits: 2 } },
  { id: 'cmd_guard', risk_level: 'low', effects: ['security'], estimate: { commits: 1, cost_usd: 0.3 } },
  { id: 'cmd_fetch', risk_level: 'medium', effects: ['network'], estimate: { tokens: 30, cost_usd: 0.15 } },
  { id: 'cmd_ship', risk_level: 'high', effects: ['deploy'], irreversible: true, rollback: 'Ship.', estimate: {} },
  { id: 'cmd_wipe', risk_level: 'critical', effects: ['data'], irreversible: true, estimate: { commits: 0 } },
]

/** A rule in Cedar and in TypeScript. */
type Both = KnownRule & { readonly when: string }
const both = (
  id: string,
  [verdict, severity]: readonly [KnownRule['verdict'], KnownRule['severity']],
  when: string,
  fires: KnownRule['fires'],
): Both => ({ id, verdict, severity, when, fires })

const effect = (id: string, kind: readonly [KnownRule['verdict'], KnownRule['severity']], name: string) =>
  both(id, kind, `context.effects.contains("${name}")`, ({ effects }) => effects.includes(name))
const known = both('rule_known', ['allow', 'info'], 'context.risk >= 0', () => true)

const ruleSets: Readonly<Record<string, readonly Both[]>> = {
  plain: [
    known,
    effect('rule_write', ['require_review', 'warn'], 'write'),
    effect('rule_ship', ['warn', 'warn'], 'deploy'),
  ],
  strict: [
    known,
    effect('rule_guard', ['deny', 'warn'], 'security'),
    both('rule_grave', ['require_review', 'error'], 'context.risk >= 2', ({ risk }) => risk >= 2),
  ],
  answered: [
    known,
    both('rule_stop', ['deny', 'error'], 'context.answers.contains("open_0=stop")', ({ answers }) =>
      answers.includes('open_0=stop'),
    ),
    effect('rule_data', ['require_review', 'warn'], 'data'),
  ],
  torn: [
    both('rule_always', ['allow', 'block'], 'context.risk >= 0', () => true),
    effect('rule_never', ['deny', 'block'], 'network'),
  ],
  silent: [
    both(
      'rule_read',
      ['allow', 'info'],
      'context.effects.contains("read") || context.effects.contains("write")',
      ({ effects }) => effects.includes('read') || effects.includes('write'),
    ),
  ],
}

/** One registry for each set of rules, so that Cedar parses each set once. */
const registries = new Map<string, { registry: RegistrySnapshot; known: Known }>(
  Object.entries(ruleSets).map(([name, rules]) => [
    name,
    {
      registry: registryOf([
        workflow('wf_any', [{ phase: 'analysis' }, { phase: 'implementation' }]),
        agent('agent_any'),
        ...commands.map(({ id, ...more }) => command(id, more as { [key: string]: Json })),
        ...rules.map(({ id, verdict, severity, when }) => rule(id, verdict, when, {}, severity)),
      ]),
      known: { commands, rules, agents: { agent_any: ['builder'] }, phases: ['analysis', 'implementation'] },
    },
  ]),
)

const level = fc.constantFrom('low', 'medium', 'high', 'critical')
const mild = fc.constantFrom(...Array(9).fill('low'), 'medium', 'high', 'critical')
const often = <T>(usual: T, ...others: readonly T[]) =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(usual) }, ...others.map((one) => fc.constant(one)))

const step = fc.record({
  command_id: fc.oneof(
    { weight: 60, arbitrary: fc.constantFrom('cmd_read', 'cmd_note', 'cmd_edit', 'cmd_rename', 'cmd_move') },
    { weight: 12, arbitrary: fc.constantFrom('cmd_guard', 'cmd_fetch', 'cmd_ship', 'cmd_wipe') },
    { weight: 1, arbitrary: fc.constant('cmd_unknown') },
  ),
  risk_level: mild,
  evidence_refs: fc.oneof({ weight: 30, arbitrary: fc.constant(['ev1']) }, fc.constant([])),
  after: fc.option(fc.nat(5), { nil: undefined, freq: 3 }),
})

const question = fc.record({
  type: fc.constantFrom('blocker', 'blocker', 'clarification', 'optimization', 'risk_mitigation'),
  blocking_level: fc.constantFrom('critical', 'high', 'medium', 'low'),
  default: fc.constantFrom('go', 'stop', 'wait', 'block'),
  affects: fc.subarray([0, 1, 2, 3, 4]),
  drops: fc.subarray([0, 1, 2, 3, 4], { maxLength: 2 }),
  restates: level,
})

const generated = fc.record({
  rules: fc.constantFrom(
    'plain',
    'plain',
    'plain',
    'strict',
    'strict',
    'answered',
    'answered',
    'answered',
    'torn',
    'silent',
  ),
  steps: fc.array(step, { minLength: 1, maxLength: 5 }),
  questions: fc.array(question, { maxLength: 3 }),
  mode: fc.constantFrom(...Array(4).fill('interactive'), 'semi_auto', 'full_auto'),
  policyMode: fc.constantFrom(...Array(4).fill('interactive'), 'semi_auto', 'full_auto'),
  budget: fc.constantFrom(0, 1, 2, 5, 5, 5),
  overall: mild,
  files: fc.array(fc.constantFrom('a.ts', './a.ts', 'b.ts', 'c.ts', 'd.ts', 'e.ts', 'f.ts'), { maxLength: 7 }),
  max: fc.record({
    max_files: fc.constantFrom(2, 6, 20, 50),
    max_commits: fc.constantFrom(1, 5, 50, 50),
    max_tokens: fc.constantFrom(30, 1000, 1000),
    max_cost_usd: fc.constantFrom(0.3, 10, 10, 10),
  }),
  policy: fc.record({
    risk_profile: fc.constantFrom('safe', 'aggressive_safe', 'aggressive'),
    auto_fallback: often(true, false),
    constraints: fc.record({
      allow_destructive: fc.boolean(),
      allow_bulk_changes: often(false, true),
      max_files_per_commit: fc.constantFrom(2, 5, 50),
      forbidden_operations: often<Json>([], [], ['deploy'], ['cmd_note'], ['cmd_unheard_of']),
    }),
  }),
  metadata: fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom<Json>({}, { run_id: 'r_1' }, { notes: [{ dry_run: 'exec' }] }) },
    fc.constantFrom<Json>(
      { exec: 'ls' },
      { deep: [{ 'run ': 1 }] },
      Object.fromEntries([['ѕhеll', 'ls']]),
      { commandLine: '' },
      { shell_command: 'x' },
    ),
  ),
  memory: often<'kept' | 'gone'>('kept', 'kept', 'kept', 'gone'),
  seal: often<'sealed' | 'broken'>('sealed', 'sealed', 'sealed', 'broken'),
  role: fc.oneof({ weight: 29, arbitrary: fc.constant('builder') }, fc.constant('releaser')),
})

type Generated = typeof generated extends fc.Arbitrary<infer T> ? T : never

/** An input of any kind with the right shape, what its registry holds, and numbers that choose the answers. */
export const randomPlan = fc.record({
  input: generated.map((g) => ({ ...inputFrom(g), known: registries.get(g.rules)?.known as Known })),
  // Some people insist: they give the same answer however often they are asked.
  choices: fc.oneof(
    { weight: 3, arbitrary: fc.array(fc.nat(50), { minLength: 6, maxLength: 6 }) },
    fc.nat(50).map((choice) => Array.from({ length: 6 }, () => choice)),
  ),
})

function inputFrom(g: Generated): { readonly input: CoordinationInput } {
  const names = g.steps.map((_, n) => `step_${n}`)
  const named = (places: readonly number[]) => places.flatMap((n) => names[n] ?? [])
  const sealed = intentOf((i) => ({
    ...i,
    scope: { project_id: 'shop', repo_root: '.', targets: { files: g.files, modules: [], areas: [] } },
    selected_workflows: [{ workflow_id: 'wf_any', phases: ['analysis', 'implementation'] }],
    selected_agents: [{ agent_id: 'agent_any', role: g.role, responsibilities: ['All.'] }],
    planned_commands: g.steps.map(({ command_id, after, ...more }, n) =>
      planned(command_id, {
        ...more,
        step_id: `step_${n}`,
        effects: [...(commands.find(({ id }) => id === command_id)?.effects ?? ['read'])],
        // Mostly on an earlier step; now and then two steps wait for each other.
        ...(after === undefined || n === 0 ? {} : { depends_on: [`step_${after === 5 && n === 4 ? n : after % n}`] }),
      }),
    ),
    open_questions: g.questions.map((one, n) =>
      openQuestion(`open_${n}`, {
        type: one.type,
        blocking_level: one.blocking_level,
        affects_steps: named(one.affects),
        suggested_answers: [
          {
            value: 'go',
            answer_text: 'Yes.',
            rationale: 'So.',
            effect: { set_risk: riskOf(named(one.affects), one.restates) },
          },
          { value: 'stop', answer_text: 'No.', rationale: 'So.', effect: { drop_steps: named(one.drops) } },
          { value: 'wait', answer_text: 'Later.', rationale: 'So.', effect: { review_steps: named(one.affects) } },
        ],
        default_strategy:
          one.default === 'block'
            ? { action: 'block', explanation: 'A person decides.' }
            : { action: 'use', value: one.default, explanation: 'So.' },
      }),
    ),
    interaction: interactionOf(g.mode, g.budget),
    risk: { overall: g.overall, drivers: ['Any.'], requires_review: ['architecture'] },
    budgets: g.max,
    metadata: g.metadata,
  })) as { [key: string]: Json }
  const intent = g.seal === 'sealed' ? sealed : { ...sealed, title: 'Another title' }
  const registry = registries.get(g.rules)?.registry as RegistrySnapshot
  const policy = { schema_version: '1.0.0', mode: g.policyMode, ...g.policy }
  return { input: { intent, policy, registry, facts, memory: g.memory === 'kept' ? memory : null } }
}

function riskOf(steps: readonly string[], restated: string): Json {
  return Object.fromEntries(steps.map((name) => [name, restated]))
}

/** The input of one round: a timeout, a cancel, or an answer of any kind to each question. */
export function roundFor(pack: QuestionPack, choice: number): AnswerRound {
  if (choice % 7 === 0) return { timed_out: true }
  if (choice % 16 === 1) return { withdrawn: true }
  const answers = pack.questions.map(({ question_id, suggested_answers }, i) => {
    const about = { question_id, provided_by: 'human' }
    const pick = (choice + i) % (suggested_answers.length + 3)
    const suggested = suggested_answers[pick]
    if (suggested !== undefined) return { ...about, answer_type: 'choice', value: suggested.value }
    if (pick === suggested_answers.length) return { ...about, answer_type: 'text', answer_text: 'As you see fit.' }
    if (pick === suggested_answers.length + 1)
      return { ...about, answer_type: 'structured', answer_data: { n: choice } }
    return { ...about, answer_type: 'fallback' }
  })
  const pack_id = `apack_round_${pack.round}_${choice}`
  return { answer_pack: { pack_id, schema_version: '1.0.0', question_pack_id: pack.pack_id, answers } as Json }
}
