import { type GoalReport, isQuestion } from '../autonomy/goals/report.ts'
import type { Client } from '../surface/client.ts'
import { getGoal } from '../surface/operations/goals.ts'
import { getSession } from '../surface/operations/sessions.ts'
import { askPerson } from './ask-person.ts'
import type { Arguments } from './command.ts'
import { exits } from './exits.ts'
import { bringsBack, sayIdle } from './follow-run.ts'
import { next } from './hint.ts'
import type { Io } from './host.ts'
import { goalChanges, goalLines } from './render/goal.ts'
import { paintFor } from './render/paint.ts'
import { safeJson } from './render/safe.ts'
import { verbFor } from './verb-for.ts'

/**
 * Shows a goal until it is over, or until it waits for a person and nobody is
 * here to be asked, or until its session is paused or suspended. Ctrl-C ends the
 * looking and not the goal.
 */
export async function followGoal(
  io: Io,
  client: Client,
  args: Arguments,
  goal_id: string,
  { patient, asks }: { readonly patient: boolean; readonly asks: boolean },
): Promise<number> {
  const paint = paintFor(io.terminal.hasColor)
  const params = { goal_id }
  const leave = new AbortController()
  let isInterrupted = false
  const deaf = io.host.onInterrupt(() => {
    isInterrupted = true
    leave.abort()
  })
  const { session_id } = await client.call(getGoal, { params })
  const { event_id } = await client.call(getSession, { params: { session_id } })
  let last = await client.call(getGoal, { params })
  if (args.values.json) io.out(safeJson(last))
  else for (const line of goalLines(last, paint)) io.out(line)

  const settled = async () => {
    if (last.ended_at !== null) return true
    if (asks)
      for (const { interaction_id } of questions(last)) await askPerson(io, client, interaction_id, leave.signal)
    return questions(last).length > 0 && !asks && !patient && isAtRest(last)
  }
  const look = async () => {
    const now = await client.call(getGoal, { params })
    const changes = goalChanges(last, now, paint)
    last = now
    if (changes.length === 0) return
    if (args.values.json) io.out(safeJson(now))
    else for (const line of changes) io.out(line)
    if (await settled()) leave.abort()
  }
  // One look at a time: a person may be asked in it.
  let looking: Promise<void> | undefined
  const lookOnce = () => {
    looking ??= look().finally(() => {
      looking = undefined
    })
    return looking
  }
  let failure: unknown
  let still = () => {}
  try {
    if (!(await settled())) {
      // What a critic asks is in no stream, so the goal is looked at from time to time, too.
      still = io.host.everySecond(() => {
        const was = last.held_up_by
        lookOnce().then(
          // One look may fall between the end of a run and what is decided for the goal then.
          () => {
            if (!patient && was !== null && last.held_up_by !== null) leave.abort()
          },
          (error) => {
            failure ??= error
            leave.abort()
          },
        )
      })
      for await (const heard of client.follow(session_id, event_id, leave.signal)) {
        if (heard.type !== 'rune' || !concerns(heard.rune, goal_id)) continue
        await looking
        await lookOnce()
        if (leave.signal.aborted) break
      }
      await looking
    }
    if (failure !== undefined) throw failure
  } finally {
    still()
    deaf()
    leave.abort()
  }
  if (last.ended_at === null && last.held_up_by !== null && !(patient && isInterrupted)) {
    next(io, args, `goal show ${goal_id}`, await bringsBack(client, session_id))
    return exits.waiting
  }
  if (last.ended_at === null && questions(last).length > 0) {
    next(io, args, ...answers(last), `goal watch ${goal_id} --work`)
    return exits.waiting
  }
  if (last.ended_at === null && isInterrupted) return exits.interrupted
  if (last.ended_at === null) {
    io.err(sayIdle(last.state.replace('_', ' ')))
    next(io, args, `goal watch ${goal_id} --work`)
    return exits.unreachable
  }
  next(io, args, ...questions(last).map(verbFor), `goal show ${goal_id}`)
  return last.state === 'goal_met' ? exits.ok : exits.failed
}

/** What a person has to answer. */
function questions({ waits_for }: GoalReport) {
  return waits_for.filter(isQuestion)
}

/** Only where tasks are worked on may something still move while a person is asked. */
const isAtRest = ({ state }: GoalReport) => state !== 'executing'

/** How each question would be answered. */
function answers(report: GoalReport): readonly string[] {
  const { goal_id, tasks } = report
  return questions(report).map(({ interaction_id, interaction_kind, run_id, task_id }) => {
    if (interaction_kind !== 'approval' || run_id !== null) return `inbox ${interaction_id}`
    const task = tasks.find((one) => one.task_id === task_id)?.task
    return `goal approve ${goal_id}${task === undefined ? '' : ` --task ${task}`}`
  })
}

function concerns(rune: { readonly goal_id?: string; readonly machine?: string }, goal_id: string): boolean {
  return rune.goal_id === goal_id || rune.machine === 'run' || rune.machine === 'interaction'
}
