/**
 * Red lines, risk and budgets of a plan, computed from its frozen files by the specification alone. Nothing of the
 * Coordinator is imported: its decision is compared with the one computed here.
 */

export type Level = 'low' | 'medium' | 'high' | 'critical'
export type Verdict = 'holds' | 'crossed' | 'not_evaluated'
export type Lines = readonly [rl1: Verdict, rl2: Verdict, rl3: Verdict, rl4: Verdict, rl5: Verdict]
export type Within = 'yes' | 'no' | 'not_evaluated'

export interface Measured {
  readonly estimated: number | null
  readonly within: Within
}

/** A command of the registry, as far as it matters here. */
export interface KnownCommand {
  readonly id: string
  readonly risk_level: Level
  readonly effects: readonly string[]
  readonly irreversible?: boolean
  readonly rollback?: string
  readonly estimate: {
    readonly files?: number
    readonly commits?: number
    readonly tokens?: number
    readonly cost_usd?: number
  }
}

/** A rule and, next to its Cedar condition, what it means. */
export interface KnownRule {
  readonly id: string
  readonly verdict: 'deny' | 'require_review' | 'warn' | 'allow'
  readonly severity: 'info' | 'warn' | 'error' | 'block'
  readonly fires: (step: { effects: readonly string[]; risk: number; answers: readonly string[] }) => boolean
}

export interface Known {
  readonly commands: readonly KnownCommand[]
  /** The roles of each agent. */
  readonly agents: Readonly<Record<string, readonly string[]>>
  readonly phases: readonly string[]
  readonly rules: readonly KnownRule[]
}

interface Step {
  readonly step_id: string
  readonly command_id: string
  readonly effects: readonly string[]
  readonly risk_level: Level
  readonly evidence_refs: readonly string[]
  readonly depends_on?: readonly string[]
}

interface Question {
  readonly question_id: string
  readonly key: string
  readonly suggested_answers: readonly {
    readonly value: string
    readonly effect?: { readonly drop_steps?: readonly string[]; readonly set_risk?: Readonly<Record<string, Level>> }
  }[]
}

interface Intent {
  readonly planned_commands: readonly Step[]
  readonly selected_workflows: readonly { readonly phases: readonly string[] }[]
  readonly selected_agents: readonly { readonly agent_id: string; readonly role: string }[]
  readonly open_questions?: readonly (Omit<Question, 'question_id'> & { readonly affects_steps?: readonly string[] })[]
  readonly interaction: { readonly mode: string }
  readonly risk: { readonly overall: Level }
  readonly scope: { readonly targets: { readonly files: readonly string[] } }
  readonly budgets: {
    readonly max_files: number
    readonly max_commits: number
    readonly max_tokens: number
    readonly max_cost_usd: number
  }
}

interface Policy {
  readonly mode: string
  readonly risk_profile?: 'safe' | 'aggressive_safe' | 'aggressive'
  readonly constraints?: {
    readonly forbidden_operations?: readonly string[]
    readonly allow_destructive?: boolean
    readonly allow_bulk_changes?: boolean
    readonly max_files_per_commit?: number
  }
}

/** An answer that is in force in the final graph. */
interface Applied {
  readonly question_id: string
  readonly key: string
  readonly value: string
  readonly answer_type: string
}

const levels: readonly Level[] = ['low', 'medium', 'high', 'critical']
const effects = ['read', 'write', 'network', 'deploy', 'security', 'data']
const strictness = ['interactive', 'semi_auto', 'full_auto']
const highest = (all: readonly Level[]): Level => levels[Math.max(0, ...all.map((one) => levels.indexOf(one)))] ?? 'low'
const isGrave = (level: Level) => level === 'high' || level === 'critical'

export type Files = Readonly<Record<string, string>>

