import { intentChecksum } from '../src/coordinator/checksum.ts'
import type { CoordinationInput, Ports } from '../src/coordinator/progress.ts'
import { admitRegistry, type RegistrySource } from '../src/coordinator/registry.ts'
import type { Json } from '../src/kernel/json.ts'

const commands = 80
const rules = 200
const phases = ['setup', 'analysis', 'design', 'implementation', 'validation', 'review', 'release', 'operations']

/** A large plan: every second command writes, every fourth is reviewed, and each rule looks at several attributes. */
export function planInput(ports: Ports): CoordinationInput & { commands: number; rules: number } {
  const admission = admitRegistry([...workflowSources(), ...commandSources(), ...ruleSources()], ports)
  if (!admission.admitted) throw new Error(JSON.stringify(admission.problems))
  return {
    intent: intentOf(ports),
    policy: { schema_version: '1.0.0', mode: 'interactive', risk_profile: 'aggressive_safe' },
    registry: admission.snapshot,
    memory: { schema_version: '1.0.0', project_id: 'bench', memories: [] },
    facts: facts(),
    commands,
    rules,
  }
}

const versioned = { version: '1.0.0', status: 'active', lineage: { is_root: true } }

function workflowSources(): RegistrySource[] {
  const listed = phases.map((phase, p) => ({
    phase,
    role: `role_${p % 4}`,
    parallel: p % 2 === 0,
    commands: Array.from({ length: commands }, (_, i) => i)
      .filter((i) => i % phases.length === p)
      .map((i) => `cmd_${i}`),
  }))
  const agents = Array.from({ length: 4 }, (_, i) => ({
    kind: 'agent',
    id: `agent_${i}`,
    ...versioned,
    title: `Agent ${i}`,
    roles: [`role_${i}`],
    model: { provider: 'local_models', locality: 'local' },
  }))
  const workflow = { kind: 'workflow', id: 'wf_bench', ...versioned, title: 'Bench', phases: listed }
  return [workflow, ...agents].map((content) => ({ name: content.id, content }))
}

function commandSources(): RegistrySource[] {
  return Array.from({ length: commands }, (_, i) => {
    const content = {
      kind: 'command',
      id: `cmd_${i}`,
      ...versioned,
      title: `Command ${i}`,
      effects: effectsOf(i),
      risk_level: 'medium',
      rollback: 'Revert the commit.',
      tools: [{ name: 'edit_file' }, { name: `tool_${i}` }],
      estimate: { files: 1, commits: 0, tokens: 1000, cost_usd: 0.01, duration_ms: 1000 },
    }
    return { name: content.id, content }
  })
}

function ruleSources(): RegistrySource[] {
  const verdicts = ['allow', 'warn', 'require_review', 'deny']
  return Array.from({ length: rules }, (_, i) => {
    const id = `rule_r${i}`
    const verdict = verdicts[i % 4] ?? 'allow'
    const policy = `@id("${id}") @reason("Reason ${i}") @severity("warn")
permit (principal, action == Action::"plan", resource) when { ${conditionOf(verdict, i)} };`
    return { name: id, content: { kind: 'rule', id, ...versioned, title: `Rule ${i}`, verdict, policy } }
  })
}

function conditionOf(verdict: string, i: number): string {
  if (verdict === 'allow')
    return i === 0
      ? 'context.evidence_count > 0'
      : `context.phase == "${phases[i % phases.length]}" && context.risk < 3`
  if (verdict === 'warn') return `context.effects.contains("write") && context.tools.contains("tool_${i % commands}")`
  if (verdict === 'require_review')
    return `resource == Command::"cmd_${((i - 2) / 4) % 30}" && context.target_files > 1`
  return `context.locality == "remote" && context.overall_risk > ${i % 4} && !context.has_rollback`
}

function effectsOf(i: number): string[] {
  return i % 2 === 0 ? ['read'] : ['read', 'write']
}

function intentOf({ sha256 }: Ports): Json {
  const draft = {
    id: 'intent_bench_plan',
    type: 'execution_intent',
    title: 'A large plan',
    version: '1.0.0',
    status: 'proposed',
    created_at: '2026-01-25T12:00:00Z',
    lineage: { introduced_in: '0.9.1', derived_from: [], supersedes: [] },
    scope: {
      project_id: 'bench',
      repo_root: '.',
      targets: { files: ['a.ts', 'b.ts'], modules: [], areas: ['backend'] },
    },
    objective: { goal: 'Measure.', success_criteria: ['It is fast.'], non_goals: [] },
    selected_workflows: [{ workflow_id: 'wf_bench', phases }],
    selected_agents: Array.from({ length: 4 }, (_, i) => ({
      agent_id: `agent_${i}`,
      role: `role_${i}`,
      responsibilities: ['Work.'],
    })),
    planned_commands: Array.from({ length: commands }, (_, i) => ({
      command_id: `cmd_${i}`,
      intent: `Use command ${i}.`,
      effects: effectsOf(i),
      risk_level: 'medium',
      evidence_refs: ['ev1', 'ticket_1'],
    })),
    interaction: { mode: 'interactive', question_budget: 5, question_policy: 'conceptual_only' },
    risk: { overall: 'medium', drivers: ['It is large.'], requires_review: ['architecture', 'cost'] },
    budgets: { max_files: 500, max_commits: 50, max_tokens: 2_000_000, max_cost_usd: 100 },
    evidence_refs: ['ticket_1'],
    constraints: {
      execution: 'forbidden',
      no_fabrication: true,
      registry_only: true,
      lock_scope: { mode: 'none', paths: [] },
    },
    audit: { created_by: 'bench', source: 'human', checksum: '' },
  }
  return { ...draft, audit: { ...draft.audit, checksum: intentChecksum(draft, sha256) } }
}

function facts(): Json {
  return {
    schema_version: '1.0.0',
    project_id: 'bench',
    repo_fingerprint: '0'.repeat(64),
    languages: [{ name: 'TypeScript', files: 100, evidence_refs: ['ev1'] }],
    manifests: [],
    scripts: [],
    ci: [],
    tests: [],
    owners: [],
    evidence: [
      { id: 'ev1', source_file: 'a.ts', category: 'language', snippet: '', line: 1, description: '100 files' },
    ],
  }
}
