import type { Json } from '../kernel/json.ts'
import { idOf } from './checksum.ts'
import { type Given, givenOf, type PlannedStep } from './given.ts'
import { actionsWithoutEvidence, idlePhases } from './graph/checks.ts'
import type { Ports, Progress } from './progress.ts'
import { executionPayloads, fullAutoRisk, redLinesOf } from './red-lines.ts'
import type { RegistryIndex } from './registry.ts'
import type { ExecutionPolicy } from './schemas/context.ts'
import type { ExecutionIntent } from './schemas/intent.ts'
import type { RegistryReference } from './schemas/judgement.ts'
import type { ExecutionGraph, Measure, ReviewPack } from './schemas/plan.ts'
import type { Command } from './schemas/registry.ts'
import type { RedLine } from './schemas/scalars.ts'

/** The plan as its reviewers read it. */
export function reviewPackOf(progress: Progress, graph: ExecutionGraph, { sha256 }: Ports): ReviewPack {
  const given = givenOf(progress)
  const { intent, steps } = given
  const actions = graph.nodes.filter(({ node_type }) => node_type === 'action_proposal')
  const planned = steps.filter(({ step_id }) => actions.some(({ step_ref }) => step_ref === step_id))
  const durations = new Map<string, number>()
  for (const { node_id, step_ref } of actions) {
    const known = planned.find(({ step_id }) => step_id === step_ref)?.command.estimate.duration_ms
    if (known !== undefined) durations.set(node_id, known)
  }
  const untimed = planned.filter(({ command }) => command.estimate.duration_ms === undefined)
  const { overall_risk = intent.risk.overall, factors = [] } = progress.artifacts.risk_assessment.at(-1) ?? {}
  const decisions = progress.artifacts.rule_decisions.at(-1)?.decisions ?? []
  const judged = decisions.filter(({ step_id }) => planned.some((step) => step.step_id === step_id))
  const gates = graph.nodes.filter(({ node_type }) => node_type === 'review_gate')
  return {
    pack_id: idOf('review', [progress.run_id, graph.checksum], sha256),
    schema_version: '2.2.0',
    intent_id: intent.id,
    graph_id: graph.graph_id,
    plan_summary: {
      goal: intent.objective.goal,
      success_criteria: intent.objective.success_criteria,
      phases: graph.nodes.filter(({ node_type }) => node_type === 'phase').length - idlePhases(graph).length,
      actions: actions.length,
      dropped_steps: graph.dropped_steps.map(({ step_id, reason }) => ({ step_id, reason })),
      estimated_duration_ms: durations.size === 0 && actions.length > 0 ? null : longestPath(graph, durations),
      duration_not_estimated: untimed.map(({ step_id }) => step_id),
      complexity_score: complexityOf(graph),
    },
    risk: {
      overall: overall_risk,
      justification: factors.map(({ reason, level, evidence_refs }) => ({ reason, level, evidence_refs })),
    },
    change_impact: changeImpact(planned, intent, given.policy),
    rollback_guide: rollbackGuide(given, actions),
    review_gates: gates.map(({ node_id, review_category: category, step_ref, review_criteria: criteria }) => {
      return { node_id, category: category ?? null, step_id: step_ref ?? null, criteria: criteria ?? [] }
    }),
    requires_review: intent.risk.requires_review,
    warnings: judged.flatMap(({ step_id, matched_rules }) => {
      const warned = matched_rules.filter(({ verdict }) => verdict === 'warn')
      return warned.map(({ rule_id, reason }) => ({ step_id, rule_id, reason }))
    }),
    red_lines: finalRedLines(progress, graph),
  }
}

/** The way to undo the plan, the last action first. Steps that only read are left out. */
function rollbackGuide({ steps }: Given, actions: ExecutionGraph['nodes']): ReviewPack['rollback_guide'] {
  return actions
    .toReversed()
    .flatMap(({ node_id, step_ref }) => {
      const step = steps.find(({ step_id }) => step_id === step_ref)
      if (step === undefined) return []
      const { rollback, irreversible } = step.command
      if (rollback === undefined && step.effects.every((effect) => effect === 'read')) return []
      const instruction = rollback ?? 'The registry does not say how to undo this.'
      return [{ step_id: step.step_id, node_id, is_irreversible: irreversible, instruction }]
    })
    .map((step, i) => ({ order: i + 1, ...step }))
}

