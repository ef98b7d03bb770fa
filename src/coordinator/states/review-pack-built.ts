import type { FailureCause } from '../failures.ts'
import { type Cause, type GuardTable, judge, unless } from '../guard-table.ts'
import type { Handler } from '../handler.ts'
import { redLineChecks, redLineRules } from '../red-lines.ts'
import { reviewPackOf } from '../review/pack.ts'
import type { RedLineName } from '../schemas/problem.ts'
import { measures, type ReviewPack } from '../schemas/review-pack.ts'
import { highestRisk } from '../schemas/scalars.ts'

/** Writes the review and checks the red lines on the final plan. */
export const reviewPackBuilt: Handler = (progress, ports) => {
  const graph = progress.artifacts.execution_graph
  if (graph === undefined) throw new Error('There is no review before the graph is final.')
  const pack = reviewPackOf(progress, graph, ports)
  return {
    ...judge(reviewGuards, pack, 'review_pack_ready'),
    produced: [{ type: 'review_pack', artifact: pack }],
    audit: redLineChecks(pack.red_lines),
  }
}

/** The first red line that an answer crossed names the cause; the problems of all crossed lines are listed. */
function crossed(line: RedLineName, cause: FailureCause): Cause<ReviewPack> {
  const problems = ({ red_lines }: ReviewPack) => {
    const all = red_lines.filter(({ verdict }) => verdict === 'crossed')
    return all[0]?.red_line === line ? all.flatMap((one) => one.problems) : []
  }
  return [cause, `${line} is crossed: ${redLineRules[line]}`, 'budget_violated', problems]
}

/** The guards of REVIEW_PACK_BUILT. */
// biome-ignore format: tables are audited by eye
export const reviewGuards: GuardTable<ReviewPack> = [
  ['red_lines_satisfied', ({ red_lines }) => unless(
    red_lines.filter(({ verdict }) => verdict !== 'holds').map(({ red_line, reason }) => `${red_line} (${reason})`),
    'All five red lines hold on the plan as it will be frozen.',
    'Crossed, or not evaluated'),
    crossed('RL1', 'execution_payload'),
    crossed('RL2', 'question_ungoverned'),
    crossed('RL3', 'full_auto_risk'),
    crossed('RL4', 'action_without_evidence'),
    crossed('RL5', 'reference_missing')],

  ['review_categories_satisfied', ({ requires_review, review_gates }) => unless(
    requires_review.filter((required) => !review_gates.some(({ category, criteria }) => category === required && criteria.length > 0)),
    'Every required review has its gate.',
    'Required and without a gate'),
    ['review_unsatisfied', 'A required review has no gate in the plan.', 'budget_violated']],

  ['impact_within_budgets', ({ change_impact: impact }) => {
    const unknown = measures.filter((what) => impact[what].within === 'not_evaluated')
    const open = unknown.length === 0 ? '' : ` Not every step has an estimate of ${unknown.join(', ')}.`
    const over = measures.filter((what) => impact[what].within === 'no')
    return unless(
      over.map((what) => `${what} ${impact[what].estimated} of ${impact[what].allowed}`),
      `The estimates keep every budget.${open}`,
      'Over budget') },
    ['budget_exceeded', 'The plan takes more than it is allowed.', 'budget_violated']],

  ['risk_is_justified', ({ risk: { overall, justification } }) => {
    const highest = highestRisk(justification.map(({ level }) => level))
    if (justification.length === 0 || highest !== overall)
      return { holds: false, because: `The risk is said to be ${overall}; its factors make it ${highest}.` }
    return unless(
      justification.filter(({ evidence_refs }) => evidence_refs.length === 0).map(({ reason }) => reason),
      `The risk is ${overall}, and every factor rests on evidence.`,
      'Without evidence') },
    ['risk_unjustified', 'The risk of the plan does not rest on evidence.', 'budget_violated']],
]
