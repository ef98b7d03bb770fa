import { hash } from 'node:crypto'
import * as cedar from '@cedar-policy/cedar-wasm/nodejs'
import { createCedarRuleEngine } from '../../src/adapters/cedar/engines.ts'
import { intentChecksum } from '../../src/coordinator/checksum.ts'
import { coordinate } from '../../src/coordinator/coordinate.ts'
import { step } from '../../src/coordinator/engine.ts'
import type { AnswerRound, CoordinationInput, Ports, Progress } from '../../src/coordinator/progress.ts'
import { admitRegistry } from '../../src/coordinator/registry.ts'
import type { QuestionPack } from '../../src/coordinator/schemas/questions.ts'
import type { RegistrySnapshot } from '../../src/coordinator/schemas/registry.ts'
import type { Json } from '../../src/kernel/json.ts'
import type { CoordinationState } from '../../src/machines/coordination.ts'

/** Real parts: Cedar in WebAssembly and SHA-256 from Node. */
export const ports: Ports = { sha256: (text) => hash('sha256', text), rules: createCedarRuleEngine(cedar) }

type Draft = { [key: string]: Json }

const root = { is_root: true }

export function workflow(id: string, phases: Json, more: Draft = {}): Draft {
  return {
    kind: 'workflow',
    id,
    version: '1.0.0',
    status: 'active',
    title: `Workflow ${id}`,
    lineage: root,
    phases,
    ...more,
  }
}

export function agent(id: string, more: Draft = {}): Draft {
  const model = { provider: 'local_models', locality: 'local' }
  return {
    kind: 'agent',
    id,
    version: '1.0.0',
    status: 'active',
    title: `Agent ${id}`,
    lineage: root,
    roles: ['builder'],
    model,
    ...more,
  }
}

export function command(id: string, more: Draft = {}): Draft {
  return {
    kind: 'command',
    id,
    version: '1.0.0',
    status: 'active',
    title: `Command ${id}`,
    lineage: root,
    effects: ['read'],
    risk_level: 'low',
    estimate: { files: 0, commits: 0, tokens: 1000, cost_usd: 0.1, duration_ms: 1000 },
    ...more,
  }
}

/** `when` is the condition of a Cedar policy. */
export function rule(id: string, verdict: string, when: string, more: Draft = {}, severity = 'warn'): Draft {
  const policy = `@id("${id}") @reason("${id} has its reasons.") @severity("${severity}")
permit (principal, action == Action::"plan", resource) when { ${when} };`
  return {
    kind: 'rule',
    id,
    version: '1.0.0',
    status: 'active',
    title: `Rule ${id}`,
    lineage: root,
    verdict,
    policy,
    ...more,
  }
}

/** A small registry: reading is allowed, writing is reviewed, deploying is warned about. */
export const content: readonly Draft[] = [
  workflow('wf_change', [
    { phase: 'analysis', role: 'reader', commands: ['cmd_read', 'cmd_scan'], parallel: true },
    { phase: 'implementation', role: 'builder', commands: ['cmd_write'] },
    { phase: 'release', role: 'builder', commands: ['cmd_deploy'] },
  ]),
  agent('agent_reader', { roles: ['reader'] }),
  agent('agent_builder'),
  command('cmd_read'),
  command('cmd_scan'),
  command('cmd_write', {
    effects: ['write'],
    risk_level: 'medium',
    rollback: 'Revert the commit.',
    tools: [{ name: 'edit_file' }],
    estimate: { files: 2, commits: 1, tokens: 5000, cost_usd: 0.2, duration_ms: 5000 },
  }),
  command('cmd_deploy', {
    effects: ['deploy'],
    risk_level: 'medium',
    irreversible: true,
    rollback: 'Deploy the version before it.',
    estimate: { files: 0, commits: 0, tokens: 100, cost_usd: 0.3, duration_ms: 60000 },
  }),
  rule('rule_r01_known', 'allow', 'context.evidence_count >= 0', {}, 'info'),
  rule('rule_r02_write', 'require_review', 'context.effects.contains("write")'),
  rule('rule_r03_deploy', 'warn', 'context.effects.contains("deploy")'),
]

export function registryOf(entries: readonly Draft[] = content): RegistrySnapshot {
  const admission = admitRegistry(
    entries.map((entry) => ({ name: `${entry.id}.yaml`, content: entry })),
    ports,
  )
  if (!admission.admitted) throw new Error(JSON.stringify(admission.problems, null, 2))
  return admission.snapshot
}

export function planned(command_id: string, more: Draft = {}): Draft {
  return {
    command_id,
    intent: `Use ${command_id}.`,
    effects: ['read'],
    risk_level: 'low',
    evidence_refs: ['ev1'],
    ...more,
  }
}