/** The judgement of the specification about a plan, given all its files. */
export function judgePlan(files: Files, known: Known) {
  const read = <T>(name: string): T | undefined => {
    const text = files[`${name}.json`]
    return text === undefined ? undefined : (JSON.parse(text) as T)
  }
  const intent = read<Intent>('intent') as Intent
  const policy = read<Policy>('policy') as Policy
  const graph = read<{ applied_answers: readonly Applied[] }>('execution_graph')
  const mode = [intent.interaction.mode, policy.mode].sort((a, b) => strictness.indexOf(b) - strictness.indexOf(a))[0]
  const commandOf = (step: Step) => known.commands.find(({ id }) => id === step.command_id)
  const base = (step: Step) => highest([step.risk_level, commandOf(step)?.risk_level ?? 'low'])
  const steps = intent.planned_commands

  const carries = payloadsIn(intent)
  const submitted = highest([intent.risk.overall, ...steps.map(base)])
  const isStrange =
    steps.some((step) => commandOf(step) === undefined) ||
    intent.selected_agents.some(({ agent_id, role }) => !known.agents[agent_id]?.includes(role)) ||
    intent.selected_workflows.some(({ phases }) => phases.some((phase) => !known.phases.includes(phase)))
  const atFirst: Lines = [
    carries ? 'crossed' : 'holds',
    'not_evaluated',
    mode === 'full_auto' && isGrave(submitted) ? 'crossed' : 'holds',
    'not_evaluated',
    isStrange ? 'crossed' : 'holds',
  ]
  const common = {
    mode,
    submitted,
    atFirst,
    forbidsUnknown: (policy.constraints?.forbidden_operations ?? []).some(
      (one) => !effects.includes(one) && !known.commands.some(({ id }) => id === one),
    ),
    isForbidden: steps.some((step) => isForbidden(step, commandOf(step), policy)),
  }
  if (isStrange || carries) return { ...common, judged: [], plan: null }

  const inForce = (graph?.applied_answers ?? []).map((answer) => ({
    answer,
    question: questionOf(answer, files, intent),
  }))
  const judged = steps.map((step) => judgeStep(step, base(step), commandOf(step) as KnownCommand, inForce, known))
  const left = leftOut(judged, inForce)
  const placed = judged.filter(({ step }) => !left.has(step.step_id))
  if (graph === undefined) return { ...common, plan: null, judged }
  const risk = highest([intent.risk.overall, ...placed.flatMap(({ risk, raised }) => [risk, ...raised])])
  const asked = Object.keys(files).some((name) => name.startsWith('question_pack_'))
  const lines: Lines = [
    'holds',
    mode === 'full_auto' && asked ? 'crossed' : 'holds',
    mode === 'full_auto' && isGrave(risk) ? 'crossed' : 'holds',
    placed.some(({ step }) => step.evidence_refs.length === 0) ? 'crossed' : 'holds',
    'holds',
  ]
  const impact = impactOf(placed, intent, policy)
  return { ...common, judged, plan: { steps: placed.map(({ step }) => step.step_id), risk, lines, impact } }
}

function judgeStep(step: Step, base: Level, command: KnownCommand, inForce: readonly InForce[], known: Known) {
  const bearing = inForce.filter(({ question }) => question.affects.includes(step.step_id))
  const restated = bearing.flatMap(({ question, answer }) => {
    const level = effectIn(question, answer).set_risk?.[step.step_id]
    return level === undefined ? [] : [level]
  })
  const risk = restated.length === 0 ? base : highest([...restated, command.risk_level])
  const effects = [...new Set([...step.effects, ...command.effects])]
  const answers = bearing.map(({ answer }) => `${answer.key}=${answer.value}`)
  const fired = known.rules.filter((rule) => rule.fires({ effects, risk: levels.indexOf(risk), answers }))
  const denied = fired.some(({ verdict }) => verdict === 'deny')
  const raised = fired.flatMap(({ verdict }): Level[] =>
    verdict === 'require_review' ? ['medium'] : verdict === 'warn' ? ['low'] : [],
  )
  const blocks = (verdict: string) => fired.some((rule) => rule.verdict === verdict && rule.severity === 'block')
  return {
    step,
    command,
    effects,
    risk,
    raised,
    denied,
    isUndecided: fired.length === 0,
    isHardDenied: denied && (blocks('deny') || isGrave(risk)),
    isContradicted: blocks('allow') && blocks('deny'),
  }
}

interface InForce {
  readonly answer: Applied
  readonly question: Pick<Question, 'suggested_answers'> & { readonly affects: readonly string[] }
}

/** The target of an answer: a question of a frozen pack, or one of the intent whose default stands unasked. */
function questionOf({ question_id, key }: Applied, files: Files, intent: Intent): InForce['question'] {
  type Asked = Question & { readonly impact: { readonly affected_steps: readonly string[] } }
  const asked = Object.entries(files)
    .filter(([name]) => /^question_pack_\d+\.json$/.test(name))
    .flatMap(([, text]) => (JSON.parse(text) as { questions: readonly Asked[] }).questions)
    .find((one) => one.question_id === question_id)
  if (asked !== undefined) return { ...asked, affects: asked.impact.affected_steps }
  const open = intent.open_questions?.find((one) => one.key === key)
  // The defaults of questions that the Coordinator itself raises ask for a review and change no step.
  if (open === undefined) return { suggested_answers: [], affects: [] }
  return { ...open, affects: open.affects_steps ?? intent.planned_commands.map(({ step_id }) => step_id) }
}

