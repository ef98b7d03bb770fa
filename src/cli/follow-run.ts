import { isTerminal } from '../kernel/machine.ts'
import { declaredState } from '../machines/all.ts'
import { runMachine } from '../machines/run.ts'
import type { Rune } from '../runes/rune.ts'
import { readThrown } from '../runtime/thrown.ts'
import type { Client } from '../surface/client.ts'
import { getRun, interruptRun } from '../surface/operations/runs.ts'
import { getSession } from '../surface/operations/sessions.ts'
import type { Ask } from './ask-person.ts'
import type { Exit } from './exits.ts'
import type { Io } from './host.ts'
import type { Viewer } from './render/viewer.ts'

interface FollowedRun {
  readonly session_id: string
  readonly run_id: string
  /** The last event that was seen. */
  readonly after: number
  /** Events up to this one are history: a wait among them does not end the following. */
  readonly past?: number
}

/** The state of the run when the following ended. */
export interface Followed {
  readonly exit: Exit
  /** The last event that was seen. */
  readonly after: number
  /** Open questions: of the run, of tasks that it delegated, or of the run that its agent works on first. */
  readonly open: readonly string[]
  /** The command that resumes the session, if the run waits for that. */
  readonly brings_back: string | null
}

interface Following {
  readonly viewer: Viewer
  /** Asks the person at the terminal. Without it, following ends when the run waits for a person. */
  readonly ask?: Ask
  /** Keep following while the run waits for a person. */
  readonly patient?: boolean
  /** Ctrl-C stops the run, not only the following. */
  readonly owns: boolean
}

/** Shows a run until it is over or waits for a person who is not here. Ctrl-C interrupts it, a second one leaves it. */
export async function followRun(
  io: Pick<Io, 'host'>,
  client: Client,
  run: FollowedRun,
  { viewer, ask, patient = false, owns }: Following,
): Promise<Followed> {
  const leave = new AbortController()
  const asking = new Map<string, AbortController>()
  const answered = new Set<string>()
  const open = new Set<string>()
  const family = createFamily(run.run_id)
  let presses = 0
  let { after } = run
  let exit: Exit | undefined
  let brings_back: string | null = null
  let reported = ''

  const unsubscribe = io.host.onInterrupt((asked) => {
    presses += 1
    for (const question of asking.values()) question.abort()
    if (owns && asked === 'leave') viewer.say('Leaving: effects under way finish first; the run can go on later.')
    if (!owns || presses > 1 || asked === 'leave') return leave.abort()
    viewer.say('Interrupting: effects under way finish first. Press again to leave the run running.')
    client.call(interruptRun, { params: { run_id: run.run_id }, body: {} }).catch(() => leave.abort())
  })

  function put(interaction_id: string) {
    if (ask === undefined || asking.has(interaction_id) || answered.has(interaction_id)) return
    const question = new AbortController()
    asking.set(interaction_id, question)
    void ask(interaction_id, question.signal).then(
      (outcome) => {
        asking.delete(interaction_id)
        if (outcome === 'answered') answered.add(interaction_id)
        else if (presses === 0 && open.has(interaction_id)) leave.abort()
      },
      (error) => {
        viewer.say(readThrown(error).message)
        leave.abort()
      },
    )
  }

  function closeQuestion({ machine, kind, interaction_id = '' }: Rune) {
    if (machine !== 'interaction' || kind === 'interaction.opened') return
    open.delete(interaction_id)
    asking.get(interaction_id)?.abort()
  }

  /** A queued run may wait for a person to answer another run, or to resume the session. */
  async function lookForObstacle(): Promise<Exit | undefined> {
    const { held_up_by: obstacle } = await client.call(getRun, { params: { run_id: run.run_id } })
    if (obstacle === null || !obstacle.needs_person) return undefined
    if (reported !== obstacle.says) viewer.say(obstacle.says)
    reported = obstacle.says
    if (patient) return undefined
    if (obstacle.what === 'session') {
      brings_back = await bringsBack(client, obstacle.id)
      return 'waiting'
    }
    const { pending_interaction_ids } = await client.call(getRun, { params: { run_id: obstacle.id } })
    for (const id of pending_interaction_ids) open.add(id)
    if (ask === undefined) return 'waiting'
    for (const id of pending_interaction_ids) put(id)
    return undefined
  }

  function react(rune: Rune): Exit | undefined {
    if (rune.kind === 'interaction.opened') open.add(rune.interaction_id ?? '')
    const isOwn = rune.run_id === run.run_id
    if (isOwn && rune.kind === 'run.moved' && isTerminal(runMachine, rune.to)) return endOf(rune, presses > 0)
    if (patient || rune.event_id <= (run.past ?? 0)) return undefined
    const onlyWaits = open.size > 0 && family.onlyWaits()
    if (onlyWaits && ask === undefined) return 'waiting'
    if (onlyWaits || rune.to === 'waiting_user') for (const id of open) put(id)
    return undefined
  }

  try {
    for await (const received of client.follow(run.session_id, run.after, leave.signal)) {
      if (received.type === 'delta') {
        if (received.delta.run_id === run.run_id) viewer.show(received)
        continue
      }
      const { rune } = received
      after = rune.event_id
      closeQuestion(rune)
      family.fold(rune)
      if (family.has(rune.run_id) && rune.visibility === 'public') {
        if (rune.run_id === run.run_id || rune.machine === 'interaction') viewer.show(received)
        exit = react(rune)
      }
      if (exit === undefined && mayHoldUp(rune, run)) exit = await lookForObstacle()
      if (exit !== undefined) break
    }
  } finally {
    unsubscribe()
    leave.abort()
    for (const question of asking.values()) question.abort()
    viewer.end()
  }
  return { exit: exit ?? (presses > 0 ? 'interrupted' : 'waiting'), after, open: [...open], brings_back }
}

