import type { Json } from '../../kernel/json.ts'
import { finding } from '../../kernel/machine.ts'
import { idOf, intentChecksum, textAt } from '../checksum.ts'
import { commandEffects, type Effective, effectiveOf, isDestructive } from '../given.ts'
import { type GuardTable, type Handler, judge, unlessProblems } from '../guard-table.ts'
import type { Ports, Progress } from '../progress.ts'
import { executionPayloads, fullAutoRisk, type RedLineFinding, redLineChecks, redLinesOf } from '../red-lines.ts'
import { entryChecksum, indexOf, type Reference, type RegistryIndex, resolve } from '../registry.ts'
import { type ExecutionPolicy, executionPolicy, forbids } from '../schemas/context.ts'
import { type ExecutionIntent, executionIntent, intentSchemaVersion } from '../schemas/intent.ts'
import type { PrecheckReport, RegistryReference } from '../schemas/judgement.ts'
import type { RegistryEntry } from '../schemas/registry.ts'
import { type Problem, problemsOf } from '../schemas/scalars.ts'

/** Checks the intent before anything is planned. All problems are listed; the gravest one gives the cause. */
export const prechecked: Handler = (progress, ports) => {
  const report = precheck(progress, ports)
  return {
    ...judge(precheckGuards, report, 'validation_passed', 'every'),
    produced: [{ type: 'precheck_report', artifact: report }],
    audit: redLineChecks(report.red_lines),
  }
}

/** The guards of PRECHECKED. */
// biome-ignore format: tables are audited by eye
export const precheckGuards: GuardTable<PrecheckReport> = [
  ['intent_schema_valid', ({ schema_problems, intent_schema_version }) => {
    const places = schema_problems.map(({ path, message }) => ({ code: 'at', message: `${path}: ${message}.` }))
    return unlessProblems(places, `The intent has the shape of ${intent_schema_version}.`) },
    ['schema_invalid', 'The intent does not have the shape of an intent.', 'validation_failed', (report) => report.schema_problems]],

  ['checksum_matches', ({ checksum: { declared, computed } }) =>
    finding(declared === computed,
      `The checksum is ${computed}, as declared.`,
      `The checksum is ${computed}; the intent declares ${declared ?? 'none'}.`),
    ['checksum_mismatch', 'The intent is not the one that was sealed.', 'validation_failed',
      (_, message) => [{ code: 'checksum_mismatch', message, path: 'audit.checksum' }]]],

  ['red_lines_satisfied', ({ red_lines, policy_problems }) => unlessProblems(
    [...red_lines.flatMap(({ problems }) => problems), ...policy_problems],
    `No red line is crossed and the policy forbids nothing in it.${unevaluated(red_lines)}`),
    ['execution_payload', 'The intent carries something to execute.', 'red_line_crossed', crossing('RL1')],
    ['full_auto_risk', 'A plan of high or critical risk may not be full_auto.', 'validation_failed', crossing('RL3')],
    ['operation_forbidden', 'The policy forbids an operation that is planned.', 'validation_failed', (report) => report.policy_problems]],

  ['registry_references_active', ({ registry }) =>
    unlessProblems(registry.problems, `All ${registry.confirmed.length} pieces of content are active or frozen.`),
    ['reference_missing', 'The intent refers to content that may not be used.', 'validation_failed', references((areInactive) => !areInactive)],
    ['reference_inactive', 'The intent refers to content that may not be used.', 'validation_failed', references((areInactive) => areInactive)]],

  ['no_version_drift', ({ registry }) => unlessProblems(registry.drift, 'Every pinned version is the one in the registry.'),
    ['version_drift', 'The registry has moved since the intent was written.', 'validation_failed', (report) => report.registry.drift]],
]

function crossing(line: string) {
  return ({ red_lines }: PrecheckReport) => red_lines.find(({ red_line }) => red_line === line)?.problems ?? []
}

/** The problems of the references, if the cause applies: references that are all inactive have a cause of their own. */
function references(applies: (areInactive: boolean) => boolean) {
  return ({ registry: { problems } }: PrecheckReport) =>
    applies(problems.every(({ code }) => code === 'reference_inactive')) ? problems : []
}

