import { asJson, canonicalJson, type Json } from '../../kernel/json.ts'
import { isTerminal } from '../../kernel/machine.ts'
import { agentMachine } from '../../machines/agent.ts'
import { runMachine } from '../../machines/run.ts'
import type { PlannedTask } from '../../observation/goal-state.ts'
import { subject } from '../../runtime/batch.ts'
import { openRun } from '../../runtime/commands/submit.ts'
import type { ApprovalDecision } from '../../wire/interaction.ts'
import {
  type Critique,
  currentTasks,
  failuresOf,
  notesForReplan,
  publicProblems,
  readCritique,
  verdictOf,
} from './critique.ts'
import { brief } from './executing.ts'
import {
  aboutGoal,
  approvalOf,
  criticAttempts,
  dismiss,
  type GoalContext,
  openCritic,
  readOnlyTools,
  stopGoal,
} from './goal-context.ts'
import { criticInput, plannerInput } from './prompts.ts'

const scheduler = 'scheduler' as const

/** Decides about a goal that has no plan yet, or whose last plan was rejected. */
export function decideReceived(context: GoalContext) {
  const { goal, batch } = context
  const { goal_id, revise, given } = goal
  const rejected = `The plan was rejected (${revise}), and there is no planner to revise it.`
  if (given === null && revise !== null && context.config.planner === null)
    return stopGoal(context, 'plan_rejected', rejected, 'human')
  if (given === null && draftsLeft(context) === 0) return stopWithoutPlan(context)
  batch.on(subject.goal(goal_id), scheduler).move('decompose_goal', {})
}

/** Gets a draft, has it judged, and asks a person whether the plan may start. */
export function decidePlanning(context: GoalContext) {
  const { goal } = context
  if (goal.plan !== null) return decideApproval(context)
  const draft = goal.drafts.length + 1
  const by = goal.given === null ? 'planner' : 'caller'
  const given = goal.given ?? drafted(context, draft)
  if (given === undefined) return
  const judged = context.judged.get(draft)
  if (judged === undefined) {
    // While the Coordinator waits for answers there is nothing to judge. Recording an answer wakes the driver.
    if (context.state.subjects.get(context.ids.coordination(draft))?.state !== 'AWAITING_ANSWERS')
      context.errands.push({ errand: 'judge', draft, given, by })
    return
  }
  if (judged.outcome === 'failed') return draftFailed(context, draft, judged.failure)

  const { ids, batch, config } = context
  const plan_id = ids.plan(draft)
  const tasks = judged.tasks.map(asJson)
  batch.record('plan.created', { actor: 'coordinator', payload: { plan_id, tasks } }, aboutGoal(context))
  if (config.auto === true) return start(context, 'auto_start', judged.tasks, plan_id)
  const interaction_id = ids.question(plan_id)
  const asked = approvalOf(`Shall this plan start? ${goal.goal_description}`, { goal_id: goal.goal_id, plan_id, tasks })
  // With the digest, an approval can name the plan that the person saw.
  const digest = context.engine.sha256(canonicalJson(asked.request))
  const about = { ...aboutGoal(context), interaction_id }
  batch.on(subject.newQuestion(interaction_id, about), scheduler).open({ ...asked, digest })
}

function decideApproval(context: GoalContext) {
  const { goal, state, batch } = context
  if (goal.plan === null) return
  const answered = state.interactions.get(goal.plan.interaction_id ?? '')?.answered
  if (answered == null) return
  const { decision, reason } = answered.reply as { decision: ApprovalDecision; reason?: string }
  if (decision === 'approve') return start(context, 'plan_approved', goal.plan.tasks, goal.plan.plan_id)
  const payload = { reason: reason ?? `Rejected by ${answered.replied_by}.` }
  batch.on(subject.goal(goal.goal_id), 'human').move('plan_rejected', payload)
}

type Start = 'plan_approved' | 'auto_start'

function start(context: GoalContext, trigger: Start, tasks: readonly PlannedTask[], plan_id: string) {
  const actor = trigger === 'auto_start' ? 'policy' : 'human'
  context.batch.on(subject.goal(context.goal.goal_id), actor).move(trigger, {})
  for (const task of tasks) openTask(context, plan_id, task)
}

