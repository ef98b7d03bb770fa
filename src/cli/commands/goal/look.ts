import { getGoalCritiques } from '../../../surface/operations/goal-critiques.ts'
import { getGoal, listGoals } from '../../../surface/operations/goals.ts'
import type { Command } from '../../command.ts'
import { exits } from '../../exits.ts'
import { followGoal } from '../../follow-goal.ts'
import { next } from '../../hint.ts'
import { print } from '../../print.ts'
import { critiqueLines } from '../../render/critique.ts'
import { goalLines, goalRows, settling } from '../../render/goal.ts'
import { paintFor } from '../../render/paint.ts'
import { resolveId } from '../../resolve-id.ts'
import { jsonOption, whereOptions, withClient } from '../../with-client.ts'
import { take } from '../../with-store.ts'

export const goalShow: Command = {
  name: 'goal show',
  usage: 'statewright goal show GOAL',
  summary: 'The tasks of a goal with their states and owners, and what it waits for.',
  options: { ...whereOptions, ...jsonOption },

  async run(args, io) {
    const [wanted = ''] = take(this, args, 1)
    return withClient(io.host, args, async (client) => {
      const { id: goal_id } = await resolveId(client, wanted, 'goal')
      const report = await client.call(getGoal, { params: { goal_id } })
      print(io, args, report, () => goalLines(report, paintFor(io.terminal.hasColor)))
      const works = report.abandoned === null && client.isServed
      const watch = report.ended_at === null ? [`goal watch ${goal_id}${works ? '' : ' --work'}`] : []
      next(io, args, ...settling(report), ...watch)
      return exits.ok
    })
  },
}

export const goalCritique: Command = {
  name: 'goal critique',
  usage: 'statewright goal critique GOAL',
  summary: 'What the critic found in each review of a goal. Over HTTP this takes a token with the scope admin.',
  options: { ...whereOptions, ...jsonOption },

  async run(args, io) {
    const [wanted = ''] = take(this, args, 1)
    return withClient(io.host, args, async (client) => {
      const { id: goal_id } = await resolveId(client, wanted, 'goal')
      const found = await client.call(getGoalCritiques, { params: { goal_id } })
      print(io, args, found, () => critiqueLines(found.critiques, paintFor(io.terminal.hasColor)))
      if (found.critiques.length === 0 && !args.values.json) io.err('Nobody has reviewed it yet.')
      return exits.ok
    })
  },
}

export const goalWatch: Command = {
  name: 'goal watch',
  usage: 'statewright goal watch GOAL [--work]',
  summary: 'The graph of a goal as it changes, until it is over.',
  options: {
    work: { type: 'boolean', summary: 'work on it here as well, where no server or worker does' },
    ...whereOptions,
    ...jsonOption,
  },

  async run(args, io) {
    const [wanted = ''] = take(this, args, 1)
    const works = args.values.work === true
    return withClient(
      io.host,
      args,
      async (client) => {
        const { id: goal_id, session_id } = await resolveId(client, wanted, 'goal')
        await client.workOn?.({ session_id, goal_id })
        return followGoal(io, client, args, goal_id, { patient: !works, asks: false })
      },
      works ? 'work' : 'look',
    )
  },
}

export const goalList: Command = {
  name: 'goal list',
  usage: 'statewright goal list [--state STATE]',
  summary: 'Goals that are not over, or those in one state.',
  options: {
    state: { type: 'string', summary: 'goal_received, planning, executing, reviewing, blocked, goal_met or stopped' },
    ...whereOptions,
    ...jsonOption,
  },

  async run(args, io) {
    take(this, args, 0)
    const state = args.values.state as 'blocked' | undefined
    return withClient(io.host, args, async (client) => {
      const page = await client.call(listGoals, { query: state === undefined ? {} : { state } })
      print(io, args, page, () => goalRows(page.items, paintFor(io.terminal.hasColor)))
      if (page.items.length === 0 && !args.values.json) io.err('There is none.')
      return exits.ok
    })
  },
}
