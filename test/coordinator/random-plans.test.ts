import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Coordination, coordinate } from '../../src/coordinator/coordinate.ts'
import { freeze } from '../../src/coordinator/outputs/freeze.ts'
import { verifyPlan } from '../../src/coordinator/outputs/verify.ts'
import type { AnswerRound, CoordinationInput } from '../../src/coordinator/progress.ts'
import { ports } from '../support/coordinator.ts'
import { type Files, judgePlan, type Known, type Lines, type Measured } from '../support/plan-judge.ts'
import { randomPlan, roundFor } from '../support/random-plans.ts'
import { isProof, seed } from '../support/sampling.ts'
import { createTally } from '../support/tally.ts'

const tally = createTally()
const seen = new Map<string, number>()
const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1)

/** Plans an intent to its end and freezes it. */
function planned(input: CoordinationInput, choices: readonly number[]): { end: Coordination; files: Files } {
  const rounds: AnswerRound[] = []
  let end = coordinate(input, [], ports)
  for (const choice of [...choices, 0, 0]) {
    if (end.waits_for === null) break
    rounds.push(roundFor(end.waits_for, choice))
    end = coordinate(input, rounds, ports)
  }
  if (end.waits_for !== null) end = coordinate(input, [...rounds, { withdrawn: true }], ports)
  return { end, files: freeze(end, input, ports) }
}

const linesIn = (files: Files, name: string) =>
  (JSON.parse(files[name] ?? '') as { red_lines: { verdict: string }[] }).red_lines.map(({ verdict }) => verdict)

/** The required decision, as far as red lines, policy, risk and budgets decide it. Undefined: something else decided. */
function expectedCause(
  { atFirst, isForbidden, forbidsUnknown, plan }: ReturnType<typeof judgePlan>,
  isReached: boolean,
  hasMemory: boolean,
): string | undefined {
  const [rl1, , rl3, , rl5] = atFirst
  if (rl1 === 'crossed') return 'execution_payload'
  if (rl3 === 'crossed') return 'full_auto_risk'
  if (isForbidden) return 'operation_forbidden'
  if (rl5 === 'crossed') return 'reference_missing'
  if (forbidsUnknown && hasMemory) return 'policy_invalid'
  if (plan === null || !isReached) return undefined
  const causes = ['', 'question_ungoverned', 'full_auto_risk', 'action_without_evidence', 'reference_missing']
  const crossed = plan.lines.indexOf('crossed')
  if (crossed !== -1) return causes[crossed]
  return Object.values<Measured>(plan.impact).some(({ within }) => within === 'no') ? 'budget_exceeded' : 'DONE'
}

/** Causes that rest on facts which the red lines, the policy and the budgets say nothing about. */
const others = new Set([
  'checksum_mismatch',
  'memory_unavailable',
  'rule_conflict',
  'rule_denied',
  'rules_undecidable',
  'graph_has_cycle',
  'question_without_fallback',
  'question_budget_exceeded',
  'question_ungoverned',
  'timed_out',
  'questions_withdrawn',
  'conflict_limit_reached',
])

function compare(input: CoordinationInput, known: Known, choices: readonly number[]) {
  const { end, files } = planned(input, choices)
  const judged = judgePlan(files, known)
  const failure = end.artifacts.failure_pack
  const decided = failure?.cause ?? 'DONE'
  expect(verifyPlan(files, ports)).toEqual([])

  // Red lines as the intent came in.
  expect(linesIn(files, 'precheck_report.json')).toEqual(judged.atFirst)
  judged.atFirst.forEach((verdict, i) => {
    if (verdict === 'crossed') count(`RL${i + 1} crossed`)
  })
  // The combined decision.
  const isReached = files['review_pack.json'] !== undefined
  const isUnsealed = decided === 'checksum_mismatch'
  const expected = isUnsealed ? undefined : expectedCause(judged, isReached, input.memory !== null)
  if (expected === undefined)
    expect([decided, others.has(decided) || decided === 'action_without_evidence']).toEqual([decided, true])
  else expect(decided).toBe(expected)
  expect(end.state).toBe(stateOf(decided))
  count(`${end.state} ${decided}`)

  // Rules: an undecided, contradictory or final denial ends it.
  if (decided === 'rule_conflict') expect(judged.judged.some(({ isContradicted }) => isContradicted)).toBe(true)
  if (decided === 'rules_undecidable') expect(judged.judged.some(({ isUndecided }) => isUndecided)).toBe(true)
  if (decided === 'DONE')
    expect(judged.judged.some((one) => one.isContradicted || one.isUndecided || one.isHardDenied)).toBe(false)
  // Red line 4 speaks on the draft.
  if (decided === 'action_without_evidence') {
    count('RL4 crossed')
    const bare = failure?.problems.flatMap(({ refs = [] }) => refs.slice(1)) ?? []
    const without = judged.judged.filter(({ step }) => step.evidence_refs.length === 0).map(({ step }) => step.step_id)
    expect(bare.length).toBeGreaterThan(0)
    expect(without).toEqual(expect.arrayContaining(bare))
  }
  if (judged.mode === 'full_auto') {
    // Red line 2: no file has a question in it.
    expect(Object.keys(files).filter((name) => name.startsWith('question_pack'))).toEqual([])
    if ((input.intent as { open_questions: unknown[] }).open_questions.length > 0) count('RL2 at stake')
  }
  if (isReached) comparePlan(files, judged)
}