/** A valid, sealed intent: reads, then writes, without questions. `change` is made before it is sealed. */
export function intentOf(change: (intent: Draft) => Json | undefined = () => undefined): Json {
  const draft: Draft = {
    id: 'intent_rename_field',
    type: 'execution_intent',
    title: 'Rename a field',
    version: '1.0.0',
    status: 'proposed',
    created_at: '2026-01-25T12:00:00Z',
    lineage: { introduced_in: '0.9.1', derived_from: [], supersedes: [] },
    scope: {
      project_id: 'shop',
      repo_root: '.',
      targets: { files: ['src/order.ts'], modules: [], areas: ['backend'] },
    },
    objective: { goal: 'Rename total to amount.', success_criteria: ['The tests pass.'], non_goals: [] },
    selected_workflows: [{ workflow_id: 'wf_change', phases: ['analysis', 'implementation'] }],
    selected_agents: [
      { agent_id: 'agent_reader', role: 'reader', responsibilities: ['Read.'] },
      { agent_id: 'agent_builder', role: 'builder', responsibilities: ['Write.'] },
    ],
    planned_commands: [
      planned('cmd_read'),
      planned('cmd_scan'),
      planned('cmd_write', { effects: ['write'], risk_level: 'medium' }),
    ],
    interaction: interactionOf('interactive'),
    risk: { overall: 'medium', drivers: ['A public field changes.'], requires_review: ['architecture'] },
    budgets: { max_files: 10, max_commits: 5, max_tokens: 100_000, max_cost_usd: 5 },
    evidence_refs: ['ticket_17'],
    constraints: {
      execution: 'forbidden',
      no_fabrication: true,
      registry_only: true,
      lock_scope: { mode: 'none', paths: [] },
    },
    audit: { created_by: 'someone', source: 'human', checksum: '' },
  }
  return sealed((change(draft) as Draft | undefined) ?? draft)
}

export function sealed(intent: Draft): Draft {
  return { ...intent, audit: { ...(intent.audit as Draft), checksum: intentChecksum(intent, ports.sha256) } }
}

export const policy: Json = { schema_version: '1.0.0', mode: 'interactive' }

export function policyWith(more: object): Json {
  return { ...(policy as object), ...more } as Json
}

/** How an intent in this mode may ask. */
export function interactionOf(mode: string, question_budget = 5): Draft {
  return mode === 'full_auto'
    ? { mode, question_budget: 0, question_policy: 'never' }
    : { mode, question_budget, question_policy: 'conceptual_only' }
}

export const memory: Json = { schema_version: '1.0.0', project_id: 'shop', memories: [] }
export const facts: Json = {
  schema_version: '1.0.0',
  project_id: 'shop',
  repo_fingerprint: 'a'.repeat(64),
  languages: [{ name: 'TypeScript', files: 12, evidence_refs: ['ev1'] }],
  manifests: [],
  scripts: [],
  ci: [],
  tests: [],
  owners: [],
  evidence: [
    {
      id: 'ev1',
      source_file: 'src/order.ts',
      category: 'language',
      snippet: 'export',
      line: 1,
      description: '12 files',
    },
  ],
}

export function inputOf(change: Partial<CoordinationInput> = {}): CoordinationInput {
  return { intent: intentOf(), policy, registry: registryOf(), memory, facts, ...change }
}

export function plan(change: Partial<CoordinationInput> = {}, answers: readonly AnswerRound[] = []) {
  return coordinate(inputOf(change), answers, ports)
}

/** A question for an intent: `go` and `stop` are its answers. */
export function openQuestion(key: string, more: Draft = {}): Draft {
  return {
    key,
    type: 'blocker',
    blocking_level: 'high',
    question_text: `Shall we decide ${key}?`,
    context: 'It has not been decided yet.',
    evidence_refs: ['ticket_17'],
    suggested_answers: [
      { value: 'go', answer_text: 'Yes.', rationale: 'It is wanted.' },
      { value: 'stop', answer_text: 'No.', rationale: 'It is not wanted.' },
    ],
    default_strategy: { action: 'use', value: 'stop', explanation: 'It is not wanted.' },
    ...more,
  }
}

/** Answers a pack: by key, the value chosen; fields without a name here are left out. */
export function answering(pack: QuestionPack | null, choices: Readonly<Record<string, string>>): AnswerRound {
  if (pack === null) throw new Error('Nothing is asked.')
  const answers = pack.questions
    .filter(({ key }) => key in choices)
    .map(({ question_id, key }) => ({
      question_id,
      answer_type: 'choice',
      value: choices[key] ?? '',
      provided_by: 'human',
    }))
  return {
    answer_pack: {
      pack_id: `apack_round_${pack.round}`,
      schema_version: '1.0.0',
      question_pack_id: pack.pack_id,
      answers,
    },
  }
}

/** The small registry with other rules: nothing is allowed but by what is given. */
export function rulesOnly(...rules: readonly Draft[]): RegistrySnapshot {
  return registryOf([...content.filter(({ kind }) => kind !== 'rule'), ...rules])
}

/** The small registry with some entries replaced by ones of the same kind and id. */
export function registryWith(...entries: readonly Draft[]): RegistrySnapshot {
  const replaced = (one: Draft) => entries.some(({ kind, id }) => kind === one.kind && id === one.id)
  return registryOf([...content.filter((one) => !replaced(one)), ...entries])
}

/** Steps until the state is reached, so that its work can be looked at, or tampered with, before it is done. */
export function until(state: CoordinationState, progress: Progress): Progress {
  let at = progress
  for (let i = 0; i < 50 && at.state !== state; i++) at = step(at, ports)
  if (at.state !== state) throw new Error(`It never came to ${state}.`)
  return at
}
