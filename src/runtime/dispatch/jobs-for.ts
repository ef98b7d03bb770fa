import { isTerminal } from '../../kernel/machine.ts'
import { runMachine } from '../../machines/run.ts'
import type { Rune } from '../../runes/rune.ts'

/** A job only wakes: the log decides. It replaces one with the same key that has not begun. */
export type Job =
  | { readonly task: 'run'; readonly key: string; readonly payload: { session_id: string; run_id: string } }
  | {
      readonly task: 'deadline'
      readonly key: string
      readonly payload: { session_id: string; interaction_id: string }
      readonly run_at: number
    }
  | { readonly task: 'session'; readonly key: string; readonly payload: { session_id: string } }

/** The task of a job. */
export type Task = Job['task']

/** Jobs to add, and keys of jobs that are not needed any more. */
export interface Jobs {
  readonly add: readonly Job[]
  readonly remove: readonly string[]
}

/**
 * The jobs that follow from what one transaction records. They are written in that transaction. `atRest`: sessions
 * without other work than the run that ends in it.
 */
export function jobsFor(runes: readonly Rune[], atRest: ReadonlySet<string> = new Set()): Jobs {
  const jobs = new Map<string, Job | undefined>()
  for (const rune of runes) {
    const { session_id } = rune
    switch (rune.kind) {
      case 'run.submitted':
      case 'run.moved': {
        const run_id = rune.subject_id ?? ''
        if (rune.to === 'queued') jobs.set(run_id, runJob(session_id, run_id))
        // The agent is free: the next run in its queue may be taken.
        else if (isTerminal(runMachine, rune.to) && !atRest.has(session_id))
          jobs.set(session_id, sessionJob(session_id))
        break
      }
      case 'interaction.opened': {
        const interaction_id = rune.subject_id ?? ''
        const { deadline } = rune.payload
        if (deadline !== null) jobs.set(interaction_id, deadlineJob({ session_id, interaction_id, deadline }))
        break
      }
      case 'interaction.answered':
      case 'interaction.expired':
      case 'interaction.withdrawn':
        jobs.set(rune.subject_id ?? '', undefined)
        // A question that no run asked belongs to a plan or a goal, and the process that recorded the answer may die first.
        if ((rune.coordination_id ?? rune.goal_id) !== undefined) jobs.set(session_id, sessionJob(session_id))
        break
      case 'coordination.received':
        jobs.set(session_id, sessionJob(session_id))
        break
      // Runs of a terminated agent fail, and callers that wait for them must learn that.
      case 'plan.goal_received':
      case 'agent.terminated':
      case 'session.resumed':
      case 'session.unsuspended':
      case 'session.closing':
        jobs.set(session_id, sessionJob(session_id))
    }
  }
  const inOrder = [...jobs].sort(([a], [b]) => (a < b ? -1 : 1))
  return {
    add: inOrder.flatMap(([, job]) => job ?? []),
    remove: inOrder.flatMap(([key, job]) => (job === undefined ? [key] : [])),
  }
}

/** The job that works on a run. */
export function runJob(session_id: string, run_id: string): Job {
  return { task: 'run', key: run_id, payload: { session_id, run_id } }
}

/** The job that ends a question at its deadline. */
export function deadlineJob(question: { session_id: string; interaction_id: string; deadline: number }): Job {
  const { session_id, interaction_id, deadline: run_at } = question
  return { task: 'deadline', key: interaction_id, payload: { session_id, interaction_id }, run_at }
}

const sessionJob = (session_id: string): Job => ({ task: 'session', key: session_id, payload: { session_id } })
