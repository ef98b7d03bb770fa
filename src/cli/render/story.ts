import { canonicalJson } from '../../kernel/canonical-json.ts'
import type { Json } from '../../kernel/json.ts'
import { span } from '../../observation/span.ts'
import type { Kind } from '../../runes/kinds.ts'
import type { Rune } from '../../runes/rune.ts'
import { shorten } from './columns.ts'
import { safeLine } from './safe.ts'

/** What a rune means to a person who follows along, in plain words. */
type Tellers = { readonly [K in Kind]?: (rune: Rune<K>) => string | undefined }

const tellers: Tellers = {
  'session.created': () => 'The session begins.',
  'session.paused': ({ payload }) => `The session is paused: ${payload.reason}.`,
  'session.resumed': ({ payload }) => `The session goes on${because(payload.reason)}.`,
  'session.suspended': ({ payload }) => `The session is suspended: ${payload.reason}.`,
  'session.unsuspended': ({ payload }) => `The session is no longer suspended${because(payload.reason)}.`,
  'session.closed': () => 'The session is closed; its log is sealed.',
  'session.archived': () => 'The session is archived.',
  'rune.redacted': ({ payload }) => `Event ${payload.event_id} was redacted: ${payload.reason}.`,
  'agent.terminated': ({ agent_id, payload }) => `The agent ${agent_id} is terminated: ${payload.reason}.`,
  'agent.failed': ({ agent_id, payload }) => `The agent ${agent_id} could not be set up: ${payload.error}.`,

  'run.submitted': ({ payload }) => `Asked of ${payload.agent}: ${quoted(payload.input)}`,
  'run.moved': runMoved,
  'run.requested': ({ payload }) => `A person asks to ${payload.request}: ${payload.reason}.`,
  'run.briefed': () => 'The agent is told more about its task.',
  'run.misaligned': () => 'Warning: another number of contracts waits than the checkpoint expects.',

  'turn.tool_calls_received': ({ payload }) => (payload.text === '' ? undefined : `It says: ${quoted(payload.text)}`),
  'turn.completed': ({ payload }) =>
    payload.final_output === '' ? undefined : `It says: ${quoted(payload.final_output)}`,
  'turn.interrupted': ({ payload }) => `The turn is interrupted: ${payload.reason}.`,
  'turn.error': ({ payload }) =>
    `The model failed (${payload.error_type}): ${payload.message}${payload.retryable ? ' It tries again.' : ''}`,

  'tool.call': ({ payload }) => `It calls ${payload.tool_name} ${brief(payload.arguments)}`,
  'tool.approved': ({ payload }) => `Approved by ${payload.approver}.`,
  'tool.denied': ({ payload }) => `Denied: ${payload.reason}`,
  'tool.result': toolResult,

  'contract.moved': contractMoved,
  'contract.evidence_added': ({ payload: { source, message, reported, result } }) =>
    reported === undefined
      ? `Its outcome is unclear (${source}): ${quoted(message)}`
      : `Given up before, it reports (${reported}): ${quoted(message)}${result === undefined ? '' : ` ${brief(result)}`}`,
  'memory.committed': automatic,
  'contract.repeat_allowed': ({ payload }) => `${payload.allowed_by} lets the action be done once more.`,

  'interaction.opened': ({ interaction_id, payload }) =>
    `It asks (${payload.interaction_kind} ${interaction_id}): ${quoted(payload.prompt)}`,
  'interaction.answered': ({ interaction_id, payload }) =>
    `Answered by ${payload.replied_by} (${interaction_id}): ${brief(payload.reply)}`,
  'interaction.expired': ({ interaction_id, payload }) =>
    `Nobody answered ${interaction_id} in time: ${payload.effect}.`,
  'interaction.withdrawn': ({ interaction_id, payload }) => `${interaction_id} is withdrawn: ${payload.reason}`,

  'plan.goal_received': ({ payload }) => `Goal: ${quoted(payload.goal_description)}`,
  'plan.goal_met': ({ payload }) => `The goal is met: ${quoted(payload.summary)}`,
  'task.condition_decided': ({ payload: { condition, holds, reason } }) =>
    `The condition ${quoted(condition)} ${holds === null ? 'could not be decided' : holds ? 'holds' : 'does not hold'}: ${quoted(reason)}`,
  'plan.stopped': ({ payload }) => `The goal is stopped: ${payload.reason}.`,
  'coordination.alerted': () => 'Alert: a plan was aborted.',
}

