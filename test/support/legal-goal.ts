import type { ExecutionIntent } from '../../src/coordinator/schemas/intent.ts'
import type { ExecutionGraph } from '../../src/coordinator/schemas/plan.ts'
import type { RegistrySnapshot } from '../../src/coordinator/schemas/registry.ts'
import type { Json } from '../../src/kernel/json.ts'

/**
 * Decides whether what a goal did is a legal execution of its frozen graph. It reads the frozen files and the record,
 * and shares no code with the scheduler: it walks the graph itself and evaluates the few rules that the tests use.
 */

/** The frozen plan: the files of the coordination, and the registry that it was judged with. */
export interface FrozenPlan {
  readonly graph: ExecutionGraph
  readonly intent: ExecutionIntent
  readonly registry: RegistrySnapshot
}

/** A rune as far as the check reads it. */
export interface Seen {
  readonly event_id: number
  readonly kind: string
  readonly machine?: string
  readonly to?: string
  readonly trigger?: string | null
  readonly task_id?: string
  readonly run_id?: string
  readonly call_id?: string
  readonly interaction_id?: string
  readonly coordination_id?: string
  readonly payload: { readonly [key: string]: unknown }
}

interface Step {
  readonly key: string
  readonly kind: 'work' | 'review'
  /** Keys of the nearest tasks before it. */
  readonly before: readonly string[]
  /** Those that the intent names, or its own gate. */
  readonly needs: readonly string[]
  readonly condition: string | null
  readonly instead_of: string | null
  readonly owner: string
  readonly tools: readonly Json[]
}

/** One attempt at a step. */
interface Attempt {
  readonly key: string
  state: string
  result: unknown
  reason: string
  holds: boolean | null | undefined
  runs: number
  answer: string | undefined
}

type Standing = 'met' | 'lost' | 'void' | 'open'

export interface Legality {
  readonly problems: readonly string[]
  /** How often each kind of event occurred. */
  readonly events: ReadonlyMap<string, number>
}