function comparePlan(files: Files, { plan, submitted, judged }: ReturnType<typeof judgePlan>) {
  const pack = JSON.parse(files['review_pack.json'] ?? '')
  const graph = JSON.parse(files['execution_graph.json'] ?? '')
  const actions = graph.nodes.filter((node: { node_type: string }) => node.node_type === 'action_proposal')
  expect(actions.map((node: { step_ref: string }) => node.step_ref).sort()).toEqual([...(plan?.steps ?? [])].sort())
  const busy = new Set(actions.map((node: { phase_ref: string }) => node.phase_ref)).size
  expect([pack.plan_summary.actions, pack.plan_summary.phases]).toEqual([actions.length, busy])
  count(`${busy} phases`)
  for (const { step, risk } of judged) {
    const node = actions.find((one: { step_ref: string }) => one.step_ref === step.step_id)
    if (node !== undefined) expect(node.risk_level).toBe(risk)
  }
  expect(linesIn(files, 'review_pack.json')).toEqual(plan?.lines as Lines)
  expect(pack.risk.overall).toBe(plan?.risk)
  // The justification names steps that are in the plan, and no other.
  const assessed = JSON.parse(
    Object.entries(files)
      .filter(([name]) => /^risk_assessment_\d+\.json$/.test(name))
      .at(-1)?.[1] ?? '',
  )
  expect(assessed.overall_risk).toBe(plan?.risk)
  for (const { source, ref } of assessed.factors) if (source !== 'intent') expect(plan?.steps).toContain(ref)
  for (const [what, { estimated, within }] of Object.entries<Measured>(plan?.impact ?? {})) {
    expect([what, pack.change_impact[what].estimated, pack.change_impact[what].within]).toEqual([
      what,
      estimated,
      within,
    ])
    count(`budget ${what} ${within}`)
  }
  if (plan?.lines[2] === 'crossed') count('RL3 crossed by an answer or a default')
  if (plan?.risk !== submitted) count('risk other than submitted')
}

/** The input is long; the seed, the place and the difference suffice. */
function briefly<T>({ failed, seed: from, counterexamplePath, errorInstance }: fc.RunDetails<T>) {
  if (!failed) return
  const cause = errorInstance instanceof Error ? (errorInstance.stack ?? errorInstance.message) : String(errorInstance)
  throw new Error(`A plan differs (seed ${from}, path ${counterexamplePath}): ${cause}`)
}

function stateOf(cause: string): string {
  if (cause === 'DONE') return 'DONE'
  return ['execution_payload', 'rule_conflict', 'rule_denied', 'model_routing_breach'].includes(cause)
    ? 'ABORTED'
    : 'BLOCKED'
}

test('random plans: red lines, risk and budgets computed from the frozen files agree with the decision', () => {
  const runs = isProof ? 1000 : 200
  fc.assert(
    fc.property(randomPlan, ({ input: { input, known }, choices }) => compare(input, known, choices)),
    { seed, numRuns: runs, reporter: briefly },
  )
  for (const [what, times] of [...seen].sort()) tally.count(`random plans: ${what}`, times)
  tally.count('random plans', runs)
  // Every decision and every red line occurred.
  const wanted = [
    'DONE DONE',
    'BLOCKED budget_exceeded',
    'BLOCKED operation_forbidden',
    'BLOCKED full_auto_risk',
    'BLOCKED policy_invalid',
    'BLOCKED reference_missing',
    'BLOCKED action_without_evidence',
    'ABORTED execution_payload',
    'ABORTED rule_denied',
    'RL1 crossed',
    'RL2 at stake',
    'RL3 crossed',
    'RL4 crossed',
    'RL5 crossed',
    'risk other than submitted',
    'budget files no',
    'budget files_per_commit no',
    'budget commits no',
    'budget tokens no',
    'budget cost_usd no',
  ]
  expect(wanted.filter((what) => !seen.has(what))).toEqual([])
  if (isProof) {
    expect(seen.has('RL3 crossed by an answer or a default')).toBe(true)
    const causes = [...seen.keys()].flatMap((what) => /^(?:BLOCKED|ABORTED) (\w+)/.exec(what)?.[1] ?? [])
    expect([...others].filter((cause) => !causes.includes(cause) && cause !== 'question_ungoverned')).toEqual([])
  }
})
