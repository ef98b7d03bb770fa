import { isEndOfRun } from '../machines/run.ts'
import type { Rune } from '../runes/rune.ts'
import type { Client } from '../surface/client.ts'
import { interruptRun } from '../surface/operations/run-commands.ts'
import type { Io } from './command.ts'
import type { Exit } from './exits.ts'
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
  /** Questions that are open. */
  readonly open: readonly string[]
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
  const open = new Set<string>()
  let presses = 0
  let { after } = run
  let exit: Exit | undefined

  const deaf = io.host.onInterrupt(() => {
    presses += 1
    for (const question of asking.values()) question.abort()
    if (!owns || presses > 1) return leave.abort()
    viewer.say('Interrupting: what is under way comes to its end first. Again to leave it running.')
    client.call(interruptRun, { params: { run_id: run.run_id }, body: {} }).catch(() => leave.abort())
  })

  function put(interaction_id: string) {
    if (ask === undefined || asking.has(interaction_id)) return
    const question = new AbortController()
    asking.set(interaction_id, question)
    void ask(interaction_id, question.signal).then(
      (answered) => {
        asking.delete(interaction_id)
        if (answered === 'left' && presses === 0 && open.has(interaction_id)) leave.abort()
      },
      (error) => {
        viewer.say((error as Error).message)
        leave.abort()
      },
    )
  }

  function hear(rune: Rune): Exit | undefined {
    const { interaction_id = '' } = rune
    if (rune.kind === 'interaction.opened') open.add(interaction_id)
    else if (rune.machine === 'interaction') {
      open.delete(interaction_id)
      asking.get(interaction_id)?.abort()
    }
    if (rune.kind !== 'run.moved') return undefined
    if (isEndOfRun(rune.to)) return endOf(rune, presses > 0)
    if (rune.to !== 'waiting_user' || patient || rune.event_id <= (run.past ?? 0)) return undefined
    if (ask === undefined) return 'waiting'
    for (const id of open) put(id)
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
      if (rune.run_id !== run.run_id || rune.visibility !== 'public') continue
      viewer.show(heard)
      exit = hear(rune)
      if (exit !== undefined) break
    }
  } finally {
    deaf()
    leave.abort()
    for (const question of asking.values()) question.abort()
    viewer.end()
  }
  return { exit: exit ?? (presses > 0 ? 'interrupted' : 'waiting'), after, open: [...open] }
}

function endOf(rune: Rune<'run.moved'>, interrupted: boolean): Exit {
  if (rune.to === 'succeeded') return 'ok'
  if (rune.payload.error_code === 'OUTCOME_UNKNOWN') return 'unknown'
  return interrupted && rune.to === 'canceled' ? 'interrupted' : 'failed'
}
