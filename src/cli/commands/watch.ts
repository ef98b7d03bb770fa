import type { Client } from '../../surface/client.ts'
import { getRun } from '../../surface/operations/runs.ts'
import { getSession } from '../../surface/operations/sessions.ts'
import { askPerson } from '../ask-person.ts'
import type { Arguments, Command } from '../command.ts'
import { type Exit, exits } from '../exits.ts'
import { followRun, sayIdle } from '../follow-run.ts'
import { next } from '../hint.ts'
import type { Io } from '../host.ts'
import { createViewer, type Viewer } from '../render/viewer.ts'
import { resolveId } from '../resolve-id.ts'
import { jsonOption, whereOptions, withClient } from '../with-client.ts'
import { take } from '../with-store.ts'
import { commandsAfter } from './run.ts'

export const watchCommand: Command = {
  name: 'watch',
  usage: 'statewright watch ID [--events] [--work]',
  summary: 'Show a run or a session from its beginning and as it goes on. Ends with the run, and with its exit code.',
  options: {
    events: { type: 'boolean', summary: 'every event as it was recorded' },
    work: { type: 'boolean', summary: 'carry it out here as well, and nothing else, where no server or worker does' },
    ...whereOptions,
    ...jsonOption,
  },

  async run(args, io) {
    const [given = ''] = take(this, args, 1)
    const viewer = createViewer(io, args.values.json ? 'json' : args.values.events ? 'events' : 'story')
    const watch = async (client: Client) => {
      const { id, what, session_id } = await resolveId(client, given, 'run', 'session')
      return what === 'run' ? watchRun(client, id, args, io, viewer) : watchSession(client, session_id, io, viewer)
    }
    return withClient(io.host, args, watch, args.values.work ? 'work' : 'look')
  },
}

async function watchRun(client: Client, run_id: string, args: Arguments, io: Io, viewer: Viewer): Promise<number> {
  const run = await client.call(getRun, { params: { run_id } })
  const { session_id, event_id, pending_interaction_ids: open } = run
  if (run.visibility !== 'public') {
    viewer.say(`What this run says is ${run.visibility}: nothing of it is shown here. It is ${run.status}.`)
    return exits.ok
  }
  const isWaiting = run.status === 'waiting_user'
  if (isWaiting) viewer.say('It waits for a person.')
  // Whoever works on the store alone keeps everybody else from answering, so the answer is given here or later.
  if (args.values.work) {
    if (isWaiting && !io.terminal.isInteractive) {
      next(io, args, ...open.map((id) => `inbox ${id}`))
      return exits.waiting
    }
    await client.workOn?.({ session_id, run_id })
    const ask = (id: string, signal: AbortSignal) => askPerson(io, client, id, signal)
    for (const id of isWaiting ? open : []) await ask(id, new AbortController().signal)
    const followed = await followRun(io, client, { session_id, run_id, after: 0, past: event_id }, viewer, {
      owns: true,
      ...(io.terminal.isInteractive && !args.values.json && { ask }),
    })
    next(io, args, ...commandsAfter(followed, session_id, run_id))
    return exits[followed.exit]
  }
  if (isWaiting) next(io, args, ...open.map((id) => `inbox ${id}`))
  const { exit } = await followRun(io, client, { session_id, run_id, after: 0 }, viewer, { owns: false, patient: true })
  if (exit !== 'waiting' || isWaiting) return exits[exit]
  viewer.say(sayIdle(run.status))
  return run.held_up_by?.needs_person === true ? exits.waiting : exits.unreachable
}

async function watchSession(client: Client, session_id: string, io: Io, viewer: Viewer): Promise<number> {
  const leave = new AbortController()
  const deaf = io.host.onInterrupt(() => leave.abort())
  try {
    const { is_sealed, event_id, runs, state } = await client.call(getSession, { params: { session_id } })
    await client.workOn?.({ session_id })
    for await (const heard of client.follow(session_id, 0, leave.signal)) {
      if (heard.type === 'rune' && heard.rune.visibility !== 'public') continue
      viewer.show(heard)
      if (heard.type !== 'rune') continue
      // Nothing follows a seal but what is said about it later.
      if (heard.rune.kind === 'session.closed' || (is_sealed && heard.rune.event_id >= event_id)) return exits.ok
    }
    // Without a process at work, a store has no more to say.
    return leave.signal.aborted ? exits.interrupted : exits[outcomeOf(state, runs.at(-1)?.status)]
  } finally {
    deaf()
    leave.abort()
    viewer.end()
  }
}

function outcomeOf(session: string, status: string | undefined): Exit {
  if (status === undefined || status === 'succeeded') return 'ok'
  if (status === 'failed' || status === 'canceled') return 'failed'
  return status === 'waiting_user' || session === 'paused' || session === 'suspended' ? 'waiting' : 'unreachable'
}
