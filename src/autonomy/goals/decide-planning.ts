import { canonicalJson } from '../../kernel/canonical-json.ts'
import { asJson, type Json } from '../../kernel/json.ts'
import { isTerminal } from '../../kernel/machine.ts'
import { runMachine } from '../../machines/run.ts'
import { subject } from '../../runtime/batch.ts'
import { openRun } from '../../runtime/commands/submit.ts'
import { notesForReplan } from './critique.ts'
import { aboutGoal, type Desk, readOnlyTools } from './desk.ts'
import { plannerInput } from './prompts.ts'
import { stopGoal } from './stop-goal.ts'
import { brief } from './task-ops.ts'

const scheduler = 'scheduler' as const

/** Nothing is planned yet, or the last plan was rejected. */
export function decideReceived(desk: Desk) {
  const { goal, batch } = desk
  const { goal_id, revise, given } = goal
  if (given === null && revise !== null && desk.config.planner === null)
    return stopGoal(
      desk,
      'plan_rejected',
      `The plan was rejected (${revise}), and there is no planner to revise it.`,
      'human',
    )
  if (given === null && draftsLeft(desk) === 0) return stopWithoutPlan(desk)
  batch.on(subject.goal(goal_id), scheduler).move('decompose_goal', {})
}

/** A draft is wanted, judged, or waits for a person to let it start. */
export function decidePlanning(desk: Desk) {
  const { goal } = desk
  if (goal.plan !== null) return decideApproval(desk)
  const draft = goal.drafts.length + 1
  const by = goal.given === null ? 'planner' : 'caller'
  const given = goal.given ?? drafted(desk, draft)
  if (given === undefined) return
  const judged = desk.judged.get(draft)
  if (judged === undefined) {
    // A person has questions of the Coordinator to answer; what they say is recorded, and it is looked at again.
    if (desk.state.subjects.get(desk.ids.coordination(draft))?.state !== 'AWAITING_ANSWERS')
      desk.errands.push({ errand: 'judge', draft, given, by })
    return
  }
  if (judged.outcome === 'failed') return draftFailed(desk, draft, judged.failure)

  const { ids, batch, config } = desk
  const plan_id = ids.plan(draft)
  const tasks = judged.tasks.map(asJson)
  batch.record('plan.created', { actor: 'coordinator', payload: { plan_id, tasks } }, aboutGoal(desk))
  if (config.auto === true) return start(desk, 'auto_start', judged.tasks, plan_id)
  const interaction_id = ids.question(plan_id)
  const request = { goal_id: goal.goal_id, plan_id, tasks, options: ['approve', 'deny'] }
  const payload = {
    interaction_kind: 'approval' as const,
    prompt: `Shall this plan start? ${goal.goal_description}`,
    request,
    evidence: [],
    deadline: null,
    on_silence: 'wait' as const,
    // An approval can name what the person saw.
    digest: desk.engine.sha256(canonicalJson(request)),
  }
  const about = { ...aboutGoal(desk), interaction_id }
  batch.on(subject.newQuestion(interaction_id, about), scheduler).open(payload)
}

function decideApproval(desk: Desk) {
  const { goal, state, batch } = desk
  if (goal.plan === null) return
  const answered = state.interactions.get(goal.plan.interaction_id ?? '')?.answered
  if (answered == null) return
  const { decision, reason } = answered.reply as { decision: 'approve' | 'deny'; reason?: string }
  if (decision === 'approve') return start(desk, 'plan_approved', goal.plan.tasks, goal.plan.plan_id)
  const payload = { reason: reason ?? `Rejected by ${answered.replied_by}.` }
  batch.on(subject.goal(goal.goal_id), 'human').move('plan_rejected', payload, { decision })
}

function start(
  desk: Desk,
  trigger: 'plan_approved' | 'auto_start',
  tasks: NonNullable<Desk['goal']['plan']>['tasks'],
  plan_id: string,
) {
  const { goal, batch } = desk
  const actor = trigger === 'auto_start' ? 'policy' : 'human'
  batch.on(subject.goal(goal.goal_id), actor).move(trigger, {})
  for (const task of tasks) openTask(desk, plan_id, task)
}

