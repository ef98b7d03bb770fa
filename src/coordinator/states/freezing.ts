import type { Sha256 } from '../../kernel/digest.ts'
import { checksumOf } from '../checksum.ts'
import { givenOf, mustResolve } from '../given.ts'
import { type Cause, type GuardTable, type Handler, judge, unless, unlessProblems } from '../guard-table.ts'
import { artifactTypes, lineageOf, listArtifacts } from '../outputs/lineage.ts'
import type { Artifacts, Progress } from '../progress.ts'
import { redLineChecks, redLineRules } from '../red-lines.ts'
import { reviewPackOf } from '../review.ts'
import type { RegistryReference } from '../schemas/judgement.ts'
import { measures, type ReviewPack } from '../schemas/plan.ts'
import type { Lineage, OutputProduced } from '../schemas/record.ts'
import { highestRisk, problemsOf, type RedLineName } from '../schemas/scalars.ts'

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
function crossed(line: RedLineName, cause: Cause<ReviewPack>[0]): Cause<ReviewPack> {
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

type Content = Omit<RegistryReference, 'checksum'>

/** Writes the lineage and checks every output once more. */
export const frozenOutputs: Handler = (progress, { sha256, rules }) => {
  const { artifacts, entries } = progress
  const lineage = lineageOf(progress, { sha256, rules })
  const recorded = entries.flatMap(({ outputs_produced }) => outputs_produced)
  return {
    ...judge(frozenGuards, { artifacts, recorded, lineage, used: usedContent(progress), sha256 }, 'all_outputs_frozen'),
    produced: [{ type: 'lineage', artifact: lineage }],
  }
}

/** Every workflow, agent and command of the plan, and every rule that matched. */
function usedContent(progress: Progress): Content[] {
  const { intent, index, steps } = givenOf(progress)
  const rules = progress.artifacts.rule_decisions.flatMap(({ decisions }) =>
    decisions.flatMap(({ matched_rules }) => matched_rules),
  )
  return [
    ...intent.selected_workflows.map((w) => mustResolve(index, 'workflow', w.workflow_id, w.version)),
    ...intent.selected_agents.map((a) => mustResolve(index, 'agent', a.agent_id, a.version)),
    ...steps.map(({ command }) => command),
  ]
    .map(({ kind, id, version }): Content => ({ kind, id, version }))
    .concat(rules.map(({ rule_id, version }) => ({ kind: 'rule', id: rule_id, version })))
}

interface FrozenFacts {
  readonly artifacts: Artifacts
  /** The outputs that the tape recorded as they were made. */
  readonly recorded: readonly OutputProduced[]
  readonly lineage: Lineage
  /** The content that the plan uses. */
  readonly used: readonly Content[]
  readonly sha256: Sha256
}

/** The guards of FROZEN_OUTPUTS. */
// biome-ignore format: tables are audited by eye
export const frozenGuards: GuardTable<FrozenFacts> = [
  ['outputs_have_checksums', ({ artifacts, recorded, sha256 }) => unless(
    listArtifacts(artifacts)
      .filter(({ type, id, artifact }) => {
        const checksum = checksumOf(artifact, sha256)
        return !recorded.some((one) => one.artifact_type === type && one.artifact_id === id && one.checksum === checksum)
      })
      .map(({ name }) => name),
    'Every output has the checksum that was recorded when it was made.',
    'Changed since they were recorded, or never recorded'),
    ['checksum_failed', 'An output is not what was recorded.', 'checksum_lineage_failed']],

  ['lineage_is_complete', ({ lineage: { registry_versions, outputs, derived_from_intent }, used, recorded }) => unless(
    [
      ...used
        .filter(({ kind, id, version }) => !registry_versions.some((one) => one.kind === kind && one.id === id && one.version === version))
        .map(({ kind, id, version }) => `${kind} ${id} ${version}`),
      ...recorded.filter((one) => !outputs.some(({ checksum }) => checksum === one.checksum)).map(({ artifact_id }) => artifact_id),
      ...(derived_from_intent === null ? ['the intent'] : []),
    ],
    'Everything can be traced back to the intent and the registry.',
    'Not to be traced back'),
    ['lineage_incomplete', 'The outputs cannot be traced back.', 'checksum_lineage_failed']],

  ['outputs_fit_schema', ({ artifacts }) => unlessProblems(
    listArtifacts(artifacts).flatMap(({ type, name, artifact }) => {
      const { error } = artifactTypes[type].schema.safeParse(artifact)
      const problems = error === undefined ? [] : problemsOf(error, 'schema', name)
      return problems.map(({ code, path, message }) => ({ code, message: `${path}: ${message}.` }))
    }),
    'Every output has its shape.'),
    ['artifact_schema_violation', 'An output does not have its own shape.', 'schema_violated']],
]