function unevaluated(red_lines: PrecheckReport['red_lines']): string {
  const open = red_lines.filter(({ verdict }) => verdict === 'not_evaluated').map(({ red_line }) => red_line)
  return open.length === 0 ? '' : ` Not evaluated yet: ${open.join(', ')}.`
}

function precheck({ input, run_id }: Progress, { sha256 }: Ports): PrecheckReport {
  const parsed = executionIntent.safeParse(input.intent)
  const intent = parsed.success ? parsed.data : null
  const policy = executionPolicy.safeParse(input.policy).data ?? null
  const index = indexOf(input.registry)
  const effective = intent === null ? null : effectiveOf(intent, policy, index)
  const registry = intent === null ? { confirmed: [], problems: [], drift: [] } : lookUp(intent, index, sha256)
  return {
    report_id: idOf('precheck', run_id, sha256),
    schema_version: '1.1.0',
    intent_schema_version: intentSchemaVersion,
    schema_problems: parsed.success
      ? [...unreviewed(parsed.data, index), ...askedTwice(parsed.data, index)]
      : problemsOf(parsed.error, 'schema_invalid'),
    checksum: {
      declared: textAt(input.intent, 'audit', 'checksum') ?? null,
      computed: intentChecksum(input.intent, sha256),
    },
    red_lines: redLines(input.intent, effective, policy !== null, registry.problems),
    policy_problems: intent === null || policy === null ? [] : forbidden(intent, policy, index),
    registry: { snapshot_id: input.registry.snapshot_id, ...registry },
    effective_mode: effective?.mode ?? null,
    effective_risk: effective?.risk ?? null,
  }
}

function redLines(raw: Json, effective: Effective | null, isPolicyRead: boolean, missing: readonly Problem[]) {
  const unread = { not_evaluated: 'The intent does not have the shape of an intent.' }
  return redLinesOf({
    RL1: { problems: executionPayloads(raw) },
    RL2: { not_evaluated: 'No question has been put yet; it is checked before the plan is frozen.' },
    RL3: effective === null ? unread : riskUnder(effective, isPolicyRead),
    RL4: { not_evaluated: 'There is no graph yet; it is checked on the draft and before the plan is frozen.' },
    RL5: effective === null ? unread : { problems: missing },
  })
}

/** Red line 3. Not evaluated under a policy that cannot be read: it may turn the mode into full_auto. */
function riskUnder({ mode, risk }: Effective, isPolicyRead: boolean): RedLineFinding {
  const problems = fullAutoRisk(mode, risk)
  if (problems.length > 0 || isPolicyRead) return { problems }
  return { not_evaluated: 'The mode is not known: the policy does not have the shape of a policy.' }
}

/** Requires a review category where the registry says that a command writes or deploys. The shape checks the intent's own effects. */
function unreviewed(intent: ExecutionIntent, index: RegistryIndex): Problem[] {
  const changing = intent.planned_commands.filter((command) =>
    commandEffects(command, index).some((effect) => effect === 'write' || effect === 'deploy'),
  )
  if (changing.length === 0 || intent.risk.requires_review.length > 0) return []
  const refs = changing.map(({ command_id }) => command_id)
  const message = `must name a review category, since the registry says that ${refs.join(', ')} writes or deploys`
  return [{ code: 'schema_invalid', message, path: 'risk.requires_review', refs }]
}

/** An answer by key must mean one question: that of the intent or that of a command. */
function askedTwice(intent: ExecutionIntent, index: RegistryIndex): Problem[] {
  return (intent.open_questions ?? []).flatMap(({ key }, i) => {
    const at = intent.planned_commands.findIndex(({ command_id, version }) =>
      resolve(index, { kind: 'command', id: command_id, version }).found?.asks.some((asked) => asked.key === key),
    )
    if (at === -1) return []
    const message = `has the key ${key}, under which the command of planned_commands[${at}] asks; give it its own`
    return [{ code: 'schema_invalid', message, path: `open_questions[${i}].key`, refs: [key] }]
  })
}

