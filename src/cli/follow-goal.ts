import { type GoalReport, isQuestion } from '../autonomy/goals/report.ts'
import { goalMachine } from '../machines/goal.ts'
import type { Client } from '../surface/client.ts'
import { getGoal } from '../surface/operations/goals.ts'
import { getSession } from '../surface/operations/sessions.ts'
import { askPerson } from './ask-person.ts'
import type { Call } from './command.ts'
import { exits } from './exits.ts'
import { bringsBack, sayIdle } from './follow-run.ts'
import type { clientOptions } from './options.ts'
import { verbFor } from './print.ts'
import { goalChanges, goalLines } from './render/goal.ts'
import { safeJson } from './render/text.ts'

interface Following {
  readonly client: Client
  readonly goal_id: string
  /** Keep following while it waits for a person. */
  readonly patient: boolean
  /** Ask the person at the terminal. */
  readonly asks: boolean
}

/** Shows a goal until it is over, or waits for a person who is not here. Ctrl-C ends the following, not the goal. */
export async function followGoal(
  { io, values, paint, next }: Call<typeof clientOptions>,
  { client, goal_id, patient, asks }: Following,
): Promise<number> {
  const params = { goal_id }
  const leave = new AbortController()
  let isInterrupted = false
  const unsubscribe = io.host.onInterrupt(() => {
    isInterrupted = true
    leave.abort()
  })
  const { session_id } = await client.call(getGoal, { params })
  const { event_id } = await client.call(getSession, { params: { session_id } })
  let last = await client.call(getGoal, { params })
  if (values.json) io.out(safeJson(last))
  else for (const line of goalLines(last, paint)) io.out(line)

  const isDone = async () => {
    if (last.ended_at !== null) return true
    if (asks)
      for (const { interaction_id } of questions(last)) await askPerson(io, client)(interaction_id, leave.signal)
    return questions(last).length > 0 && !asks && !patient && isAtRest(last)
  }
  const look = async () => {
    const now = await client.call(getGoal, { params })
    const changes = goalChanges(last, now, paint)
    last = now
    if (changes.length === 0) return
    if (values.json) io.out(safeJson(now))
    else for (const line of changes) io.out(line)
    if (await isDone()) leave.abort()
  }
  // One look at a time, since it may ask a person.
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
    if (!(await isDone())) {
      // Questions of a critic are in no stream, so the goal is also polled.
      still = io.host.everySecond(() => {
        const was = last.held_up_by
        lookOnce().then(
          // One look may fall between the end of a run and the next decision for the goal, so two are needed.
          () => {
            if (!patient && was !== null && last.held_up_by !== null) leave.abort()
          },
          (error) => {
            failure ??= error
            leave.abort()
          },
        )
      })
      for await (const received of client.follow(session_id, event_id, leave.signal)) {
        if (received.type !== 'rune' || !concerns(received.rune, goal_id)) continue
        await looking
        await lookOnce()
        if (leave.signal.aborted) break
      }
      await looking
    }
    if (failure !== undefined) throw failure
  } finally {
    still()
    unsubscribe()
    leave.abort()
  }
  if (last.ended_at !== null) {
    next(...questions(last).map(verbFor), `goal show ${goal_id}`)
    return goalMachine.states[last.state].tone === 'good' ? exits.ok : exits.failed
  }
  if (last.held_up_by !== null && !(patient && isInterrupted)) {
    next(`goal show ${goal_id}`, await bringsBack(client, session_id))
    return exits.waiting
  }
  if (questions(last).length > 0) {
    next(...answers(last), `goal watch ${goal_id} --work`)
    return exits.waiting
  }
  if (isInterrupted) return exits.interrupted
  io.err(sayIdle(last.state.replace('_', ' ')))
  next(`goal watch ${goal_id} --work`)
  return exits.unreachable
}

const questions = ({ waits_for }: GoalReport) => waits_for.filter(isQuestion)

/** Only an executing goal may still move while a person is asked. */
const isAtRest = ({ state }: GoalReport) => state !== 'executing'

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
