import { asJson } from '../../kernel/json.ts'
import { isTerminal } from '../../kernel/machine.ts'
import { runMachine } from '../../machines/run.ts'
import { subject } from '../../runtime/batch.ts'
import { openRun, spawn } from '../../runtime/commands/submit.ts'
import { type Critique, currentTasks, failuresOf, publicProblems, readCritique, verdictOf } from './critique.ts'
import { draftsLeft, notConfigured, openTask } from './decide-planning.ts'
import { aboutGoal, type Desk, dismiss, readOnlyTools } from './desk.ts'
import { criticInput } from './prompts.ts'
import { stopGoal } from './stop-goal.ts'

/** How often a critic is asked whose answer cannot be read. */
const attempts = 2

/** Every task is over: the critic examines what came of them, and its findings decide. */
export function decideReviewing(desk: Desk) {
  const critique = critiqueOf(desk)
  if (critique === undefined) return
  const { goal, batch, ids, config } = desk
  const plan_id = goal.plan?.plan_id ?? ''
  const findings = critique.findings.map(asJson)
  const said = { actor: 'reasoning' as const, payload: { plan_id, findings }, visibility: 'internal' as const }
  batch.record('plan.critique', said, aboutGoal(desk))

  const verdict = verdictOf(goal, critique, ids)
  if (verdict.verdict === 'passed') {
    // The critic is told that its summary is public and its findings are not.
    const payload = { plan_id, summary: critique.summary || summaryOf(desk) }
    batch.on(subject.goal(goal.goal_id), 'reasoning').move('critique_passed', payload)
    return
  }
  const what = publicProblems(goal, critique)
  if (goal.critiques.length + 1 >= config.budget.iterations)
    return stopGoal(
      desk,
      'iterations',
      `It was executed and reviewed ${config.budget.iterations} times, as often as it may: ${what}.`,
      'policy',
    )
  if (verdict.verdict === 'replan') return replan(desk, what)
  const changes = { change: 'tasks_added', task_ids: verdict.tasks.map(({ task_id }) => task_id) }
  batch.record('plan.updated', { actor: 'scheduler', payload: { plan_id, changes } }, aboutGoal(desk))
  const payload = { reason: what }
  batch
    .on(subject.goal(goal.goal_id), 'reasoning')
    .move('critique_found_issues', payload, { retries: verdict.tasks.length })
  for (const task of verdict.tasks) openTask(desk, plan_id, task)
}

function replan(desk: Desk, reason: string) {
  const { goal, batch } = desk
  // The critique of this append is not in the count yet, and resets it.
  if (goal.given === null && draftsLeft({ ...desk, goal: { ...goal, drafts: [] } }) === 0)
    return stopGoal(desk, 'no_plan', `It needs another plan, and there is no planner: ${reason}`, 'policy')
  batch.on(subject.goal(goal.goal_id), 'reasoning').move('needs_replan', { reason })
}

/** What the critic found, and what needs no critic to be seen. Undefined while it is at work. */
function critiqueOf(desk: Desk): Critique | undefined {
  const { goal, state, config, ids } = desk
  const seen = failuresOf(goal)
  if (config.critic === null) return { summary: '', needs_replan: false, findings: seen }
  const number = goal.critiques.length + 1
  let problem = ''
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const run = state.runs.get(ids.criticRun(number, attempt))
    if (run === undefined) return askCritic(desk, number, attempt)
    if (!isTerminal(runMachine, run.status)) return undefined
    const read: Critique | { problem: string } =
      run.status === 'succeeded'
        ? readCritique(String(run.result), goal)
        : { problem: `Its run was ${run.status}${run.error_code === null ? '' : ` (${run.error_code})`}.` }
    dismiss(desk, run)
    if ('findings' in read) {
      const named = new Set(read.findings.flatMap(({ severity, task_id }) => (severity === 'error' ? [task_id] : [])))
      return { ...read, findings: [...read.findings, ...seen.filter(({ task_id }) => !named.has(task_id))] }
    }
    problem = read.problem
  }
  stopGoal(desk, 'critic_failed', `The critic gave no critique in ${attempts} attempts: ${problem}`, 'policy')
  return undefined
}

function askCritic(desk: Desk, number: number, attempt: number): undefined {
  const { engine, goal, config, ids, batch, prepared, errands } = desk
  const agent = config.critic ?? ''
  if (!engine.agents.has(agent)) return notConfigured(desk, 'critic', agent)
  const key = `critic ${number} ${attempt}`
  if (engine.agents.get(agent)?.prepare !== undefined && !prepared.has(key)) {
    errands.push({ errand: 'prepare', agent, key })
    return
  }
  const problem = prepared.get(key)
  if (problem !== undefined) {
    stopGoal(desk, 'critic_failed', `The critic could not be set up: ${problem}`, 'policy')
    return
  }
  const agent_id = ids.criticAgent(number, attempt)
  spawn(engine, batch, { name: agent, parent_id: goal.agent_id, agent_id })
  const submission = { agent, input: criticInput(goal), mode: config.mode }
  // What it writes is the critique, which is for insiders only.
  const visibility = 'internal' as const
  const behalf = {
    actor: 'scheduler' as const,
    goal_id: goal.goal_id,
    allowed_tools: readOnlyTools(desk, agent),
    visibility,
  }
  openRun(batch, { run_id: ids.criticRun(number, attempt), agent_id }, submission, behalf)
}

function summaryOf({ goal }: Desk): string {
  const tasks = currentTasks(goal)
  const done = tasks.filter(({ state }) => state === 'completed').length
  return `${done} of ${tasks.length} tasks completed; nothing stands in the way.`
}
