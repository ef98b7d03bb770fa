import type { GoalReport } from '../../autonomy/goals/report.ts'
import { stateNames } from '../../kernel/machine.ts'
import { goalMachine } from '../../machines/goal.ts'
import { withoutUndefined } from '../../runtime/options.ts'
import type { Client } from '../../surface/client.ts'
import { listAgents } from '../../surface/operations/agents.ts'
import {
  approveGoal,
  cancelGoal,
  getGoal,
  getGoalCritiques,
  listGoals,
  rejectGoal,
  startGoal,
} from '../../surface/operations/goals.ts'
import { type Call, command, withVerbs } from '../command.ts'
import { exits } from '../exits.ts'
import { followGoal } from '../follow-goal.ts'
import { clientOptions, flag, reasonOption, text } from '../options.ts'
import { critiqueLines, goalLines, goalRows, openLines, settling } from '../render/goal.ts'

const decisionOptions = {
  task: text('the task whose review this answers. Default: the plan (reject: the only open review)'),
  ...reasonOption,
}

const start = command({
  usage: 'statewright goal "WHAT TO REACH" [--plan FILE] [--auto] [--planner NAME] [--critic NAME]',
  summary: 'Set a goal and watch it: planned, judged, approved, executed, reviewed, until it is met.',
  takes: 1,
  options: {
    plan: text('a plan in JSON or YAML: a draft with tasks, or a whole intent. Default: a draft of the planner'),
    mode: text('interactive, or auto: people are asked only for reviews that the plan demands'),
    questions: text('the question budget of the plan. Default: 10'),
    auto: flag('start as soon as the plan is judged; reviews still need a person'),
    planner: text('the agent that drafts plans. Default: planner'),
    critic: text('the agent that reviews the results. Default: critic'),
    tokens: text('the limit of tokens, with those of all agents of the goal'),
    calls: text('the limit of tool calls'),
    minutes: text('the limit of time'),
    iterations: text('the limit of iterations of execute and review. Default: 10'),
    parallel: text('the number of tasks at once. Default: 4'),
    ...clientOptions,
  },
  async run(call) {
    const { words, values, io, count } = call
    const [goal = ''] = words
    if (goal.trim() === '') throw call.refuse('Name the goal.')
    const { plan: file, mode, auto, json } = values
    const minutes = count('minutes')
    const given = {
      goal,
      plan: file === undefined ? undefined : await io.host.planning.readDocument(file),
      budget: withoutUndefined({
        tokens: count('tokens'),
        tool_calls: count('calls'),
        wall_time_ms: minutes === undefined ? undefined : minutes * 60_000,
        iterations: count('iterations'),
      }),
      mode,
      question_budget: count('questions', [0, 50]),
      auto,
      max_parallel: count('parallel'),
    }
    return call.withClient('work', async (client) => {
      const { items } = await client.call(listAgents, {})
      const named = (role: 'planner' | 'critic') => values[role] ?? items.find(({ name }) => name === role)?.name
      // The operation checks the body: a mode that it does not know is refused there.
      const body = withoutUndefined({ ...given, planner: named('planner'), critic: named('critic') }) as GoalBody
      const { goal_id } = await client.call(startGoal, { body })
      return followGoal(call, { client, goal_id, patient: false, asks: io.terminal.isInteractive && !json })
    })
  },
})

type GoalBody = NonNullable<Parameters<typeof startGoal.run>[1]['body']>

const show = command({
  usage: 'statewright goal show GOAL',
  summary: 'Show the tasks of a goal with their states and owners, and its open questions.',
  takes: 1,
  options: clientOptions,
  run: ({ on, paint, print, next }) =>
    on('look', ['goal'], async (client, { id: goal_id }) => {
      const report = await client.call(getGoal, { params: { goal_id } })
      print(report, () => goalLines(report, paint))
      const works = report.abandoned === null && client.isServed
      const watching = report.ended_at === null ? [`goal watch ${goal_id}${works ? '' : ' --work'}`] : []
      next(...settling(report), ...watching)
    }),
})

