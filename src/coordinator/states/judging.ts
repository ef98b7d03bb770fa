import type { z } from 'zod'
import type { Json } from '../../kernel/json.ts'
import { idOf } from '../checksum.ts'
import { effectiveOf } from '../given.ts'
import { assessRisk, shapeOf } from '../graph/shape.ts'
import {
  type AuditDraft,
  decided,
  type GuardTable,
  type Handler,
  judge,
  noted,
  unless,
  unlessProblems,
} from '../guard-table.ts'
import { standingOf } from '../questions/standing.ts'
import { indexOf, type RegistryIndex } from '../registry.ts'
import { adjudicate, decisionsOf, routingBreaches } from '../rules/adjudicate.ts'
import { type ContextBundle, type ExecutionPolicy, executionPolicy, factPack, memoryPack } from '../schemas/context.ts'
import { executionIntent } from '../schemas/intent.ts'
import type { RuleDecision } from '../schemas/judgement.ts'
import { effect, type Problem, problemsOf } from '../schemas/scalars.ts'

/** Reads memory, facts and policy, and combines policy and intent. */
export const contextBuilt: Handler = ({ input, run_id }, { sha256 }) => {
  const memory = load(memoryPack, input.memory, 'memory_unavailable', 'memory pack')
  const scanned = load(factPack, input.facts, 'facts_unavailable', 'fact pack')
  const policy = load(executionPolicy, input.policy, 'policy_invalid', 'policy')
  if (policy.value !== null) policy.problems.push(...unknownOperations(policy.value, indexOf(input.registry)))
  const wanted = policy.value?.min_memory_items ?? 0
  const held = memory.value?.memories.length ?? 0
  const tooFew = `The memory pack has ${held} items; the policy asks for ${wanted}.`
  if (memory.value !== null && held < wanted) memory.problems.push({ code: 'memory_unavailable', message: tooFew })

  const facts = { memory: memory.problems, facts: scanned.problems, policy: policy.problems }
  const judged = judge(contextGuards, facts, 'context_ready', 'every')
  if (memory.value === null || scanned.value === null || policy.value === null || judged.failure !== undefined)
    return { ...judged, produced: [] }

  const intent = executionIntent.parse(input.intent)
  const effective = effectiveOf(intent, policy.value, indexOf(input.registry))
  const { mode, question_budget, risk } = effective
  const asked = `The intent asks for ${intent.interaction.mode}, the policy for ${policy.value.mode}; the one that asks less holds.`
  const artifact: ContextBundle = {
    bundle_id: idOf('ctx', run_id, sha256),
    schema_version: '1.0.0',
    memory_context: memory.value,
    fact_pack: scanned.value,
    policy: policy.value,
    effective,
  }
  return {
    ...judged,
    produced: [{ type: 'context_bundle', artifact }],
    decisions: [decided('policy_check', asked, `${mode}, ${question_budget} questions, risk ${risk}`)],
    audit: [noted('policy_enforcement', 'info', `The mode is ${mode} with ${question_budget} questions.`)],
  }
}

type ContextFacts = Readonly<Record<'memory' | 'facts' | 'policy', readonly Problem[]>>

/** The guards of CONTEXT_BUILT. */
// biome-ignore format: tables are audited by eye
export const contextGuards: GuardTable<ContextFacts> = [
  ['memory_pack_available', ({ memory }) => unlessProblems(memory, 'There is a memory pack.'),
    ['memory_unavailable', 'The context of the plan is not complete.', 'memory_pack_unavailable', ({ memory }) => memory]],
  ['fact_pack_available', ({ facts }) => unlessProblems(facts, 'There is a fact pack with evidence.'),
    ['facts_unavailable', 'The context of the plan is not complete.', 'memory_pack_unavailable', ({ facts }) => facts]],
  ['policy_loaded', ({ policy }) => unlessProblems(policy, 'The policy is loaded.'),
    ['policy_invalid', 'The context of the plan is not complete.', 'memory_pack_unavailable', ({ policy }) => policy]],
]

function load<S extends z.ZodType>(schema: S, value: Json, code: string, what: string) {
  if (value === null) return { value: null, problems: [{ code, message: `There is no ${what}.` }] as Problem[] }
  const parsed = schema.safeParse(value)
  return parsed.success
    ? { value: parsed.data, problems: [] as Problem[] }
    : { value: null, problems: problemsOf(parsed.error, code, what) }
}

/** Forbidden operations with an unknown name. A misspelt name would forbid nothing, so it blocks the plan. */
function unknownOperations({ constraints }: ExecutionPolicy, index: RegistryIndex): Problem[] {
  const commands = index.ids('command')
  const known = new Set<string>([...effect.options, ...commands])
  return constraints.forbidden_operations.flatMap((name, i) => {
    if (known.has(name)) return []
    const shown = JSON.stringify(name.length > longestShown ? `${name.slice(0, longestShown)}…`.toWellFormed() : name)
    const rest = commands.length > mostShown ? ` and ${commands.length - mostShown} more` : ''
    const message = `The policy forbids the unknown operation ${shown}. Name an effect (${effect.options.join(', ')}) or a command of the registry (${commands.slice(0, mostShown).join(', ') || 'it has none'}${rest}).`
    return [{ code: 'policy_invalid', message, path: `policy.constraints.forbidden_operations[${i}]` }]
  })
}