function openTask(context: GoalContext, plan_id: string, task: PlannedTask) {
  const payload = { plan_id, task: asJson(task) }
  context.batch.on(subject.task(context.goal.goal_id, task.task_id), scheduler).open(payload)
}

/** The planner's draft. Undefined: the planner is at work, or gives none. */
function drafted(context: GoalContext, draft: number): Json | undefined {
  const { goal, state, ids, config, registry, batch } = context
  if (config.planner === null || draftsLeft(context) === 0) {
    stopWithoutPlan(context)
    return undefined
  }
  const run_id = ids.plannerRun(draft)
  const run = state.runs.get(run_id)
  if (run === undefined) {
    const refused = context.judged.get(draft)
    if (refused?.outcome === 'failed') draftFailed(context, draft, refused.failure)
    else if (!context.engine.agents.has(config.planner)) notConfigured(context, 'planner', config.planner)
    else if (isGone(context))
      stopGoal(context, 'agent_terminated', 'The agent that drafts its plans was terminated.', 'policy')
    else if (registry === undefined) context.errands.push({ errand: 'registry', draft })
    else {
      // The goal's own agent carries the goal's budget. The planner's budget therefore limits its runs.
      const budget = context.engine.agents.get(config.planner)?.budget ?? null
      const input = plannerInput(goal, registry)
      const submission = { agent: config.planner, input, mode: config.mode, ...(budget === null ? {} : { budget }) }
      const allowed_tools = readOnlyTools(context, config.planner)
      const behalf = { actor: scheduler, goal_id: goal.goal_id, allowed_tools }
      openRun(batch, { run_id, agent_id: goal.agent_id }, submission, behalf)
      brief(context, notesForReplan(goal), { run_id, agent_id: goal.agent_id })
    }
    return undefined
  }
  if (!isTerminal(runMachine, run.status)) return undefined
  if (run.status === 'succeeded') return run.result
  draftFailed(context, draft, `The planner did not finish (${run.status}): ${run.message ?? run.error_code ?? ''}`)
  return undefined
}

/** Stops the goal, unless another process may have the agent. */
function notConfigured(context: GoalContext, part: 'planner' | 'critic', agent: string): undefined {
  if (!context.engine.isAlone) return
  stopGoal(context, 'agent_missing', `Its ${part} ${agent} is not configured any more.`, 'policy')
}

/** Whether the goal's own agent is terminated, so that no worker takes its runs. */
function isGone({ batch, goal }: GoalContext): boolean {
  return isTerminal(agentMachine, batch.stateOf(goal.agent_id))
}

function draftFailed(context: GoalContext, draft: number, failure: Json) {
  const payload = { plan_id: context.ids.plan(draft), changes: { change: 'draft_failed', failure } }
  context.batch.record('plan.updated', { actor: 'coordinator', payload }, aboutGoal(context))
}

/** The drafts that the planner may still make for this review; the next review starts a new count. */
function draftsLeft({ goal, config }: Pick<GoalContext, 'goal' | 'config'>): number {
  if (config.planner === null) return 0
  const made = goal.drafts.filter(({ after_critiques }) => after_critiques === goal.critiques.length).length
  return Math.max(0, config.max_drafts - made)
}

function stopWithoutPlan(context: GoalContext) {
  const { goal, config } = context
  const last = goal.drafts.at(-1)?.failure
  const why = last == null ? (goal.revise ?? '') : typeof last === 'string' ? last : JSON.stringify(last)
  const [cause, problem] =
    config.planner === null
      ? (['no_plan', 'There is no plan that can be executed, and no planner to draft one.'] as const)
      : (['drafts', `The planner has made ${config.max_drafts} drafts, as many as it may.`] as const)
  stopGoal(context, cause, `${problem} ${why}`.trim(), 'policy')
}

