import type { GoalReport } from '../../../autonomy/goals/report.ts'
import type { Client } from '../../../surface/client.ts'
import { approveGoal, cancelGoal, rejectGoal } from '../../../surface/operations/goals.ts'
import type { Arguments, Command, Option } from '../../command.ts'
import { exits } from '../../exits.ts'
import { next } from '../../hint.ts'
import type { Io } from '../../host.ts'
import { print } from '../../print.ts'
import { goalLines, openLines, settling } from '../../render/goal.ts'
import { paintFor } from '../../render/paint.ts'
import { resolveId } from '../../resolve-id.ts'
import { jsonOption, whereOptions, withClient } from '../../with-client.ts'
import { take } from '../../with-store.ts'

const message: Option = { type: 'string', short: 'm', summary: 'why; it is recorded' }
const task: Option = {
  type: 'string',
  summary: 'a review of the goal, by the name of its task; else the plan, and for reject the only open review',
}

export const goalApprove: Command = {
  name: 'goal approve',
  usage: 'statewright goal approve GOAL [--task REVIEW] [-m REASON]',
  summary: 'Let the plan of a goal start, or pass one of its reviews.',
  options: { task, message, ...whereOptions, ...jsonOption },

  async run(args, io) {
    const [wanted = ''] = take(this, args, 1)
    return decide(io, args, wanted, (client, goal_id) =>
      client.call(approveGoal, { params: { goal_id }, body: decisionOf(args) }),
    )
  },
}

export const goalReject: Command = {
  name: 'goal reject',
  usage: 'statewright goal reject GOAL [--task REVIEW] [-m REASON] [--plan FILE]',
  summary: 'Reject the plan of a goal, refuse a review, or say that what a blocked goal waits for will not come.',
  options: {
    task,
    message,
    plan: { type: 'string', summary: 'another plan to judge instead, in JSON or YAML' },
    ...whereOptions,
    ...jsonOption,
  },

  async run(args, io) {
    const [wanted = ''] = take(this, args, 1)
    const file = args.values.plan as string | undefined
    const plan = file === undefined ? {} : { plan: await io.host.planning.readDocument(file) }
    return decide(io, args, wanted, (client, goal_id) =>
      client.call(rejectGoal, { params: { goal_id }, body: { ...decisionOf(args), ...plan } }),
    )
  },
}

export const goalCancel: Command = {
  name: 'goal cancel',
  usage: 'statewright goal cancel GOAL [-m REASON]',
  summary: 'Give a goal up, with everything that is under way for it.',
  options: { message, ...whereOptions, ...jsonOption },

  async run(args, io) {
    const [wanted = ''] = take(this, args, 1)
    return withClient(
      io.host,
      args,
      async (client) => {
        const { id: goal_id } = await resolveId(client, wanted, 'goal')
        const reason = args.values.message as string | undefined
        const asked = { params: { goal_id }, body: reason === undefined ? {} : { reason } }
        const { accepted, goal } = await client.call(cancelGoal, asked)
        print(io, args, { accepted, goal }, () => [
          accepted ? `${goal_id} is stopped.` : `${goal_id} was ${goal.state} already; nothing was done.`,
          ...openLines(goal, paintFor(io.terminal.hasColor)),
        ])
        next(io, args, ...settling(goal))
        return accepted ? exits.ok : exits.conflict
      },
      'act',
    )
  },
}

type Send = (client: Client, goal_id: string) => Promise<GoalReport>

/** Sends a decision, and prints where the goal stands then. */
function decide(io: Io, args: Arguments, wanted: string, send: Send): Promise<number> {
  return withClient(
    io.host,
    args,
    async (client) => {
      const { id: goal_id } = await resolveId(client, wanted, 'goal')
      const report = await send(client, goal_id)
      print(io, args, report, () => goalLines(report, paintFor(io.terminal.hasColor)))
      next(io, args, `goal watch ${goal_id} --work`)
      return exits.ok
    },
    'act',
  )
}

function decisionOf({ values }: Arguments) {
  const { task, message } = values as { task?: string; message?: string }
  return { ...(task === undefined ? {} : { task }), ...(message === undefined ? {} : { reason: message }) }
}
