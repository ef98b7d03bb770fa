import type { GoalReport } from '../../autonomy/goals/report.ts'
import type { Client } from '../../surface/client.ts'
import { withoutUndefined } from '../../surface/operation.ts'
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
import { badUsage, countOf, jsonOption, reasonOption, take, whereOptions } from '../arguments.ts'
import { type Arguments, command, withVerbs } from '../command.ts'
import { exits } from '../exits.ts'
import { followGoal } from '../follow-goal.ts'
import type { Io } from '../host.ts'
import { next, print } from '../print.ts'
import { resolveId, withClient } from '../reach.ts'
import { critiqueLines, goalLines, goalRows, openLines, settling } from '../render/goal.ts'
import { paintFor } from '../render/text.ts'

const options = { ...whereOptions, ...jsonOption } as const
const task = {
  task: {
    type: 'string',
    summary: 'a review of the goal, by the name of its task; else the plan, and for reject the only open review',
  },
} as const

const start = command({
  name: 'goal',
  usage: 'statewright goal "WHAT TO REACH" [--plan FILE] [--auto] [--planner NAME] [--critic NAME]',
  summary: 'Set a goal and watch it: planned, judged, approved, executed, reviewed, until it is met.',
  options: {
    plan: {
      type: 'string',
      summary: 'a plan in JSON or YAML: a draft with tasks, or a whole intent; else the planner drafts',
    },
    mode: { type: 'string', summary: 'interactive, or auto: people are asked only for reviews that the plan demands' },
    questions: { type: 'string', summary: 'how many questions the plan may ask; else 10' },
    auto: { type: 'boolean', summary: 'start as soon as the plan is judged; reviews are still asked for' },
    planner: { type: 'string', summary: 'the agent that drafts plans; else the one called planner' },
    critic: { type: 'string', summary: 'the agent that examines the results; else the one called critic' },
    tokens: { type: 'string', summary: 'how many tokens the goal may use, with everyone who works for it' },
    calls: { type: 'string', summary: 'how many tool calls' },
    minutes: { type: 'string', summary: 'how long it may take' },
    iterations: { type: 'string', summary: 'how often it may be executed and reviewed; else 10' },
    parallel: { type: 'string', summary: 'how many tasks at once; else 4' },
    ...options,
  },

  async run(args, io) {
    const [goal = ''] = take(this, args, 1)
    if (goal.trim() === '') throw badUsage(this, 'Say what to reach.')
    const { plan: file, mode, auto, json } = args.values
    const minutes = countOf(this, args, 'minutes')
    const given = {
      goal,
      plan: file === undefined ? undefined : await io.host.planning.readDocument(file),
      budget: withoutUndefined({
        tokens: countOf(this, args, 'tokens'),
        tool_calls: countOf(this, args, 'calls'),
        wall_time_ms: minutes === undefined ? undefined : minutes * 60_000,
        iterations: countOf(this, args, 'iterations'),
      }),
      mode,
      question_budget: countOf(this, args, 'questions', [0, 50]),
      auto,
      max_parallel: countOf(this, args, 'parallel'),
    }
    return withClient(io, args, 'work', async (client) => {
      const { items } = await client.call(listAgents, {})
      const named = (role: 'planner' | 'critic') => args.values[role] ?? items.find(({ name }) => name === role)?.name
      // The operation checks the body: a mode that it does not know is refused there.
      const body = withoutUndefined({ ...given, planner: named('planner'), critic: named('critic') }) as GoalBody
      const { goal_id } = await client.call(startGoal, { body })
      return followGoal(io, args, { client, goal_id, patient: false, asks: io.terminal.isInteractive && !json })
    })
  },
})

type GoalBody = NonNullable<Parameters<typeof startGoal.run>[1]['body']>

const show = command({
  name: 'goal show',
  usage: 'statewright goal show GOAL',
  summary: 'The tasks of a goal with their states and owners, and what it waits for.',
  options,

  async run(args, io) {
    const [wanted = ''] = take(this, args, 1)
    return withClient(io, args, 'look', async (client) => {
      const { id: goal_id } = await resolveId(client, wanted, 'goal')
      const report = await client.call(getGoal, { params: { goal_id } })
      print(io, args, report, () => goalLines(report, paintFor(io.terminal.hasColor)))
      const works = report.abandoned === null && client.isServed
      const watch = report.ended_at === null ? [`goal watch ${goal_id}${works ? '' : ' --work'}`] : []
      next(io, args, ...settling(report), ...watch)
      return exits.ok
    })
  },
})

const critique = command({
  name: 'goal critique',
  usage: 'statewright goal critique GOAL',
  summary: 'What the critic found in each review of a goal. Over HTTP this takes a token with the scope admin.',
  options,

  async run(args, io) {
    const [wanted = ''] = take(this, args, 1)
    return withClient(io, args, 'look', async (client) => {
      const { id: goal_id } = await resolveId(client, wanted, 'goal')
      const found = await client.call(getGoalCritiques, { params: { goal_id } })
      print(io, args, found, () => critiqueLines(found.critiques, paintFor(io.terminal.hasColor)))
      if (found.critiques.length === 0 && !args.values.json) io.err('It has not been reviewed yet.')
      return exits.ok
    })
  },
})

