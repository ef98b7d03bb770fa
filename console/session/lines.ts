import type { Kind } from '../../src/runes/kinds.ts'
import type { Rune } from '../../src/runes/rune.ts'

export type Tone = 'plain' | 'good' | 'bad' | 'person'

/** How a question ended. */
export function answerLine(
  rune: Rune<'interaction.answered' | 'interaction.expired' | 'interaction.withdrawn'>,
): string {
  if (rune.kind === 'interaction.withdrawn') return `The question was withdrawn: ${rune.payload.reason}`
  if (rune.kind === 'interaction.expired') return `Nobody answered in time (${rune.payload.effect}).`
  const { reply, replied_by } = rune.payload
  const said = reply as { decision?: string; action?: string; outcome?: string; answer?: string; reason?: string }
  const what =
    said.decision ?? said.action ?? said.outcome ?? (said.answer === undefined ? 'answered' : `“${said.answer}”`)
  return `${replied_by} said: ${what}${said.reason === undefined ? '' : ` (${said.reason})`}`
}

const quiet: ReadonlySet<Kind> = new Set(['agent.ready', 'memory.committed', 'tool.progress', 'run.submitted'])

/** What else happened that a reader wants to know of. */
export function otherLine(rune: Rune): [string, Tone?] | undefined {
  if (quiet.has(rune.kind)) return undefined
  switch (rune.kind) {
    case 'run.moved':
      return runLine(rune)
    case 'run.requested':
      return [`Someone asked: ${rune.payload.request} (${rune.payload.reason})`, 'person']
    case 'session.suspended':
      return [`The session is suspended: ${rune.payload.reason}`, 'bad']
    case 'session.paused':
      return [`The session is paused: ${rune.payload.reason}`, 'person']
    case 'session.resumed':
      return ['The session goes on.', 'person']
    case 'session.unsuspended':
      return ['The session was brought back.', 'person']
    case 'session.closed':
      return ['The session is closed; its log is sealed.']
    case 'session.archived':
      return ['The session is archived.']
    case 'agent.terminated':
      return [`Agent ${rune.payload.agent_id} ended: ${rune.payload.reason}`]
    case 'agent.failed':
      return [`Agent ${rune.payload.agent_id} could not be set up: ${rune.payload.error}`, 'bad']
    case 'rune.redacted':
      return [`Event ${rune.payload.event_id} was redacted: ${rune.payload.reason}`]
    case 'coordination.moved':
      return [`The plan moved to ${rune.to}.`, rune.to === 'ABORTED' || rune.to === 'BLOCKED' ? 'bad' : 'plain']
    case 'goal.moved':
      return [`The goal is ${rune.to}.`]
    case 'task.condition_decided': {
      const { condition, holds, reason } = rune.payload
      const verdict = holds === null ? 'could not be decided' : holds ? 'holds' : 'does not hold'
      return [`The condition “${condition}” ${verdict}: ${reason}`]
    }
    case 'plan.goal_met':
      return [`The goal is met: ${rune.payload.summary}`, 'good']
    case 'plan.stopped':
      return [`The goal was stopped: ${rune.payload.reason}`, 'bad']
  }
  return undefined
}

function runLine({ to, trigger, payload }: Rune<'run.moved'>): [string, Tone?] | undefined {
  if (trigger === 'restart.requeued') return ['The worker was lost; the run is queued again and goes on.']
  if (trigger === 'restart.preserve_waiting') return ['The server was started anew; the run still waits.']
  if (to === 'succeeded') return ['The run succeeded.', 'good']
  if (to === 'canceled') return [`The run was stopped${payload.message === undefined ? '.' : `: ${payload.message}`}`]
  if (to === 'failed') return [`The run failed: ${payload.error_code ?? ''} ${payload.message ?? ''}`.trim(), 'bad']
  return undefined
}
