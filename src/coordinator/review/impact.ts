import type { PlannedStep } from '../given.ts'
import { idlePhases } from '../graph/checks.ts'
import type { ExecutionGraph } from '../schemas/execution-graph.ts'
import type { ExecutionIntent } from '../schemas/intent.ts'
import type { ExecutionPolicy } from '../schemas/policy.ts'
import type { Command } from '../schemas/registry.ts'
import type { Measure, ReviewPack } from '../schemas/review-pack.ts'

/** The longest way through the graph: what goes side by side is counted once. */
export function longestPath({ nodes, edges }: ExecutionGraph, durations: ReadonlyMap<string, number>): number {
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

/** 0 to 100. Nodes count most; branches and agents that have to meet add to it. */
export function complexityOf(graph: ExecutionGraph): number {
  const { nodes, edges, swimlanes } = graph
  const idle = idlePhases(graph)
  const branches = edges.filter(({ edge_type }) => edge_type !== 'sequential').length
  const busy = swimlanes.filter(({ node_refs }) => node_refs.some((node) => !idle.includes(node))).length
  const score = Number(((nodes.length - idle.length) / 4 + branches / 2 + (busy - 1) * 5).toFixed(0))
  return Math.max(0, Math.min(score, 100))
}

type Basis = Measure['basis'][number]
type Total = (amounts: readonly number[]) => number

/** What the plan is expected to take, against what intent and policy allow. Each figure says where it comes from. */
export function changeImpact(
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
  const perCommit = steps.flatMap((step) => filesPerCommit(step, files) ?? [])
  return {
    files: measure(countedOnce(files, targets), budgets.max_files),
    files_per_commit: measure(
      perCommit,
      constraints.allow_bulk_changes ? null : constraints.max_files_per_commit,
      (amounts) => Math.max(0, ...amounts),
    ),
    commits: measure(known('commits'), budgets.max_commits),
    tokens: measure(known('tokens'), budgets.max_tokens),
    cost_usd: measure(known('cost_usd'), budgets.max_cost_usd),
  }
}

/** Paths that name different files: `./a` and `a` are one. */
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

/** How many files a step changes: as the registry says, else those that the intent targets. Null: unknown. */
function filesOf(step: PlannedStep, targets: number): Basis | null {
  const { step_id, effects } = step
  const estimated = basisOf(step, 'files')
  if (estimated !== null) return estimated
  if (!effects.includes('write')) return { step_id, amount: 0, source: 'it writes nothing' }
  return targets === 0 ? null : { step_id, amount: targets, source: 'the files that the intent targets' }
}

/**
 * The files that the intent targets are the same for every step, so each is counted once, for the first step that
 * needs it. What a step changes beyond them is its own.
 */
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
  return known === undefined ? null : { step_id, amount: known, source: sourceOf(command) }
}

function sourceOf({ id, version }: Command): string {
  return `registry:command/${id}@${version}`
}

/** Sums of decimal fractions drift in the last digits; a millionth of a dollar is exact enough. */
function sum(amounts: readonly number[]): number {
  return Number(amounts.reduce((total, one) => total + one, 0).toFixed(6))
}
