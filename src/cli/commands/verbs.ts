import { withoutUndefined } from '../../runtime/options.ts'
import type { Client } from '../../surface/client.ts'
import { killAgent, spawnAgent } from '../../surface/operations/agents.ts'
import { cancelRun, getRun, interruptRun, steerRun } from '../../surface/operations/runs.ts'
import { allowAgain, closeSession, getSession, pauseSession, resumeSession } from '../../surface/operations/sessions.ts'
import { type Call, type Command, command } from '../command.ts'
import { exits } from '../exits.ts'
import { budgetWords, clientOptions, flag, reasonOption, text } from '../options.ts'
import { resolveId } from '../reach.ts'

const verbOptions = { ...reasonOption, ...clientOptions }

const steer = command({
  usage: 'statewright steer RUN "NEW INPUT"',
  summary: 'Give a run new input. Its turn ends at a safe boundary, and the next one begins with it.',
  takes: 2,
  options: clientOptions,
  run: ({ on, words: [, input = ''], print, next }) =>
    on('act', ['run'], async (client, { id: run_id }) => {
      const steered = await client.call(steerRun, { params: { run_id }, body: { input } })
      print(steered, () => [`${run_id}: it gets that at its next boundary.`])
      next(`watch ${run_id}`)
    }),
})

const cancel = command({
  usage: 'statewright cancel RUN [--gently] [-m REASON]',
  summary: 'Stop a run now. If an irreversible action has begun, you are asked whether it happened.',
  takes: 1,
  options: { gently: flag('let the effects under way finish first'), ...verbOptions },
  run: ({ on, values, io, print, next }) =>
    on('act', ['run'], async (client, { id: run_id }) => {
      const asked = { params: { run_id }, body: withoutUndefined({ reason: values.message }) }
      const stopped = await client.call(values.gently ? interruptRun : cancelRun, asked)
      const { status, is_terminal, pending_interaction_ids } = await client.call(getRun, { params: { run_id } })
      const now = is_terminal ? `${run_id} is ${status}.` : `${run_id} is ${status}, and it is to stop.`
      const late = `${run_id} was ${stopped.status} already; nothing was done.`
      print(stopped, () => [stopped.accepted ? now : late])
      const unknown = is_terminal ? pending_interaction_ids : []
      if (unknown.length > 0 && !values.json)
        io.err('The outcome of an action is unknown. Check whether it happened, then settle it.')
      next(...unknown.map((interaction_id) => `inbox ${interaction_id}`), `show ${run_id}`)
      return stopped.accepted ? exits.ok : exits.conflict
    }),
})

type Verb = (client: Client, session_id: string, why: { reason?: string }) => Promise<{ readonly state: string }>

function onSession({ on, values, print, next }: Call<typeof verbOptions>, apply: Verb): Promise<void> {
  return on('act', ['session'], async (client, { session_id }) => {
    const changed = await apply(client, session_id, withoutUndefined({ reason: values.message }))
    print(changed, () => [`${session_id} is ${changed.state}.`])
    next(`show ${session_id}`)
  })
}

function sessionVerb(name: string, summary: string, apply: Verb): Command {
  const usage = `statewright ${name} SESSION [-m REASON]`
  return command({ usage, summary, takes: 1, options: verbOptions, run: (call) => onSession(call, apply) })
}

const pause = sessionVerb(
  'pause',
  'Let no new turn begin in a session. Turns under way finish. Answers are still accepted.',
  (client, session_id, body) => client.call(pauseSession, { params: { session_id }, body }),
)

/** A suspended session is resumed by what suspended it: errors that a person looked at, or a budget with higher limits. */
const resume = command({
  usage: 'statewright resume SESSION [--budget LIMITS] [-m REASON]',
  summary: 'Resume a paused session, one that its errors suspended, or with --budget one that its budget suspended.',
  takes: 1,
  options: {
    budget: text(`the new limits, counted from the beginning of the session: ${budgetWords}`),
    ...verbOptions,
  },
  async run(call) {
    const budget = call.budget('budget')
    return onSession(call, async (client, session_id, why) => {
      const { state, suspension } = await client.call(getSession, { params: { session_id } })
      if (suspension?.by === 'budget' && budget === undefined)
        throw call.refuse(`It is suspended: ${suspension.reason} Name higher limits with --budget.`)
      if (budget !== undefined && state !== 'suspended')
        throw call.refuse(`It is ${state}; a larger budget is for a session that is suspended.`)
      const body = { ...why, ...(budget !== undefined ? { budget } : suspension !== null && { reset: true }) }
      return client.call(resumeSession, { params: { session_id }, body })
    })
  },
})

const close = sessionVerb(
  'close',
  'Cancel what is open in a session, terminate its agents and seal its log for good.',
  (client, session_id, body) => client.call(closeSession, { params: { session_id }, body }),
)

const spawn = command({
  usage: 'statewright spawn SESSION AGENT [--parent AGENT_ID] [--budget LIMITS]',
  summary: 'Let another agent join a session. With a parent, it works for that agent and ends with it.',
  takes: 2,
  options: {
    parent: text('the id of the agent that it works for and whose budget it also uses'),
    budget: text(`the agent's budget in this session. Default: as declared. ${budgetWords}`),
    ...clientOptions,
  },
  async run({ on, words: [, agent = ''], values: { parent }, budget, print, next }) {
    const own = budget('budget')
    return on('act', ['session'], async (client, { session_id }) => {
      const parent_id = parent === undefined ? undefined : (await resolveId(client, parent, 'agent')).id
      const body = withoutUndefined({ agent, parent_id, budget: own })
      const spawned = await client.call(spawnAgent, { params: { session_id }, body })
      print(spawned, () => [`${spawned.agent_id} is ready in ${session_id}.`])
      next(`run "…" --session ${session_id} --agent ${agent}`)
    })
  },
})

const kill = command({
  usage: 'statewright kill AGENT_ID [--force] [-m REASON]',
  summary: 'Stop an agent and those that work for it for good. show SESSION --json lists their ids.',
  takes: 1,
  options: {
    force: flag('also during a turn: the turn and its runs end at once'),
    ...verbOptions,
  },
  run: ({ on, values, print, next }) =>
    on('act', ['agent'], async (client, { id: agent_id, session_id }) => {
      const body = withoutUndefined({ reason: values.message, force: values.force })
      const killed = await client.call(killAgent, { params: { agent_id }, body })
      print(killed, () => [`${agent_id} is terminated.`])
      next(`show ${session_id}`)
    }),
})

const allowOnceMore = command({
  usage: 'statewright allow-again EXECUTION',
  summary: 'Allow a completed irreversible action once more. The next call for it gets a new idempotency key.',
  takes: 1,
  options: clientOptions,
  run: ({ on, print, next }) =>
    on('act', ['execution'], async (client, { id: execution_id }) => {
      const allowed = await client.call(allowAgain, { params: { execution_id }, body: {} })
      print(allowed, () => [`${execution_id}: the same action is allowed once more.`])
      next(`show ${execution_id}`)
    }),
})

/** Commands that act on a run, a session, an agent or an execution. */
export const verbs: readonly Command[] = [steer, cancel, pause, resume, close, spawn, kill, allowOnceMore]
