import { isTerminal } from '../kernel/machine.ts'
import { runMachine } from '../machines/run.ts'
import type { Rune } from '../runes/rune.ts'
import type { Client } from '../surface/client.ts'
import { interruptRun } from '../surface/operations/run-commands.ts'
import { getRun } from '../surface/operations/runs.ts'
import { getSession } from '../surface/operations/sessions.ts'
import type { Exit } from './exits.ts'
import { createFamily } from './family.ts'
import type { Io } from './host.ts'
import type { Viewer } from './render/viewer.ts'

export interface FollowedRun {
  readonly session_id: string
  readonly run_id: string
  /** The last event that was seen. */
  readonly after: number
  /** Up to here it is history: that it waited then is no reason to stop now. */
  readonly past?: number
}

/** How it stands when nobody follows any more. */
export interface Followed {
  readonly exit: Exit
  /** The last event that was seen. */
  readonly after: number
  /** Questions that are open: its own, those of tasks that it handed on, or of the run that its agent works on first. */
  readonly open: readonly string[]
  /** The command that brings the session back, where the run waits for that. */
  readonly brings_back: string | null
}

export interface Following {
  /** Puts a question to whoever sits at the terminal. Without it, the run is left when it waits for a person. */
  readonly ask?: (interaction_id: string, signal: AbortSignal) => Promise<'answered' | 'left'>
  /** Keep on looking while it waits for a person. */
  readonly patient?: boolean
  /** Ctrl-C stops the run and not only the looking. */
  readonly owns: boolean
}

/**
 * Shows a run until it is over, or until it waits for a person and nobody is
 * here. The first Ctrl-C lets what is under way finish and then stops the run;
 * the second leaves it to whoever works on it.
 */
export async function followRun(
  io: Io,
  client: Client,
  run: FollowedRun,
  viewer: Viewer,
  { ask, patient = false, owns }: Following,
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
  let told = ''

  const deaf = io.host.onInterrupt((asked) => {
    presses += 1
    for (const question of asking.values()) question.abort()
    if (owns && asked === 'leave')
      viewer.say('Leaving: what is under way comes to its end first; the run can go on later.')
    if (!owns || presses > 1 || asked === 'leave') return leave.abort()
    viewer.say('Interrupting: what is under way comes to its end first. Again to leave it running.')
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
        viewer.say((error as Error).message)
        leave.abort()
      },
    )
  }

  function closeQuestion({ machine, kind, interaction_id = '' }: Rune) {
    if (machine !== 'interaction' || kind === 'interaction.opened') return
    open.delete(interaction_id)
    asking.get(interaction_id)?.abort()
  }

  /** A queued run may wait for a person who has to act elsewhere: answer another run, or bring the session back. */
  async function lookForObstacle(): Promise<Exit | undefined> {
    const { held_up_by: obstacle } = await client.call(getRun, { params: { run_id: run.run_id } })
    if (obstacle === null || !obstacle.needs_person) return undefined
    if (told !== obstacle.says) viewer.say(obstacle.says)
    told = obstacle.says
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

  function hear(rune: Rune): Exit | undefined {
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
    for await (const heard of client.follow(run.session_id, run.after, leave.signal)) {
      if (heard.type === 'delta') {
        if (heard.delta.run_id === run.run_id) viewer.show(heard)
        continue
      }
      const { rune } = heard
      after = rune.event_id
      closeQuestion(rune)
      family.tell(rune)
      if (family.has(rune.run_id) && rune.visibility === 'public') {
        if (rune.run_id === run.run_id || rune.machine === 'interaction') viewer.show(heard)
        exit = hear(rune)
      }
      if (exit === undefined && mayHoldUp(rune, run)) exit = await lookForObstacle()
      if (exit !== undefined) break
    }
  } finally {
    deaf()
    leave.abort()
    for (const question of asking.values()) question.abort()
    viewer.end()
  }
  return { exit: exit ?? (presses > 0 ? 'interrupted' : 'waiting'), after, open: [...open], brings_back }
}

/** What a watcher is told of something that no process carries out. */
export function sayIdle(status: string): string {
  return `It is ${status}, and nothing carries it out. Start a server or a worker, or watch it with --work.`
}

/** The command that brings back a session that is paused or suspended. */
export async function bringsBack(client: Client, session_id: string): Promise<string> {
  const { suspension } = await client.call(getSession, { params: { session_id } })
  return `resume ${session_id}${suspension?.by === 'budget' ? ' --budget LIMIT=NUMBER' : ''}`
}

/** Whether the run may be queued for longer from this rune on. */
function mayHoldUp({ kind, run_id, to, event_id }: Rune, run: FollowedRun): boolean {
  if (event_id <= (run.past ?? 0)) return false
  if (kind === 'session.paused' || kind === 'session.suspended') return true
  if (run_id !== run.run_id) return to === 'waiting_user'
  return kind === 'run.submitted' || to === 'queued'
}

function endOf(rune: Rune<'run.moved'>, interrupted: boolean): Exit {
  if (rune.to === 'succeeded') return 'ok'
  if (rune.payload.error_code === 'OUTCOME_UNKNOWN') return 'unknown'
  return interrupted && rune.to === 'canceled' ? 'interrupted' : 'failed'
}