/** Checks all red lines on the plan to be frozen, because answers may have changed it since the precheck. */
export function finalRedLines(progress: Progress, graph: ExecutionGraph): RedLine[] {
  const { context, index } = givenOf(progress)
  const { input, artifacts, ledger } = progress
  const { mode } = context.effective
  const risk = artifacts.risk_assessment.at(-1)?.overall_risk
  const confirmed = artifacts.precheck_report?.registry.confirmed
  const unassessed = { not_evaluated: 'The risk of the plan was never assessed.' }
  const unread = { not_evaluated: 'The registry was never looked at.' }
  const problem = (code: string, what: string) => (id: string) => ({ code, message: `${id} ${what}.`, refs: [id] })
  const asked = problem('full_auto_asked', 'was asked in full_auto')
  const bare = problem('action_without_evidence', 'has no evidence')
  return redLinesOf({
    RL1: { problems: [input.intent, ...acceptedPacks(ledger)].flatMap((carried) => executionPayloads(carried)) },
    RL2: { problems: mode === 'full_auto' ? ledger.asked.map(asked) : [] },
    RL3: risk === undefined ? unassessed : { problems: fullAutoRisk(mode, risk) },
    RL4: { problems: actionsWithoutEvidence(graph).map(bare) },
    RL5: confirmed === undefined ? unread : { problems: unknownContent(graph, confirmed, index) },
  })
}

/** The accepted answer packs, as they arrived. */
function acceptedPacks({ arrived, read, refused }: Progress['ledger']): readonly Json[] {
  const isRefused = (i: number) => refused.some((one) => one.arrived === i)
  return arrived
    .slice(0, read)
    .flatMap((round, i) => ('answer_pack' in round && !isRefused(i) ? [round.answer_pack] : []))
}

/** Commands, agents and roles of the graph that the precheck did not find in the registry. */
function unknownContent(graph: ExecutionGraph, confirmed: readonly RegistryReference[], index: RegistryIndex) {
  const { nodes, swimlanes } = graph
  const known = new Set(confirmed.map(({ kind, id, version }) => `${kind} ${id} ${version}`))
  const commands = nodes
    .filter(({ command_ref }) => command_ref !== undefined)
    .map(({ command_ref, command_version }) => `command ${command_ref} ${command_version}`)
    .filter((command) => !known.has(command))
  const agents = swimlanes.flatMap(({ agent_id, role }) => {
    const agent = confirmed.find(({ kind, id }) => kind === 'agent' && id === agent_id)
    if (agent === undefined) return [`agent ${agent_id}`]
    const entry = index.versions('agent', agent_id).find(({ version }) => version === agent.version)
    return entry?.roles.includes(role) === true ? [] : [`agent ${agent_id} as ${role}`]
  })
  return [...commands, ...agents].map((what) => {
    return { code: 'reference_missing', message: `The plan uses ${what}, which the registry does not have.` }
  })
}

function longestPath({ nodes, edges }: ExecutionGraph, durations: ReadonlyMap<string, number>): number {
  const before = Map.groupBy(edges, ({ to_node }) => to_node)
  const done = new Map<string, number>()
  const finish = (node: string): number => {
    const known = done.get(node)
    if (known !== undefined) return known
    const start = Math.max(0, ...(before.get(node) ?? []).map(({ from_node }) => finish(from_node)))
    const end = start + (durations.get(node) ?? 0)
    done.set(node, end)
    return end
  }
  return Math.max(0, ...nodes.map(({ node_id }) => finish(node_id)))
}

/** The complexity, from 0 to 100. Nodes count most; branches and agents that have to meet add to it. */
function complexityOf(graph: ExecutionGraph): number {
  const { nodes, edges, swimlanes } = graph
  const idle = idlePhases(graph)
  const branches = edges.filter(({ edge_type }) => edge_type !== 'sequential').length
  const busy = swimlanes.filter(({ node_refs }) => node_refs.some((node) => !idle.includes(node))).length
  const score = Number(((nodes.length - idle.length) / 4 + branches / 2 + (busy - 1) * 5).toFixed(0))
  return Math.max(0, Math.min(score, 100))
}

