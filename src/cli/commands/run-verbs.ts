import { withoutUndefined } from '../../surface/operation.ts'
import { cancelRun, interruptRun, steerRun } from '../../surface/operations/run-commands.ts'
import { getRun } from '../../surface/operations/runs.ts'
import { allowAgain } from '../../surface/operations/session-commands.ts'
import { jsonOption, reasonOption, take, whereOptions } from '../arguments.ts'
import { command } from '../command.ts'
import { exits } from '../exits.ts'
import { next, print } from '../print.ts'
import { resolveId, withClient } from '../reach.ts'

/** The command `steer`. */
export const steerCommand = command({
  name: 'steer',
  usage: 'statewright steer RUN "NEW INPUT"',
  summary: 'Give a run new input. Its turn ends at a safe boundary, and the next one begins with it.',
  options: { ...whereOptions, ...jsonOption },

  async run(args, io) {
    const [given = '', input = ''] = take(this, args, 2)
    return withClient(io, args, 'act', async (client) => {
      const { id: run_id } = await resolveId(client, given, 'run')
      const steered = await client.call(steerRun, { params: { run_id }, body: { input } })
      print(io, args, steered, () => [`${run_id}: it gets that at its next boundary.`])
      next(io, args, `watch ${run_id}`)
      return exits.ok
    })
  },
})

/** The command `cancel`. */
export const cancelCommand = command({
  name: 'cancel',
  usage: 'statewright cancel RUN [--gently] [-m REASON]',
  summary: 'Stop a run now. An irreversible action that has begun is never called cancelled: you are asked about it.',
  options: {
    gently: { type: 'boolean', summary: 'let the effects that are under way finish first' },
    ...reasonOption,
    ...whereOptions,
    ...jsonOption,
  },

  async run(args, io) {
    const [given = ''] = take(this, args, 1)
    return withClient(io, args, 'act', async (client) => {
      const { id: run_id } = await resolveId(client, given, 'run')
      const asked = { params: { run_id }, body: withoutUndefined({ reason: args.values.message }) }
      const stopped = await client.call(args.values.gently ? interruptRun : cancelRun, asked)
      const { status, is_terminal, pending_interaction_ids } = await client.call(getRun, { params: { run_id } })
      const now = is_terminal ? `${run_id} is ${status}.` : `${run_id} is ${status}, and it is to stop.`
      const late = `${run_id} was ${stopped.status} already; nothing was done.`
      print(io, args, stopped, () => [stopped.accepted ? now : late])
      const unknown = is_terminal ? pending_interaction_ids : []
      if (unknown.length > 0 && !args.values.json)
        io.err('The outcome of an action is unknown. Look whether it happened, then settle it.')
      next(io, args, ...unknown.map((interaction_id) => `inbox ${interaction_id}`), `show ${run_id}`)
      return stopped.accepted ? exits.ok : exits.conflict
    })
  },
})

/** The command `allow-again`. */
export const allowAgainCommand = command({
  name: 'allow-again',
  usage: 'statewright allow-again EXECUTION',
  summary: 'Let an irreversible action that was done be done once more. The next call for it gets a key of its own.',
  options: { ...whereOptions, ...jsonOption },

  async run(args, io) {
    const [given = ''] = take(this, args, 1)
    return withClient(io, args, 'act', async (client) => {
      const { id: execution_id } = await resolveId(client, given, 'execution')
      const allowed = await client.call(allowAgain, { params: { execution_id }, body: {} })
      print(io, args, allowed, () => [`${execution_id}: the same action may be done once more.`])
      next(io, args, `show ${execution_id}`)
      return exits.ok
    })
  },
})