/** One line about a rune, or undefined for one that only the full record needs. */
export function storyLine(rune: Rune): string | undefined {
  if (rune.redacted) return undefined
  const line = (tellers[rune.kind] as ((r: Rune) => string | undefined) | undefined)?.(rune)
  return line === undefined ? undefined : safeLine(line)
}

/** Exactly what a rune recorded: its kind, and the move if it is one. */
export function recordLine(rune: Rune): string {
  const { kind, from, to, trigger, subject_id } = rune
  if (to === undefined) return kind
  const how = trigger === undefined || trigger === null ? '' : ` on ${trigger}`
  return `${kind}  ${subject_id} ${from ?? '·'} → ${to}${how}`
}

function runMoved({ to, trigger, payload }: Rune<'run.moved'>): string | undefined {
  if (to === 'succeeded') return 'The run succeeded.'
  if (to === 'canceled') return `The run is canceled${payload.message === undefined ? '' : `: ${payload.message}`}.`
  if (to === 'failed') return `The run failed: ${[payload.error_code, payload.message].filter(Boolean).join(', ')}`
  if (to === 'waiting_user' && trigger === 'restart.preserve_waiting')
    return 'The process was started anew; the run goes on waiting.'
  if (to === 'waiting_user') return 'The run waits for a person.'
  if (trigger === 'restart.requeued') return 'Its worker was lost; the run is queued again.'
  if (to === 'running' && (payload.attempt ?? 1) > 1) return `A worker takes the run again, attempt ${payload.attempt}.`
  return undefined
}

/** A question without an answer got its defaults: that is no answer of a person, and must not look like one. */
function automatic({ payload }: Rune<'memory.committed'>): string | undefined {
  const { action_type, action_summary, decided_by, result_summary } = payload
  if (action_type !== 'ecs_request' || (decided_by !== 'policy' && decided_by !== 'timer')) return undefined
  const why = decided_by === 'policy' ? 'an auto run asks no person' : 'no answer came in time'
  return `Answered automatically, since ${why} (${quoted(action_summary)}): ${brief(result_summary ?? 'with nothing')}`
}

function toolResult({ payload }: Rune<'tool.result'>): string {
  const { status, output, error, duration_ms } = payload
  const came = error ?? (output === undefined ? '' : said(output))
  const took = duration_ms === undefined ? '' : ` after ${span(duration_ms)}`
  return `The tool ends with ${status}${took}${came === '' ? '' : `: ${shorten(came, 160)}`}`
}

function contractMoved({ to, trigger, execution_id, payload }: Rune<'contract.moved'>): string | undefined {
  if (payload.reason === 'outcome_unknown')
    return `Nobody can know whether ${execution_id} happened; it is not repeated.`
  if (to === 'cancelled' && trigger === 'timeout') return `Nobody answered in time: ${execution_id} is cancelled.`
  return undefined
}

const because = (reason: string | undefined) => (reason === undefined ? '' : `: ${reason.replace(/\.$/, '')}`)

const quoted = (value: Json) => `“${shorten(said(value).trim(), 200)}”`

const brief = (value: Json) => shorten(said(value), 160)

/** A string as it is, anything else in its canonical form, so that the same rune reads the same wherever it comes from. */
const said = (value: Json) => (typeof value === 'string' ? value : canonicalJson(value))