export function checkLegality(plan: FrozenPlan, runes: readonly Seen[], mode: string): Legality {
  const steps = stepsOf(plan)
  const problems: string[] = []
  const events = new Map<string, number>()
  const attempts = new Map<string, Attempt>()
  const latest = new Map<string, Attempt>()
  const questions = new Map<string, { readonly attempt: Attempt; readonly asks: 'condition' | 'review' }>()
  const runs = new Map<string, Step | null>()
  const calls = new Map<string, { readonly step: Step | null; readonly name: string; readonly args: Json }>()
  const count = (what: string) => events.set(what, (events.get(what) ?? 0) + 1)
  /** A stand-in needs the gate of the step that it replaces, too; the gate belongs to that step. */
  const ownGates = ({ needs, instead_of }: Step) =>
    needs.filter(
      (key) => steps.get(key)?.kind === 'review' && steps.get(instead_of ?? '')?.needs.includes(key) !== true,
    )
  /** The steps with a condition, by their gates. */
  const behind = new Map(
    [...steps.values()].flatMap((step) =>
      step.condition === null ? [] : ownGates(step).map((gate) => [gate, step] as const),
    ),
  )
  /** Instead of the gate of such a step, what stands before the gate. */
  const through = (keys: readonly string[], field: 'before' | 'needs') =>
    keys.flatMap((key) => (behind.has(key) ? (steps.get(key)?.[field] ?? []) : [key]))
  const standInOf = new Map([...steps.values()].flatMap((s) => (s.instead_of === null ? [] : [[s.instead_of, s.key]])))
  let isReviewed = false

  /** The result of a step for its dependents, by the record so far. */
  function standing(key: string, seen: ReadonlySet<string> = new Set()): Standing {
    const attempt = latest.get(key)
    const step = steps.get(key)
    if (attempt === undefined || step === undefined || seen.has(key)) return 'lost'
    const on = new Set([...seen, key])
    if (attempt.state === 'completed') return 'met'
    if (!['failed', 'skipped', 'cancelled'].includes(attempt.state)) return 'open'
    if (step.instead_of !== null && latest.get(step.instead_of)?.state === 'completed') return 'met'
    if (step.instead_of !== null && attempt.state === 'skipped' && standing(step.instead_of, on) === 'met') return 'met'
    if (attempt.state === 'skipped' && attempt.holds === false) return 'void'
    if (attempt.state === 'skipped' && !step.before.some((b) => standing(b, on) === 'lost')) {
      if (latest.get(behind.get(key)?.key ?? '')?.state === 'skipped') return 'void'
      const needs = through(step.needs, 'needs')
      if (needs.length > 0 && needs.every((n) => standing(n, on) === 'void')) return 'void'
      if (step.instead_of !== null && standing(step.instead_of, on) === 'void') return 'void'
    }
    const standIn = standInOf.get(key)
    const instead = standIn === undefined ? 'lost' : standing(standIn, on)
    return instead === 'void' ? 'lost' : instead
  }

  const isOver = (key: string) => standing(key) === 'met' || standing(key) === 'void'

  /** Why the graph does not let this step begin now, or not let its condition be decided. */
  function obstacles(step: Step, to: 'begin' | 'decide' = 'begin'): string[] {
    const before = to === 'begin' ? step.before : through(step.before, 'before')
    const open = before.filter((key) => !isOver(key)).map((key) => `${key} is ${latest.get(key)?.state}`)
    const needs = through(step.needs, 'needs')
    if (needs.length > 0 && needs.every((key) => standing(key) === 'void')) open.push('all it needs is void')
    const own = behind.get(step.key)
    if (own !== undefined && latest.get(own.key)?.holds !== true) open.push(`the condition of ${own.key} does not hold`)
    if (step.instead_of !== null) {
      const primary = latest.get(step.instead_of)
      if (isOver(step.instead_of)) open.push('it is not needed')
      if (!['failed', 'skipped'].includes(primary?.state ?? '')) open.push(`${step.instead_of} is not over`)
    }
    return open
  }

  /** The results that a step builds on: each has to stand in its input. */
  function expectedLines(step: Step): string[] {
    const lines = new Map<string, string>()
    const look = (key: string) => {
      const [other, attempt] = [steps.get(key), latest.get(key)]
      if (other === undefined || attempt === undefined || lines.has(key)) return
      if (other.kind === 'review') {
        lines.set(key, '')
        for (const before of other.before) look(before)
        return
      }
      const name = other.instead_of === null ? key : `${key}, instead of ${other.instead_of}`
      if (attempt.state === 'completed') lines.set(key, `- ${name}: ${JSON.stringify(attempt.result)}`)
      else {
        lines.set(
          key,
          `- ${key} ${attempt.state === 'skipped' ? 'was skipped' : 'failed'}: ${JSON.stringify(attempt.reason)}`,
        )
        const primary = other.instead_of
        if (primary !== null && latest.get(primary)?.state === 'completed') look(primary)
        else if (standInOf.has(key)) look(standInOf.get(key) ?? '')
      }
    }
    for (const before of step.before) look(before)
    return [...lines.values()].filter((line) => line !== '')
  }

  function begins(attempt: Attempt, step: Step, say: (what: string) => void) {
    for (const obstacle of obstacles(step)) say(`begins although ${obstacle}`)
    if (step.condition !== null && attempt.holds !== true) say(`begins although its condition is ${attempt.holds}`)
  }

  /** A stand-in in a later phase waits for its phase, and the phase for the task that it replaces: nothing can begin. */
  function isStuck(): boolean {
    const open = [...latest.values()].filter(({ state }) => !['completed', 'failed', 'skipped'].includes(state))
    return open.every(({ key, state, holds }) => {
      const step = steps.get(key) as Step
      const to = step.condition !== null && holds === undefined ? 'decide' : 'begin'
      return state === 'pending' && obstacles(step, to).length > 0
    })
  }

  function skipped(attempt: Attempt, step: Step, say: (what: string) => void) {
    const { before, needs, instead_of } = step
    const isLost = before.some((key) => standing(key) === 'lost')
    const needed = through(needs, 'needs')
    const isVoid = needed.length > 0 && needed.every((key) => standing(key) === 'void')
    const isUnneeded = instead_of !== null && isOver(instead_of)
    if (attempt.holds === false) count('skipped: its condition does not hold')
    else if (attempt.holds === null) count('skipped: its condition could not be decided')
    else if (isUnneeded) count('skipped: a stand-in that is not needed')
    else if (isLost) count('skipped: something before it is lost')
    else if (isVoid) count('skipped: all it depends on is void')
    else if (latest.get(behind.get(step.key)?.key ?? '')?.state === 'skipped')
      count('skipped: a gate of a skipped task')
    else if (isStuck()) count('skipped: it waits for what waits for it')
    else say('is skipped although it could run')
    if (attempt.reason === '') say('is skipped without a reason')
  }

  function decided(attempt: Attempt, step: Step, rune: Seen, say: (what: string) => void) {
    const { condition, holds, decided_by } = rune.payload as {
      condition: string
      holds: boolean | null
      decided_by: string
    }
    if (attempt.holds !== undefined) say('is decided twice')
    if (condition !== step.condition) say(`decides “${condition}” and not “${step.condition}”`)
    for (const obstacle of obstacles(step, 'decide')) say(`is decided although ${obstacle}`)
    const truth = truthOf(step.condition ?? '', (key) => (isBefore(step, key) ? latest.get(key) : undefined))
    if (decided_by === 'rule' && holds !== truth) say(`is decided as ${holds}; its rule is ${truth}`)
    if (decided_by !== 'rule' && truth !== undefined) say('has a rule that was not followed')
    if (decided_by === 'human' && attempt.answer !== `condition ${holds ? 'approve' : 'deny'}`)
      say(`is decided as ${holds} by a person who said ${attempt.answer}`)
    if (decided_by === 'critic' && mode !== 'auto') say('is decided by the critic in the mode interactive')
    if (decided_by === 'human' && mode === 'auto') say('is decided by a person in the mode auto')
    attempt.holds = holds
    count(`decided by ${decided_by}: ${holds ?? 'undecidable'}`)
  }

  function isBefore(step: Step, key: string, seen: Set<string> = new Set()): boolean {
    if (seen.has(step.key)) return false
    seen.add(step.key)
    // A stand-in comes after the step that it stands in for.
    const before = [...step.before, ...(step.instead_of === null ? [] : [step.instead_of])]
    return before.some((b) => b === key || isBefore(steps.get(b) as Step, key, seen))
  }

  function submitted(rune: Seen, attempt: Attempt | undefined, step: Step | undefined, say: (what: string) => void) {
    const { agent, input, allowed_tools } = rune.payload as { agent: string; input: string; allowed_tools?: Json }
    runs.set(rune.run_id ?? '', step ?? null)
    if (attempt === undefined || step === undefined) {
      if (agent !== 'critic') say(`a run of ${agent} that no task has`)
      return
    }
    attempt.runs += 1
    if (step.kind === 'review') say('has a run although it is a review')
    if (attempt.runs > 1 || attempt.state !== 'assigned') say(`has run ${attempt.runs} while it is ${attempt.state}`)
    if (agent !== step.owner) say(`is run by ${agent} and not by ${step.owner}`)
    if (JSON.stringify(allowed_tools) !== JSON.stringify(step.tools))
      say(`gets the tools ${JSON.stringify(allowed_tools)}`)
    for (const line of expectedLines(step)) if (!`${input}\n`.includes(`\n${line}\n`)) say(`does not read: ${line}`)
    count(expectedLines(step).length > 0 ? 'ran with inputs' : 'ran without inputs')
    if (step.instead_of !== null) count('ran as a stand-in')
  }

  for (const rune of runes) {
    const attempt = attempts.get(rune.task_id ?? '')
    const step = steps.get(attempt?.key ?? '')
    const say = (what: string) =>
      problems.push(`event ${rune.event_id}: ${attempt?.key ?? ''} ${what}`.replace('  ', ' '))
    switch (rune.kind) {
      case 'task.opened': {
        const { key, retries } = rune.payload.task as { key: string; retries: string | null }
        if (!steps.has(key)) say(`${key} is not in the graph`)
        if ((retries !== null) !== latest.has(key)) say(`${key} is opened ${latest.has(key) ? 'twice' : 'as a retry'}`)
        if (retries !== null && !isReviewed) say(`${key} is retried without a review`)
        if (retries !== null) count('retried')
        const opened = { key, state: 'pending', result: null, reason: '', holds: undefined, runs: 0, answer: undefined }
        attempts.set(rune.task_id ?? '', opened)
        latest.set(key, opened)
        break
      }
      case 'goal.moved':
        isReviewed = rune.trigger === 'critique_found_issues'
        break
      case 'task.condition_decided':
        if (attempt !== undefined && step !== undefined) decided(attempt, step, rune, say)
        break
      case 'run.submitted':
        submitted(rune, attempt, step, say)
        break
      case 'interaction.opened':
        if (attempt !== undefined && step !== undefined && rune.run_id === undefined) {
          const asks = 'condition' in (rune.payload.request as object) ? 'condition' : 'review'
          if (asks === 'review' && step.kind !== 'review') say('asks for a review')
          if (asks === 'condition' && (step.condition === null || mode === 'auto')) say('asks about a condition')
          for (const obstacle of obstacles(step, asks === 'review' ? 'begin' : 'decide'))
            say(`asks although ${obstacle}`)
          questions.set(rune.interaction_id ?? '', { attempt, asks })
        }
        break
      case 'interaction.answered': {
        const question = questions.get(rune.interaction_id ?? '')
        const { decision } = rune.payload.reply as { decision?: string }
        if (question !== undefined) question.attempt.answer = `${question.asks} ${decision}`
        break
      }
      case 'tool.call': {
        const { tool_name, arguments: args } = rune.payload as { tool_name: string; arguments: Json }
        calls.set(rune.call_id ?? '', { step: runs.get(rune.run_id ?? '') ?? null, name: tool_name, args })
        break
      }
      case 'tool.result': {
        const call = calls.get(rune.call_id ?? '')
        if (rune.payload.status === 'denied') count('call outside the plan denied')
        if (rune.payload.status !== 'success' || call === undefined) break
        if (!isPlanned(call.step, call.name, call.args))
          say(`${call.name} ran outside the plan: ${JSON.stringify(call.args)}`)
        count('call of the plan ran')
      }
    }
    if (rune.machine !== 'task' || rune.kind === 'task.opened' || attempt === undefined || step === undefined) continue
    attempt.reason = (rune.payload as { reason?: string }).reason ?? ''
    if (rune.to === 'assigned') begins(attempt, step, say)
    if (rune.to === 'skipped') skipped(attempt, step, say)
    if (rune.to === 'completed' || rune.to === 'failed') {
      attempt.result = rune.payload.result ?? null
      if (step.kind === 'review') {
        const answer = rune.to === 'completed' ? 'review approve' : 'review deny'
        if (attempt.answer !== answer) say(`is ${rune.to} after ${attempt.answer}`)
        count(`review ${rune.to}`)
      } else {
        if (attempt.runs !== 1) say(`is ${rune.to} after ${attempt.runs} runs`)
        count(`task ${rune.to}`)
      }
    }
    attempt.state = rune.to ?? ''
  }

  const isOpened = latest.size > 0
  for (const [key, { kind }] of steps) {
    const state = latest.get(key)?.state
    if (!isOpened) continue
    if (state === undefined) problems.push(`${key} (${kind}) was never opened`)
    else if (!['completed', 'failed', 'skipped', 'cancelled'].includes(state)) problems.push(`${key} is left ${state}`)
  }
  const isMet = runes.some(({ kind }) => kind === 'plan.goal_met')
  count(isMet ? 'goal met' : 'goal stopped')
  if (isMet)
    for (const key of steps.keys())
      if (!isOver(key)) problems.push(`the goal is met although ${key} is ${latest.get(key)?.state}`)
  return { problems, events }
}

