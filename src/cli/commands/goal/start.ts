import { listAgents } from '../../../surface/operations/agents.ts'
import { startGoal } from '../../../surface/operations/goals.ts'
import type { Command } from '../../command.ts'
import { followGoal } from '../../follow-goal.ts'
import { badUsage, countOf } from '../../usage.ts'
import { jsonOption, whereOptions, withClient } from '../../with-client.ts'
import { take } from '../../with-store.ts'

export const goalStart: Command = {
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
    ...whereOptions,
    ...jsonOption,
  },

  async run(args, io) {
    const [goal = ''] = take(this, args, 1)
    if (goal.trim() === '') throw badUsage(this, 'Say what to reach.')
    const { plan: file } = args.values
    const plan = file === undefined ? undefined : await io.host.planning.readDocument(file as string)
    const minutes = countOf(this, args, 'minutes')
    const budget = given({
      tokens: countOf(this, args, 'tokens'),
      tool_calls: countOf(this, args, 'calls'),
      wall_time_ms: minutes === undefined ? undefined : minutes * 60_000,
      iterations: countOf(this, args, 'iterations'),
    })
    return withClient(
      io.host,
      args,
      async (client) => {
        const { items } = await client.call(listAgents, {})
        const named = (role: 'planner' | 'critic') =>
          (args.values[role] as string | undefined) ?? items.find(({ name }) => name === role)?.name
        const body = given({
          goal,
          plan,
          budget: budget as never,
          mode: args.values.mode,
          question_budget: countOf(this, args, 'questions', [0, 50]),
          auto: args.values.auto,
          planner: named('planner'),
          critic: named('critic'),
          max_parallel: countOf(this, args, 'parallel'),
        })
        const { goal_id } = await client.call(startGoal, { body: body as never })
        const asks = io.terminal.isInteractive && !args.values.json
        return followGoal(io, client, args, goal_id, { patient: false, asks })
      },
      'work',
    )
  },
}

function given(all: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}