/** Every task is over: the critic examines the results, and its findings decide. */
export function decideReviewing(context: GoalContext) {
  const critique = critiqueOf(context)
  if (critique === undefined) return
  const { goal, batch, ids, config } = context
  const plan_id = goal.plan?.plan_id ?? ''
  const findings = critique.findings.map(asJson)
  const critiqued = { actor: 'reasoning' as const, payload: { plan_id, findings }, visibility: 'internal' as const }
  batch.record('plan.critique', critiqued, aboutGoal(context))

  const verdict = verdictOf(goal, critique, ids)
  if (verdict.verdict === 'passed') {
    // The critic's prompt says that the summary is public and the findings are not.
    const payload = { plan_id, summary: critique.summary || summaryOf(context) }
    batch.on(subject.goal(goal.goal_id), 'reasoning').move('critique_passed', payload)
    return
  }
  const what = publicProblems(goal, critique)
  const { iterations } = config.budget
  const often = `It was executed and reviewed ${iterations} times, as often as it may: ${what}.`
  if (goal.critiques.length + 1 >= iterations) return stopGoal(context, 'iterations', often, 'policy')
  if (verdict.verdict === 'replan') return replan(context, what)
  const changes = { change: 'tasks_added', task_ids: verdict.tasks.map(({ task_id }) => task_id) }
  batch.record('plan.updated', { actor: 'scheduler', payload: { plan_id, changes } }, aboutGoal(context))
  const found = batch.on(subject.goal(goal.goal_id), 'reasoning')
  found.move('critique_found_issues', { reason: what })
  for (const task of verdict.tasks) openTask(context, plan_id, task)
}

function replan(context: GoalContext, reason: string) {
  const { goal, batch } = context
  // The critique of this append is not in `goal` yet, and starts a new count of drafts.
  if (goal.given === null && draftsLeft({ ...context, goal: { ...goal, drafts: [] } }) === 0)
    return stopGoal(context, 'no_plan', `It needs another plan, and there is no planner: ${reason}`, 'policy')
  batch.on(subject.goal(goal.goal_id), 'reasoning').move('needs_replan', { reason })
}

/** The critic's findings, and failures that need no critic. Undefined while the critic is at work. */
function critiqueOf(context: GoalContext): Critique | undefined {
  const { goal, state, config, ids } = context
  const seen = failuresOf(goal)
  if (config.critic === null) return { summary: '', needs_replan: false, findings: seen }
  const number = goal.critiques.length + 1
  let problem = ''
  for (let attempt = 1; attempt <= criticAttempts; attempt++) {
    const run = state.runs.get(ids.criticRun(number, attempt))
    if (run === undefined) return askCritic(context, number, attempt)
    if (!isTerminal(runMachine, run.status)) return undefined
    const read: Critique | { problem: string } =
      run.status === 'succeeded'
        ? readCritique(String(run.result), goal)
        : { problem: `Its run was ${run.status}${run.error_code === null ? '' : ` (${run.error_code})`}.` }
    dismiss(context, run)
    if ('findings' in read) {
      const named = new Set(read.findings.flatMap(({ severity, task_id }) => (severity === 'error' ? [task_id] : [])))
      return { ...read, findings: [...read.findings, ...seen.filter(({ task_id }) => !named.has(task_id))] }
    }
    problem = read.problem
  }
  stopGoal(context, 'critic_failed', `The critic gave no critique in ${criticAttempts} attempts: ${problem}`, 'policy')
  return undefined
}

function askCritic(context: GoalContext, number: number, attempt: number): undefined {
  const { engine, goal, config, ids, prepared } = context
  const agent = config.critic ?? ''
  if (!engine.agents.has(agent)) return notConfigured(context, 'critic', agent)
  const key = `critic ${number} ${attempt}`
  const problem = prepared.get(key)
  if (problem !== undefined) stopGoal(context, 'critic_failed', `The critic could not be set up: ${problem}`, 'policy')
  else {
    const [run_id, agent_id] = [ids.criticRun(number, attempt), ids.criticAgent(number, attempt)]
    openCritic(context, { key, run_id, agent_id, input: criticInput(goal) })
  }
}

function summaryOf({ goal }: GoalContext): string {
  const tasks = currentTasks(goal)
  const done = tasks.filter(({ state }) => state === 'completed').length
  return `${done} of ${tasks.length} tasks completed; nothing stands in the way.`
}