function forbidden(intent: ExecutionIntent, policy: ExecutionPolicy, index: RegistryIndex): Problem[] {
  return intent.planned_commands.flatMap((command, i) => {
    const { command_id } = command
    const effects = commandEffects(command, index)
    const operation = forbids(policy, { command_id, effects, isDestructive: isDestructive(command, index) })
    if (operation === null) return []
    const message = `The policy forbids ${operation}.`
    return [{ code: 'operation_forbidden', message, path: `planned_commands[${i}]`, refs: [command_id] }]
  })
}

function lookUp(intent: ExecutionIntent, index: RegistryIndex, sha256: Ports['sha256']) {
  const confirmed = new Map<string, RegistryReference>()
  const problems: Problem[] = []
  const drift: Problem[] = []
  const confirm = (entry: RegistryEntry, path: string) => {
    const { kind, id, version, checksum } = entry
    const key = `${kind} ${id} ${version}`
    if (confirmed.has(key)) return
    const computed = entryChecksum(entry, sha256)
    if (computed !== checksum) {
      const message = `${kind} ${id} ${version} has the checksum ${computed}; the snapshot records ${checksum}.`
      drift.push({ code: 'version_drift', message, path, refs: [id] })
    }
    confirmed.set(key, { kind, id, version, checksum })
  }
  for (const { path, ...reference } of referencesOf(intent)) {
    const resolution = resolve(index, reference)
    if (resolution.found !== null) {
      confirm(resolution.found, path)
      continue
    }
    const problem = { code: resolution.code, message: resolution.message, path, refs: [reference.id] }
    if (resolution.code === 'version_drift') drift.push(problem)
    else problems.push(problem)
  }
  problems.push(...missingPhases(intent, index), ...inventedRoles(intent, index))
  for (const rule of index.rulesInForce) confirm(rule, `rule ${rule.id}`)
  const sorted = [...confirmed].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, reference]) => reference)
  return { confirmed: sorted, problems, drift }
}

// biome-ignore format: the four kinds side by side
function referencesOf(intent: ExecutionIntent): readonly (Reference & { path: string })[] {
  const { selected_workflows, selected_agents, planned_commands, required_rules = [] } = intent
  const pin = ({ version, checksum }: Pick<Reference, 'version' | 'checksum'>, path: string) => ({ version, checksum, path })
  return [
    ...selected_workflows.map((w, i) => ({ kind: 'workflow' as const, id: w.workflow_id, ...pin(w, `selected_workflows[${i}]`) })),
    ...selected_agents.map((a, i) => ({ kind: 'agent' as const, id: a.agent_id, ...pin(a, `selected_agents[${i}]`) })),
    ...planned_commands.map((c, i) => ({ kind: 'command' as const, id: c.command_id, ...pin(c, `planned_commands[${i}]`) })),
    ...required_rules.map((r, i) => ({ kind: 'rule' as const, id: r.rule_id, ...pin(r, `required_rules[${i}]`) })),
  ]
}

function missingPhases(intent: ExecutionIntent, index: RegistryIndex): Problem[] {
  return intent.selected_workflows.flatMap(({ workflow_id, version, phases }, i) => {
    const { found } = resolve(index, { kind: 'workflow', id: workflow_id, version })
    if (found === null) return []
    const has = found.phases.map(({ phase }) => phase)
    const path = `selected_workflows[${i}].phases`
    return phases.flatMap((phase) => {
      const message = `workflow ${workflow_id} ${found.version} has no phase ${phase}; it has ${has.join(', ')}.`
      return has.includes(phase) ? [] : [{ code: 'reference_missing', message, path, refs: [workflow_id] }]
    })
  })
}

/** Roles that the registry does not give the agent. Rules decide by the role, so an intent may not invent one. */
function inventedRoles(intent: ExecutionIntent, index: RegistryIndex): Problem[] {
  return intent.selected_agents.flatMap(({ agent_id, version, role }, i) => {
    const { found } = resolve(index, { kind: 'agent', id: agent_id, version })
    if (found === null || found.roles.includes(role)) return []
    const message = `agent ${agent_id} ${found.version} has no role ${role}; it has ${found.roles.join(', ')}.`
    return [{ code: 'reference_missing', message, path: `selected_agents[${i}].role`, refs: [agent_id] }]
  })
}