const watch = command({
  name: 'goal watch',
  usage: 'statewright goal watch GOAL [--work]',
  summary: 'The graph of a goal as it changes, until it is over.',
  options: {
    work: { type: 'boolean', summary: 'work on it here as well, where no server or worker does' },
    ...options,
  },

  async run(args, io) {
    const [wanted = ''] = take(this, args, 1)
    const { work = false } = args.values
    return withClient(io, args, work ? 'work' : 'look', async (client) => {
      const { id: goal_id, session_id } = await resolveId(client, wanted, 'goal')
      await client.workOn?.({ session_id, goal_id })
      return followGoal(io, args, { client, goal_id, patient: !work, asks: false })
    })
  },
})

const list = command({
  name: 'goal list',
  usage: 'statewright goal list [--state STATE]',
  summary: 'Goals that are not over, or those in one state.',
  options: {
    state: { type: 'string', summary: 'goal_received, planning, executing, reviewing, blocked, goal_met or stopped' },
    ...options,
  },

  async run(args, io) {
    take(this, args, 0)
    return withClient(io, args, 'look', async (client) => {
      // The operation refuses a state that no goal has.
      const query = withoutUndefined({ state: args.values.state as GoalReport['state'] | undefined })
      const page = await client.call(listGoals, { query })
      print(io, args, page, () => goalRows(page.items, paintFor(io.terminal.hasColor)))
      if (page.items.length === 0 && !args.values.json) io.err('There is none.')
      return exits.ok
    })
  },
})

const approve = command({
  name: 'goal approve',
  usage: 'statewright goal approve GOAL [--task REVIEW] [-m REASON]',
  summary: 'Let the plan of a goal start, or pass one of its reviews.',
  options: { ...task, ...reasonOption, ...options },

  async run(args, io) {
    const [wanted = ''] = take(this, args, 1)
    return decide(io, args, wanted, (client, goal_id) =>
      client.call(approveGoal, { params: { goal_id }, body: decisionOf(args) }),
    )
  },
})

const reject = command({
  name: 'goal reject',
  usage: 'statewright goal reject GOAL [--task REVIEW] [-m REASON] [--plan FILE]',
  summary: 'Reject the plan of a goal, refuse a review, or say that what a blocked goal waits for will not come.',
  options: {
    ...task,
    ...reasonOption,
    plan: { type: 'string', summary: 'another plan to judge instead, in JSON or YAML' },
    ...options,
  },

  async run(args, io) {
    const [wanted = ''] = take(this, args, 1)
    const { plan: file } = args.values
    const plan = file === undefined ? {} : { plan: await io.host.planning.readDocument(file) }
    return decide(io, args, wanted, (client, goal_id) =>
      client.call(rejectGoal, { params: { goal_id }, body: { ...decisionOf(args), ...plan } }),
    )
  },
})

const cancel = command({
  name: 'goal cancel',
  usage: 'statewright goal cancel GOAL [-m REASON]',
  summary: 'Give a goal up, with everything that is under way for it.',
  options: { ...reasonOption, ...options },

  async run(args, io) {
    const [wanted = ''] = take(this, args, 1)
    return withClient(io, args, 'act', async (client) => {
      const { id: goal_id } = await resolveId(client, wanted, 'goal')
      const asked = { params: { goal_id }, body: withoutUndefined({ reason: args.values.message }) }
      const { accepted, goal } = await client.call(cancelGoal, asked)
      print(io, args, { accepted, goal }, () => [
        accepted ? `${goal_id} is stopped.` : `${goal_id} was ${goal.state} already; nothing was done.`,
        ...openLines(goal, paintFor(io.terminal.hasColor)),
      ])
      next(io, args, ...settling(goal))
      return accepted ? exits.ok : exits.conflict
    })
  },
})

type Send = (client: Client, goal_id: string) => Promise<GoalReport>

/** Sends a decision, and prints the goal as it is then. */
function decide(io: Io, args: Arguments<typeof options>, wanted: string, send: Send): Promise<number> {
  return withClient(io, args, 'act', async (client) => {
    const { id: goal_id } = await resolveId(client, wanted, 'goal')
    const report = await send(client, goal_id)
    print(io, args, report, () => goalLines(report, paintFor(io.terminal.hasColor)))
    next(io, args, `goal watch ${goal_id} --work`)
    return exits.ok
  })
}

function decisionOf({ values }: Arguments<typeof task & typeof reasonOption>) {
  return withoutUndefined({ task: values.task, reason: values.message })
}

/** `goal "…"` sets a goal; a verb in its place does something with one. */
export const goalCommand = withVerbs(
  {
    name: 'goal',
    summary: 'Set a goal and work towards it: plan, approve, execute, review, until it is met or stopped.',
  },
  start,
  { show, watch, list, critique, approve, reject, cancel },
)