/** The sentence for a run or goal that no process works on. */
export function sayIdle(status: string): string {
  return `It is ${status}, and nothing carries it out. Start a server or a worker, or watch it with --work.`
}

/** The command that resumes a paused or suspended session. */
export async function bringsBack(client: Client, session_id: string): Promise<string> {
  const { suspension } = await client.call(getSession, { params: { session_id } })
  return `resume ${session_id}${suspension?.by === 'budget' ? ' --budget LIMIT=NUMBER' : ''}`
}

/** Whether the run may wait in the queue from this rune on. */
function mayHoldUp({ kind, run_id, to, event_id }: Rune, run: FollowedRun): boolean {
  if (event_id <= (run.past ?? 0)) return false
  if (kind === 'session.paused' || kind === 'session.suspended') return true
  if (run_id !== run.run_id) return to === 'waiting_user'
  return kind === 'run.submitted' || to === 'queued'
}

function endOf(rune: Rune<'run.moved'>, interrupted: boolean): Exit {
  if (declaredState('run', rune.to)?.tone === 'good') return 'ok'
  if (rune.payload.error_code === 'OUTCOME_UNKNOWN') return 'unknown'
  return interrupted && rune.to === 'canceled' ? 'interrupted' : 'failed'
}

/** A run and the runs of the tasks that it delegated. */
function createFamily(root: string) {
  /** The runs that are not over: the status of each, and the call that delegated it. */
  const open = new Map<string, { status: string; readonly parent_call_id: string | null }>()
  const members = new Set([root])
  /** The calls whose contract is running, by run. */
  const atWork = new Map<string, Set<string>>()

  /** Whether each of them waits for a person or for another one of them. */
  function onlyWaits(): boolean {
    const delegating = new Set([...open.values()].map(({ parent_call_id }) => parent_call_id))
    const waits = ([run_id, { status }]: [string, { readonly status: string }]) => {
      const calls = [...(atWork.get(run_id) ?? [])]
      const isDelegating = status === 'running' && calls.length > 0 && calls.every((call_id) => delegating.has(call_id))
      return status === 'waiting_user' || isDelegating
    }
    return open.size > 0 && [...open].every(waits)
  }

  return {
    fold(rune: Rune) {
      const { run_id = '', call_id = '', kind, machine, to } = rune
      if (kind === 'run.submitted') {
        const { parent_call_id, parent_run_id } = rune.payload
        if (parent_run_id != null && members.has(parent_run_id)) members.add(run_id)
        if (members.has(run_id)) open.set(run_id, { status: 'queued', parent_call_id })
      }
      const run = open.get(run_id)
      if (run === undefined) return
      if (kind === 'run.moved' && to !== undefined) run.status = to
      if (isTerminal(runMachine, run.status)) open.delete(run_id)
      if (machine !== 'contract') return
      const calls = atWork.get(run_id) ?? new Set()
      if (to === 'running') calls.add(call_id)
      else calls.delete(call_id)
      atWork.set(run_id, calls)
    },
    has: (run_id: string | undefined) => run_id !== undefined && members.has(run_id),
    onlyWaits,
  }
}