/** Opens a task of the plan. */
export function openTask(desk: Desk, plan_id: string, task: NonNullable<Desk['goal']['plan']>['tasks'][number]) {
  const payload = { plan_id, task: asJson(task) }
  desk.batch.on(subject.task(desk.goal.goal_id, task.task_id), scheduler).open(payload)
}

/** What the planner wrote; undefined while it is at work, or where nothing is left to be drafted. */
function drafted(desk: Desk, draft: number): Json | undefined {
  const { goal, state, ids, config, registry, batch } = desk
  if (config.planner === null || draftsLeft(desk) === 0) {
    stopWithoutPlan(desk)
    return undefined
  }
  const run_id = ids.plannerRun(draft)
  const run = state.runs.get(run_id)
  if (run === undefined) {
    const refused = desk.judged.get(draft)
    if (refused?.outcome === 'failed') draftFailed(desk, draft, refused.failure)
    else if (!desk.engine.agents.has(config.planner)) notConfigured(desk, 'planner', config.planner)
    else if (isGone(desk))
      stopGoal(desk, 'agent_terminated', 'The agent that drafts its plans was terminated.', 'policy')
    else if (registry === undefined) desk.errands.push({ errand: 'registry', draft })
    else {
      // The head of the goal has the goal's budget, so the planner's own limits its runs.
      const budget = desk.engine.agents.get(config.planner)?.budget ?? null
      const input = plannerInput(goal, registry)
      const submission = { agent: config.planner, input, mode: config.mode, ...(budget === null ? {} : { budget }) }
      const allowed_tools = readOnlyTools(desk, config.planner)
      const behalf = { actor: scheduler, goal_id: goal.goal_id, allowed_tools }
      openRun(batch, { run_id, agent_id: goal.agent_id }, submission, behalf)
      brief(desk, notesForReplan(goal), { run_id, agent_id: goal.agent_id })
    }
    return undefined
  }
  if (!isTerminal(runMachine, run.status)) return undefined
  if (run.status === 'succeeded') return run.result
  draftFailed(desk, draft, `The planner did not finish (${run.status}): ${run.message ?? run.error_code ?? ''}`)
  return undefined
}

/** Another process may have the agent; where there is none, its part would never be done. */
export function notConfigured(desk: Desk, part: 'planner' | 'critic', agent: string): undefined {
  if (!desk.engine.isAlone) return
  stopGoal(desk, 'agent_missing', `Its ${part} ${agent} is not configured any more.`, 'policy')
}

/** No worker takes the runs of an agent that is over. */
function isGone({ batch, goal }: Desk): boolean {
  const at = batch.stateOf(goal.agent_id)
  return at === 'terminated' || at === 'failed'
}

function draftFailed(desk: Desk, draft: number, failure: Json) {
  const payload = { plan_id: desk.ids.plan(draft), changes: { change: 'draft_failed', failure } }
  desk.batch.record('plan.updated', { actor: 'coordinator', payload }, aboutGoal(desk))
}

/** Each review resets the count: it is about how often one plan is tried. */
export function draftsLeft({ goal, config }: Pick<Desk, 'goal' | 'config'>): number {
  if (config.planner === null) return 0
  const made = goal.drafts.filter(({ after_critiques }) => after_critiques === goal.critiques.length).length
  return Math.max(0, config.max_drafts - made)
}

function stopWithoutPlan(desk: Desk) {
  const { goal, config } = desk
  const last = goal.drafts.at(-1)?.failure
  const why = last == null ? (goal.revise ?? '') : typeof last === 'string' ? last : JSON.stringify(last)
  const [cause, said] =
    config.planner === null
      ? (['no_plan', 'There is no plan that can be executed, and no planner to draft one.'] as const)
      : (['drafts', `The planner has made ${config.max_drafts} drafts, as many as it may.`] as const)
  stopGoal(desk, cause, `${said} ${why}`.trim(), 'policy')
}
