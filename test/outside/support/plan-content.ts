import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Json } from 'statewright'

export type Entry = Readonly<Record<string, Json>>

const made = (kind: string, id: string, more: Entry): Entry => ({
  kind,
  id,
  version: '1.0.0',
  status: 'active',
  title: `The ${kind} ${id}`,
  lineage: { is_root: true },
  ...more,
})

export const agentEntry = (id: string, more: Entry = {}): Entry =>
  made('agent', id, { roles: ['builder'], model: { provider: 'local_models', locality: 'local' }, ...more })

export const commandEntry = (id: string, more: Entry = {}): Entry =>
  made('command', id, {
    effects: ['read'],
    risk_level: 'low',
    estimate: { files: 0, commits: 0, tokens: 1000, cost_usd: 0.1, duration_ms: 1000 },
    ...more,
  })

/** A Cedar rule that fires under a condition. */
export const ruleEntry = (id: string, verdict: string, when: string, severity = 'warn'): Entry =>
  made('rule', id, {
    verdict,
    policy: `@id("${id}") @reason("${id} has its reasons.") @severity("${severity}")
permit (principal, action == Action::"plan", resource) when { ${when} };`,
  })

export const usualRules = [
  ruleEntry('rule_known', 'allow', 'context.evidence_count >= 0', 'info'),
  ruleEntry('rule_write', 'require_review', 'context.effects.contains("write")'),
  ruleEntry('rule_deploy', 'warn', 'context.effects.contains("deploy")'),
]

/** Reading is allowed, writing is reviewed, deploying is warned about. */
export const usualContent: readonly Entry[] = [
  made('workflow', 'wf_change', {
    phases: [
      { phase: 'analysis', role: 'reader', commands: ['cmd_read', 'cmd_scan'], parallel: true },
      { phase: 'implementation', role: 'builder', commands: ['cmd_write'] },
      { phase: 'release', role: 'builder', commands: ['cmd_deploy'] },
    ],
  }),
  agentEntry('agent_reader', { roles: ['reader'] }),
  agentEntry('agent_builder'),
  commandEntry('cmd_read'),
  commandEntry('cmd_scan'),
  commandEntry('cmd_write', {
    effects: ['write'],
    risk_level: 'medium',
    rollback: 'Revert the commit.',
    tools: [{ name: 'edit_file' }],
    estimate: { files: 2, commits: 1, tokens: 5000, cost_usd: 0.2, duration_ms: 5000 },
  }),
  commandEntry('cmd_deploy', {
    effects: ['deploy'],
    risk_level: 'medium',
    rollback: 'Deploy the version before it.',
    estimate: { files: 0, commits: 0, tokens: 100, cost_usd: 0.3, duration_ms: 60_000 },
  }),
  ...usualRules,
]

/** The usual content with some entries in the place of those with the same id. */
export function contentWith(...entries: readonly Entry[]): readonly Entry[] {
  return [...usualContent.filter(({ id }) => !entries.some((entry) => entry.id === id)), ...entries]
}

/** The usual content with other rules and no others. */
export function contentRuledBy(...rules: readonly Entry[]): readonly Entry[] {
  return [...usualContent.filter(({ kind }) => kind !== 'rule'), ...rules]
}

/** Writes a registry as a folder of files, as an operator keeps one. */
export function writeRegistry(folder: string, content: readonly Entry[]): string {
  const registry = join(folder, 'registry')
  mkdirSync(registry, { recursive: true })
  for (const entry of content) writeFileSync(join(registry, `${entry.id}.json`), JSON.stringify(entry))
  return registry
}

export const step = (command_id: string, more: Entry = {}): Entry => ({
  command_id,
  intent: `Use ${command_id}.`,
  effects: ['read'],
  risk_level: 'low',
  evidence_refs: ['ev1'],
  ...more,
})

/** An intent that reads, scans and writes, and asks nothing. Its checksum is left to the one who takes it in. */
export const intentWith = (more: Entry = {}): Entry => ({
  id: 'intent_rename_field',
  type: 'execution_intent',
  title: 'Rename a field',
  version: '1.0.0',
  status: 'proposed',
  created_at: '2026-01-25T12:00:00Z',
  lineage: { introduced_in: '0.9.1', derived_from: [], supersedes: [] },
  scope: { project_id: 'shop', repo_root: '.', targets: { files: ['src/order.ts'], modules: [], areas: ['backend'] } },
  objective: { goal: 'Rename total to amount.', success_criteria: ['The tests pass.'], non_goals: [] },
  selected_workflows: [{ workflow_id: 'wf_change', phases: ['analysis', 'implementation'] }],
  selected_agents: [
    { agent_id: 'agent_reader', role: 'reader', responsibilities: ['Read.'] },
    { agent_id: 'agent_builder', role: 'builder', responsibilities: ['Write.'] },
  ],
  planned_commands: [
    step('cmd_read'),
    step('cmd_scan'),
    step('cmd_write', { effects: ['write'], risk_level: 'medium' }),
  ],
  interaction: { mode: 'interactive', question_budget: 5, question_policy: 'conceptual_only' },
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
  ...more,
})

/** A question that may be answered with `go` or `stop`; silence means `stop`. */
export const question = (key: string, more: Entry = {}): Entry => ({
  key,
  type: 'blocker',
  blocking_level: 'high',
  question_text: `Shall we decide ${key}?`,
  context: 'It was not said yet.',
  evidence_refs: ['ticket_17'],
  affects_steps: ['cmd_scan'],
  suggested_answers: [
    { value: 'go', answer_text: 'Yes.', rationale: 'It is wanted.' },
    { value: 'stop', answer_text: 'No.', rationale: 'It is not wanted.' },
  ],
  default_strategy: { action: 'use', value: 'stop', explanation: 'It was not wanted.' },
  ...more,
})

export const asking = (...questions: readonly Entry[]): Entry => intentWith({ open_questions: questions })

export const fullAuto: Entry = {
  interaction: { mode: 'full_auto', question_budget: 0, question_policy: 'never' },
}

export const usualFacts: Entry = {
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

export const usualMemory: Entry = {
  schema_version: '1.0.0',
  project_id: 'shop',
  memories: [{ id: 'mem_outage', type: 'incident', scope: 'project', content: 'It broke once.', confidence: 0.9 }],
}

export const usualPolicy: Entry = { schema_version: '1.0.0', mode: 'interactive' }