type Basis = Measure['basis'][number]
type Total = (amounts: readonly number[]) => number

/** The estimated impact of the plan next to the limits of intent and policy. Each figure names its source. */
function changeImpact(
  steps: readonly PlannedStep[],
  { budgets, scope }: ExecutionIntent,
  { constraints }: ExecutionPolicy,
): ReviewPack['change_impact'] {
  const targets = distinctFiles(scope.targets.files).length
  const measure = (known: readonly Basis[], allowed: number | null, total: Total = sum): Measure => {
    const amount = total(known.map((one) => one.amount))
    const not_estimated = steps.map(({ step_id }) => step_id).filter((id) => !known.some((one) => one.step_id === id))
    return {
      estimated: known.length === 0 && steps.length > 0 ? null : amount,
      allowed,
      within: allowed === null ? 'yes' : amount > allowed ? 'no' : not_estimated.length > 0 ? 'not_evaluated' : 'yes',
      basis: [...known],
      not_estimated,
    }
  }
  const known = (amount: 'commits' | 'tokens' | 'cost_usd') => steps.flatMap((step) => basisOf(step, amount) ?? [])
  const files = steps.flatMap((step) => filesOf(step, targets) ?? [])
  const mostPerCommit = constraints.allow_bulk_changes ? null : constraints.max_files_per_commit
  const perCommit = steps.flatMap((step) => filesPerCommit(step, files) ?? [])
  return {
    files: measure(countedOnce(files, targets), budgets.max_files),
    files_per_commit: measure(perCommit, mostPerCommit, (amounts) => Math.max(0, ...amounts)),
    commits: measure(known('commits'), budgets.max_commits),
    tokens: measure(known('tokens'), budgets.max_tokens),
    cost_usd: measure(known('cost_usd'), budgets.max_cost_usd),
  }
}

/** Paths that name different files: `./a` and `a` name the same one. */
export function distinctFiles(paths: readonly string[]): readonly string[] {
  return [...new Set(paths.map(plainPath))]
}

function plainPath(path: string): string {
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..') parts.pop()
    else parts.push(part)
  }
  return `${path.startsWith('/') ? '/' : ''}${parts.join('/')}`
}

/** The number of files that a step changes: from the registry, else from the targets of the intent. Null: unknown. */
function filesOf(step: PlannedStep, targets: number): Basis | null {
  const { step_id, effects } = step
  const estimated = basisOf(step, 'files')
  if (estimated !== null) return estimated
  if (!effects.includes('write')) return { step_id, amount: 0, source: 'it writes nothing' }
  return targets === 0 ? null : { step_id, amount: targets, source: 'the files that the intent targets' }
}

/** Each targeted file counts once, for the first step that changes it. Files beyond the targets count for each step. */
function countedOnce(files: readonly Basis[], targets: number): Basis[] {
  let uncounted = targets
  return files.map(({ step_id, amount, source }) => {
    const shared = Math.min(amount, targets)
    const fresh = Math.min(shared, uncounted)
    uncounted -= fresh
    const again = shared - fresh
    const counted = again === 0 ? source : `${source}; ${again} of them are counted for an earlier step`
    return { step_id, amount: amount - again, source: counted }
  })
}

function filesPerCommit(step: PlannedStep, files: readonly Basis[]): Basis | null {
  const { step_id, command } = step
  const changed = files.find((one) => one.step_id === step_id)
  const { commits } = command.estimate
  if (changed === undefined || (commits === undefined && changed.amount > 0)) return null
  if (commits === undefined || commits === 0 || changed.amount === 0)
    return { step_id, amount: 0, source: 'it commits no files' }
  return { step_id, amount: Math.ceil(changed.amount / commits), source: `${changed.source}, in ${commits} commits` }
}

function basisOf({ step_id, command }: PlannedStep, amount: keyof Command['estimate']): Basis | null {
  const known = command.estimate[amount]
  if (known === undefined) return null
  return { step_id, amount: known, source: `registry:command/${command.id}@${command.version}` }
}

/** Adds decimal fractions, rounded to a millionth: plain sums drift in the last digits. */
function sum(amounts: readonly number[]): number {
  return Number(amounts.reduce((total, one) => total + one, 0).toFixed(6))
}