const critique = command({
  usage: 'statewright goal critique GOAL',
  summary: 'Show the findings of each review of a goal. Over HTTP this needs a token with the scope admin.',
  takes: 1,
  options: clientOptions,
  run: ({ on, values, io, paint, print }) =>
    on('look', ['goal'], async (client, { id: goal_id }) => {
      const found = await client.call(getGoalCritiques, { params: { goal_id } })
      print(found, () => critiqueLines(found.critiques, paint))
      if (found.critiques.length === 0 && !values.json) io.err('It has not been reviewed yet.')
    }),
})

const watch = command({
  usage: 'statewright goal watch GOAL [--work]',
  summary: 'Show the graph of a goal as it changes, until the goal is over.',
  takes: 1,
  options: {
    work: flag('also work on this goal if no server or worker does'),
    ...clientOptions,
  },
  run: (call) => {
    const { work = false } = call.values
    return call.on(work ? 'work' : 'look', ['goal'], async (client, { id: goal_id, session_id }) => {
      await client.workOn?.({ session_id, goal_id })
      return followGoal(call, { client, goal_id, patient: !work, asks: false })
    })
  },
})

const list = command({
  usage: 'statewright goal list [--state STATE]',
  summary: 'List the goals that are not over, or those in one state.',
  options: {
    state: text(`one of ${stateNames(goalMachine).join(', ')}`),
    ...clientOptions,
  },
  run: ({ withClient, values, io, paint, print }) =>
    withClient('look', async (client) => {
      // The operation refuses a state that no goal has.
      const query = withoutUndefined({ state: values.state as GoalReport['state'] | undefined })
      const page = await client.call(listGoals, { query })
      print(page, () => goalRows(page.items, paint))
      if (page.items.length === 0 && !values.json) io.err('No goal matches.')
    }),
})

const approve = command({
  usage: 'statewright goal approve GOAL [--task REVIEW] [-m REASON]',
  summary: 'Let the plan of a goal start, or pass one of its reviews.',
  takes: 1,
  options: { ...decisionOptions, ...clientOptions },
  run: (call) =>
    decide(call, (client, goal_id) => client.call(approveGoal, { params: { goal_id }, body: decisionOf(call.values) })),
})

const reject = command({
  usage: 'statewright goal reject GOAL [--task REVIEW] [-m REASON] [--plan FILE]',
  summary: 'Reject the plan of a goal, refuse a review, or give up a blocked goal.',
  takes: 1,
  options: {
    ...decisionOptions,
    plan: text('another plan to judge instead, in JSON or YAML'),
    ...clientOptions,
  },
  async run(call) {
    const { plan: file } = call.values
    const plan = file === undefined ? {} : { plan: await call.io.host.planning.readDocument(file) }
    const body = { ...decisionOf(call.values), ...plan }
    return decide(call, (client, goal_id) => client.call(rejectGoal, { params: { goal_id }, body }))
  },
})

const cancel = command({
  usage: 'statewright goal cancel GOAL [-m REASON]',
  summary: 'Stop a goal and all its runs.',
  takes: 1,
  options: { ...reasonOption, ...clientOptions },
  run: ({ on, values, paint, print, next }) =>
    on('act', ['goal'], async (client, { id: goal_id }) => {
      const asked = { params: { goal_id }, body: withoutUndefined({ reason: values.message }) }
      const { accepted, goal } = await client.call(cancelGoal, asked)
      print({ accepted, goal }, () => [
        accepted ? `${goal_id} is stopped.` : `${goal_id} was ${goal.state} already; nothing was done.`,
        ...openLines(goal, paint),
      ])
      next(...settling(goal))
      return accepted ? exits.ok : exits.conflict
    }),
})

function decide({ on, paint, print, next }: Call, send: (client: Client, goal_id: string) => Promise<GoalReport>) {
  return on('act', ['goal'], async (client, { id: goal_id }) => {
    const report = await send(client, goal_id)
    print(report, () => goalLines(report, paint))
    next(`goal watch ${goal_id} --work`)
  })
}

const decisionOf = ({ task, message: reason }: Call<typeof decisionOptions>['values']) =>
  withoutUndefined({ task, reason })

/** `goal "…"` sets a goal; a verb in its place does something with one. */
export const goalCommand = withVerbs(
  {
    name: 'goal',
    summary: 'Set a goal and work towards it: plan, approve, execute, review, until it is met or stopped.',
  },
  start,
  { show, watch, list, critique, approve, reject, cancel },
)
