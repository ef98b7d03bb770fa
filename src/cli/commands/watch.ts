import { declaredState } from '../../machines/all.ts'
import { runMachine } from '../../machines/run.ts'
import type { Client } from '../../surface/client.ts'
import { getRun } from '../../surface/operations/runs.ts'
import { getSession } from '../../surface/operations/sessions.ts'
import { askPerson } from '../ask-person.ts'
import { type Call, command } from '../command.ts'
import { type Exit, exits } from '../exits.ts'
import { followRun, sayIdle } from '../follow-run.ts'
import { clientOptions, flag } from '../options.ts'
import { createViewer, type Viewer } from '../render/viewer.ts'
import { commandsAfter } from './run.ts'

const options = {
  events: flag('show every event as it was recorded'),
  work: flag('also execute this run, and nothing else, if no server or worker does'),
  ...clientOptions,
}

/** The command `watch`. */
export const watchCommand = command({
  usage: 'statewright watch ID [--events] [--work]',
  summary: 'Follow a run or a session from its beginning. Ends with the run, and with its exit code.',
  takes: 1,
  options,
  run(call) {
    const { json, events, work } = call.values
    const viewer = createViewer(call.io, json ? 'json' : events ? 'events' : 'story')
    return call.on(work ? 'work' : 'look', ['run', 'session'], async (client, { id, what, session_id }) => {
      const watch = { client, call, viewer }
      return what === 'run' ? watchRun(watch, id) : watchSession(watch, session_id)
    })
  },
})

type Watch = { readonly client: Client; readonly call: Call<typeof options>; readonly viewer: Viewer }

async function watchRun({ client, call, viewer }: Watch, run_id: string): Promise<number> {
  const { io, values, next } = call
  const run = await client.call(getRun, { params: { run_id } })
  const { session_id, event_id, pending_interaction_ids: open } = run
  if (run.visibility !== 'public') {
    viewer.say(`What this run says is ${run.visibility}: nothing of it is shown here. It is ${run.status}.`)
    return exits.ok
  }
  const isWaiting = run.status === 'waiting_user'
  if (isWaiting) viewer.say(runMachine.states[run.status].meaning)
  // A process that works on the store alone locks others out, so the answer is given here or later.
  if (values.work) {
    if (isWaiting && !io.terminal.isInteractive) {
      next(...open.map((id) => `inbox ${id}`))
      return exits.waiting
    }
    await client.workOn?.({ session_id, run_id })
    const ask = askPerson(io, client)
    for (const id of isWaiting ? open : []) await ask(id, new AbortController().signal)
    const how = { viewer, owns: true, ...(io.terminal.isInteractive && !values.json && { ask }) }
    const followed = await followRun(io, client, { session_id, run_id, after: 0, past: event_id }, how)
    next(...commandsAfter(followed, session_id, run_id))
    return exits[followed.exit]
  }
  if (isWaiting) next(...open.map((id) => `inbox ${id}`))
  const { exit } = await followRun(io, client, { session_id, run_id, after: 0 }, { viewer, owns: false, patient: true })
  if (exit !== 'waiting' || isWaiting) return exits[exit]
  viewer.say(sayIdle(run.status))
  return run.held_up_by?.needs_person === true ? exits.waiting : exits.unreachable
}

async function watchSession({ client, call, viewer }: Watch, session_id: string): Promise<number> {
  const leave = new AbortController()
  let isInterrupted = false
  const unsubscribe = call.io.host.onInterrupt(() => {
    isInterrupted = true
    leave.abort()
  })
  const look = () => client.call(getSession, { params: { session_id } })
  let [seen, last] = [0, Number.POSITIVE_INFINITY]
  try {
    const { is_sealed, event_id } = await look()
    await client.workOn?.({ session_id })
    // Once all work rests and no other process works, no event follows the last one.
    void client
      .idle?.()
      .then(look)
      .then((rested) => {
        last = rested.event_id
        if (seen >= last) leave.abort()
      })
      .catch(() => leave.abort())
    for await (const received of client.follow(session_id, 0, leave.signal)) {
      const isShown = received.type === 'delta' || received.rune.visibility === 'public'
      if (isShown) viewer.show(received)
      if (received.type !== 'rune') continue
      seen = received.rune.event_id
      // After the seal only redactions and checkpoints follow.
      if (isShown && (received.rune.kind === 'session.closed' || (is_sealed && seen >= event_id))) return exits.ok
      if (seen >= last) break
    }
    if (isInterrupted) return exits.interrupted
    // No process works on the store, so no more runes follow.
    const { state, runs } = await look()
    return exits[outcomeOf(state, runs.at(-1)?.status)]
  } finally {
    unsubscribe()
    leave.abort()
    viewer.end()
  }
}

function outcomeOf(session: string, status: string | undefined): Exit {
  const run = declaredState('run', status)
  if (run === undefined || run.tone === 'good') return 'ok'
  if (run.terminal) return 'failed'
  return [run.tone, declaredState('session', session)?.tone].includes('waiting') ? 'waiting' : 'unreachable'
}