type Judged = ReturnType<typeof judgeStep>

function effectIn({ suggested_answers }: Pick<Question, 'suggested_answers'>, { value, answer_type }: Applied) {
  if (answer_type !== 'choice') return {}
  return suggested_answers.find((one) => one.value === value)?.effect ?? {}
}

/** Denied by a rule, left out by an answer, or dependent on such a step. */
function leftOut(judged: readonly Judged[], inForce: readonly InForce[]): ReadonlySet<string> {
  const gone = new Set(judged.filter(({ denied }) => denied).map(({ step }) => step.step_id))
  for (const { question, answer } of inForce)
    for (const step of effectIn(question, answer).drop_steps ?? []) gone.add(step)
  for (let size = -1; size !== gone.size; ) {
    size = gone.size
    for (const { step } of judged) if (step.depends_on?.some((id) => gone.has(id))) gone.add(step.step_id)
  }
  return gone
}

function isForbidden(step: Step, command: KnownCommand | undefined, { constraints = {} }: Policy): boolean {
  const operations = [step.command_id, ...step.effects, ...(command?.effects ?? [])]
  if (operations.some((one) => constraints.forbidden_operations?.includes(one))) return true
  const isDestructive = command?.irreversible === true && command.rollback === undefined
  return isDestructive && constraints.allow_destructive !== true
}

function impactOf(
  placed: readonly Judged[],
  { budgets, scope }: Intent,
  { constraints = {}, risk_profile = 'safe' }: Policy,
) {
  const targets = new Set(scope.targets.files.map((path) => path.replace(/^\.\//, ''))).size
  const files = placed.map(({ effects, command }) => {
    if (command.estimate.files !== undefined) return command.estimate.files
    if (!effects.includes('write')) return 0
    return targets === 0 ? undefined : targets
  })
  const measured = (
    amounts: readonly (number | undefined)[],
    total: (known: readonly number[]) => number,
    allowed: number,
  ): Measured => {
    const known = amounts.filter((amount) => amount !== undefined)
    const amount = total(known)
    const within = amount > allowed ? 'no' : known.length < amounts.length ? 'not_evaluated' : 'yes'
    return { estimated: known.length === 0 && amounts.length > 0 ? null : amount, within }
  }
  const sum = (known: readonly number[]) => Math.round(known.reduce((a, b) => a + b, 0) * 1e6) / 1e6
  /** Every step shares the files that the intent targets; further files are its own. */
  const distinct = (known: readonly number[]) =>
    Math.min(targets, sum(known.map((n) => Math.min(n, targets)))) + sum(known.map((n) => Math.max(0, n - targets)))
  const perCommit = placed.map(({ command }, i) => {
    const [changed, commits] = [files[i], command.estimate.commits]
    if (changed === 0 || (changed !== undefined && commits === 0)) return 0
    return changed === undefined || commits === undefined ? undefined : Math.ceil(changed / commits)
  })
  const mostPerCommit = constraints.allow_bulk_changes
    ? Number.POSITIVE_INFINITY
    : (constraints.max_files_per_commit ?? { safe: 5, aggressive_safe: 50, aggressive: 999 }[risk_profile])
  const of = (what: 'commits' | 'tokens' | 'cost_usd') => placed.map(({ command }) => command.estimate[what])
  const bulk = measured(perCommit, (known) => Math.max(0, ...known), mostPerCommit)
  return {
    files: measured(files, distinct, budgets.max_files),
    // Without a limit there is nothing to be over.
    files_per_commit: constraints.allow_bulk_changes ? { ...bulk, within: 'yes' as const } : bulk,
    commits: measured(of('commits'), sum, budgets.max_commits),
    tokens: measured(of('tokens'), sum, budgets.max_tokens),
    cost_usd: measured(of('cost_usd'), sum, budgets.max_cost_usd),
  }
}

const payloads = new Set(['exec', 'cmd', 'run', 'shell', 'commandline', 'shellcommand'])

/** Whether a key carries something to execute. Knows the spellings that the generator plants, and how they come about. */
function payloadsIn(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([key, member]) => {
    const latin = key
      .normalize('NFKC')
      .replaceAll('ѕ', 's')
      .replaceAll('е', 'e')
      .toLowerCase()
      .replaceAll(/[^a-z]/g, '')
    return (!Array.isArray(value) && payloads.has(latin)) || payloadsIn(member)
  })
}