/** The tasks that the graph has, each with what stands before it. */
function stepsOf({ graph, intent, registry }: FrozenPlan): ReadonlyMap<string, Step> {
  const nodes = new Map(graph.nodes.map((node) => [node.node_id, node]))
  const into = Map.groupBy(graph.edges, ({ to_node }) => to_node)
  const isTask = (id: string) => ['action_proposal', 'review_gate'].includes(nodes.get(id)?.node_type ?? '')
  const nearest = (id: string): string[] =>
    (into.get(id) ?? []).flatMap(({ from_node }) => (isTask(from_node) ? [from_node] : nearest(from_node)))
  const keyOf = (id: string) => (nodes.get(id)?.node_type === 'review_gate' ? id : (nodes.get(id)?.step_ref ?? id))
  const extras = (intent.metadata?.tasks ?? {}) as Record<string, { instead_of?: string | null } | undefined>
  const primaryOf = (step: string) => extras[step]?.instead_of ?? null
  const conditionBefore = (id: string) =>
    (into.get(id) ?? []).find(({ from_node }) => nodes.get(from_node)?.node_type === 'decision_point')?.condition ??
    null
  const steps = [...nodes.values()]
    .filter(({ node_id }) => isTask(node_id))
    .map((node): Step => {
      const step = node.step_ref ?? ''
      const before = [...new Set(nearest(node.node_id).map(keyOf))]
      const declared = intent.planned_commands.find((c) => (c.step_id ?? c.command_id) === step)?.depends_on ?? []
      const ownGate = graph.nodes.find((n) => n.node_type === 'review_gate' && n.step_ref === step)?.node_id
      const command = registry.entries.find(
        (e) => e.kind === 'command' && e.id === node.command_ref && e.version === node.command_version,
      )
      return {
        key: keyOf(node.node_id),
        kind: node.node_type === 'review_gate' ? 'review' : 'work',
        before,
        needs: before.filter((key) => declared.includes(key) || (key === ownGate && node.node_id !== ownGate)),
        condition: node.node_type === 'review_gate' ? null : conditionBefore(ownGate ?? node.node_id),
        instead_of: node.node_type === 'review_gate' ? null : primaryOf(step),
        owner: graph.swimlanes.find(({ node_refs }) => node_refs.includes(node.node_id))?.agent_id ?? '',
        tools: command?.kind === 'command' ? (command.tools as readonly Json[]) : [],
      }
    })
  // A stand-in, and its gate, wait for what the task waits for, and not for the task.
  const byKey = new Map(steps.map((step) => [step.key, step]))
  const chain = (key: string): string[] => {
    const next = byKey.get(key)?.instead_of ?? null
    return next === null ? [key] : [key, ...chain(next)]
  }
  return new Map(
    steps.map((step) => {
      const node = graph.nodes.find(({ node_id }) => keyOf(node_id) === step.key)
      const primary = primaryOf(node?.step_ref ?? '')
      const other = byKey.get(primary ?? '')
      if (primary === null || other === undefined) return [step.key, step]
      const without = (own: readonly string[], more: readonly string[]) =>
        [...new Set([...own, ...more])].filter((key) => !chain(primary).includes(key) && key !== step.key)
      return [
        step.key,
        { ...step, before: without(step.before, other.before), needs: without(step.needs, other.needs) },
      ]
    }),
  )
}

/** The truth of the rules that the random goals use. Undefined: it is words, or it cannot be evaluated. */
function truthOf(condition: string, look: (key: string) => Attempt | undefined): boolean | undefined {
  if (condition === 'rule: true') return true
  if (condition === 'rule: false') return false
  const [, key = '', text] = /^rule: context\.tasks\.(\w+)\.result == "(.*)"$/.exec(condition) ?? []
  const attempt = look(key)
  return attempt?.state === 'completed' ? attempt.result === text : undefined
}

/** The one schema that the random goals use is a largest amount. */
function isPlanned(step: Step | null, name: string, args: Json): boolean {
  const tool = step?.tools.find((one) => (one as { name: string }).name === name) as
    | { readonly args_schema?: { readonly properties?: { readonly cents?: { readonly maximum?: number } } } }
    | undefined
  if (tool === undefined) return false
  const most = tool.args_schema?.properties?.cents?.maximum ?? Number.POSITIVE_INFINITY
  return ((args as { cents?: number }).cents ?? 0) <= most
}