/** The longest id of the registry: longer names are cut in messages. */
const longestShown = 64
/** How many commands a message lists. */
const mostShown = 40

/** Evaluates the rules on every step. */
export const rulesEvaluated: Handler = (progress, ports) => {
  const { given, governed } = standingOf(progress, ports)
  const round = progress.artifacts.rule_decisions.length + 1
  const { decisions, evaluations } = adjudicate({ steps: given.steps, inForce: governed.inForce, round }, given, ports)
  const breaches = routingBreaches(given)
  const { placed } = shapeOf(given, decisions, governed.inForce, [])
  const risk = assessRisk(given, placed, governed.inForce, ports)
  const against = `${given.intent.selected_agents.length} agents against the policy's model routing.`
  return {
    ...judge(ruleGuards, { decisions, breaches }, 'rules_adjudicated'),
    produced: [
      { type: 'rule_decisions', artifact: decisionsOf(progress.run_id, round, decisions, ports) },
      { type: 'risk_assessment', artifact: risk },
    ],
    evaluations,
    decisions: [
      decided('model_routing', against, breaches.map(({ message }) => message).join(' ') || 'allowed'),
      decided('risk_assessment', `${risk.factors.length} factors; the highest counts.`, risk.overall_risk),
    ],
    audit: [
      ...decisions.map(adjudicated),
      ...breaches.map(({ message, refs = [] }) => noted('model_selected', 'critical', message, refs)),
    ],
  }
}

type RuleFacts = { readonly decisions: readonly RuleDecision[]; readonly breaches: readonly Problem[] }

/** Aborting comes before blocking: `rules_undecidable` is the least grave cause. */
// biome-ignore format: tables are audited by eye
export const ruleGuards: GuardTable<RuleFacts> = [
  ['all_rules_decidable', ({ decisions }) =>
    unless(withReasons(decisions.filter(isUndecided)), 'Every command has a verdict.', 'The rules cannot decide'),
    ['rules_undecidable', 'The rules cannot decide on every command.', 'rules_undecidable',
      ({ decisions }) => decisions.filter(isUndecided).map((one) => problemOf('rules_undecidable', one))]],

  ['no_unresolvable_conflicts', ({ decisions }) => unless(
    conflictsIn(decisions).map(({ step_id, allowed, denied }) => `${step_id} (${allowed} against ${denied})`),
    'No rules of severity block contradict each other.',
    'Rules of severity block contradict each other over'),
    ['rule_conflict', 'Rules that may not be overruled contradict each other.', 'hard_rule_deny',
      ({ decisions }) => conflictsIn(decisions).map(({ step_id, allowed, denied, refs }) =>
        ({ code: 'rule_conflict', message: `${step_id} is allowed by ${allowed} and denied by ${denied}.`, refs }))]],

  ['denies_have_reasons', ({ decisions }) => unless(
    decisions.filter(({ decision, matched_rules }) => decision === 'deny' && matched_rules.some(({ reason }) => reason.trim() === ''))
      .map(({ step_id }) => step_id),
    'Every deny has a reason.',
    'A deny without a reason stands against')],

  ['no_hard_denies', ({ decisions, breaches }) => unless(
    [...withReasons(decisions.filter(isHardDeny)), ...breaches.map(({ message }) => message)],
    'Nothing is denied that the plan cannot do without.',
    'Denied for good'),
    ['model_routing_breach', 'An agent uses a model that the policy forbids.', 'hard_rule_deny', ({ breaches }) => breaches],
    ['rule_denied', 'A rule denies a command that may not be dropped in silence.', 'hard_rule_deny',
      ({ decisions }) => decisions.filter(isHardDeny).map((one) => problemOf('rule_denied', one))]],
]

const isUndecided = ({ decision }: RuleDecision) => decision === null
const isHardDeny = ({ is_hard_deny }: RuleDecision) => is_hard_deny

function withReasons(decisions: readonly RuleDecision[]): string[] {
  return decisions.map(({ step_id, reason }) => `${step_id} (${reason})`)
}

function conflictsIn(decisions: readonly RuleDecision[]) {
  return decisions.flatMap(({ step_id, conflict }) => {
    if (conflict === null) return []
    const { allowed_by, denied_by } = conflict
    const refs = [step_id, ...allowed_by, ...denied_by]
    return [{ step_id, allowed: allowed_by.join(', '), denied: denied_by.join(', '), refs }]
  })
}

function problemOf(code: string, decision: RuleDecision): Problem {
  return { code, message: `${decision.step_id}: ${decision.reason}`, refs: refsOf(decision) }
}

function refsOf({ step_id, matched_rules }: RuleDecision): string[] {
  return [step_id, ...matched_rules.map(({ rule_id }) => rule_id)]
}

function adjudicated(judged: RuleDecision): AuditDraft {
  const { step_id, decision, reason, is_hard_deny } = judged
  const severity = is_hard_deny ? 'critical' : decision === 'allow' ? 'info' : 'warning'
  return noted('rule_adjudication', severity, `${step_id}: ${decision ?? 'undecidable'}. ${reason}`, refsOf(judged))
}
