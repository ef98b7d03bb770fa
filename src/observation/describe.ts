import type { Json } from '../kernel/json.ts'
import type { Kind } from '../runes/kinds.ts'
import type { RecordedMove, Rune } from '../runes/rune.ts'
import { asText } from './contract.ts'
import { span } from './durations.ts'

type Sentences = { readonly [K in Kind]?: (rune: Rune<K>) => string | undefined }

/** A summary leaves out kinds without a sentence; runes that come with moves of plans and goals have their own. */
const sentences: Sentences = {
  'session.created': () => 'The session begins.',
  'session.paused': ({ payload }) => `The session is paused${because(payload.reason)}.`,
  'session.resumed': ({ payload }) => `The session goes on${because(payload.reason)}.`,
  'session.suspended': ({ payload }) => `The session is suspended${because(payload.reason)}.`,
  'session.unsuspended': ({ payload }) => `The session is no longer suspended${because(payload.reason)}.`,
  'session.closed': () => 'The session is closed; its log is sealed.',
  'session.archived': () => 'The session is archived.',
  'rune.redacted': ({ payload }) => `Event ${payload.event_id} was redacted${because(payload.reason)}.`,
  'agent.terminated': ({ agent_id, payload }) => `The agent ${agent_id} is terminated${because(payload.reason)}.`,
  'agent.failed': ({ agent_id, payload }) => `The agent ${agent_id} could not be set up${because(payload.error)}.`,

  'run.submitted': ({ payload }) => `Asked of ${payload.agent}: ${quoted(payload.input)}`,
  'run.moved': runMoved,
  'run.requested': ({ payload }) => `A person asks to ${payload.request}${because(payload.reason)}.`,
  'run.briefed': () => 'The agent is told more about its task.',
  'run.misaligned': () => 'Warning: another number of contracts waits than the client expects.',

  'turn.tool_calls_received': ({ payload }) => (payload.text === '' ? undefined : `It says: ${quoted(payload.text)}`),
  'turn.completed': ({ payload }) =>
    payload.final_output === '' ? undefined : `It says: ${quoted(payload.final_output)}`,
  'turn.interrupted': ({ payload }) => `The turn is interrupted${because(payload.reason)}.`,
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
    `Answered by ${payload.replied_by} (${interaction_id}): ${replied(payload.reply)}`,
  'interaction.expired': ({ interaction_id, payload }) =>
    `No answer to ${interaction_id} came in time: ${payload.effect}.`,
  'interaction.withdrawn': ({ interaction_id, payload }) => `${interaction_id} is withdrawn: ${payload.reason}`,

  'coordination.alerted': () => 'Alert: a plan was aborted.',
  'plan.goal_received': ({ payload }) => `Goal: ${quoted(payload.goal_description)}`,
  'plan.goal_met': ({ payload }) => `The goal is met: ${quoted(payload.summary)}`,
  'plan.stopped': ({ payload }) => `The goal is stopped${because(payload.reason)}.`,
  'task.condition_decided': ({ payload: { condition, holds, reason } }) =>
    `The condition ${quoted(condition)} ${holds === null ? 'could not be decided' : holds ? 'holds' : 'does not hold'}: ${quoted(reason)}`,
}

/** A rune as one English sentence, not escaped. Undefined: a summary leaves it out. */
export function describeRune(rune: Rune): string | undefined {
  if (rune.redacted) return undefined
  return (sentences[rune.kind] as ((of: Rune) => string | undefined) | undefined)?.(rune)
}

/** The question that `describeGuards` answers. */
export const whyAllowed = 'why was this allowed?'

/** One sentence per guard of a recorded move; nothing for a move without guards. Not escaped. */
export function describeGuards({ guards = [] }: Pick<RecordedMove, 'guards'>): readonly string[] {
  return guards.map(({ guard, holds, because }) => `${guard} ${holds ? 'holds' : 'does not hold'}: ${because}`)
}

function runMoved({ to, trigger, payload, actor }: Rune<'run.moved'>): string | undefined {
  if (to === 'succeeded') return 'The run succeeded.'
  if (to === 'canceled') return `The run is canceled${because(payload.message)}.`
  if (to === 'failed') return `The run failed: ${[payload.error_code, payload.message].filter(Boolean).join(', ')}`
  if (trigger === 'restart.preserve_waiting') return 'The process was restarted; the run still waits.'
  if (to === 'waiting_user') return 'The run waits for a person.'
  if (trigger === 'restart.requeued')
    return actor === 'recovery'
      ? 'Its worker was lost; the run is queued again.'
      : `The run is queued again${because(payload.message)}.`
  if (to === 'running' && (payload.attempt ?? 1) > 1) return `A worker takes the run again, attempt ${payload.attempt}.`
  return undefined
}

/** Defaults are not an answer of a person, and must not look like one. */
function automatic({ payload }: Rune<'memory.committed'>): string | undefined {
  const { action_type, action_summary, decided_by, result_summary } = payload
  if (action_type !== 'ecs_request' || (decided_by !== 'policy' && decided_by !== 'timer')) return undefined
  const why = decided_by === 'policy' ? 'an auto run asks no person' : 'no answer came in time'
  return `Answered automatically, since ${why} (${quoted(action_summary)}): ${brief(result_summary ?? 'with nothing')}`
}

function toolResult({ payload }: Rune<'tool.result'>): string {
  const { status, output, error, duration_ms } = payload
  const outcome = error ?? (output === undefined ? '' : asText(output))
  const took = duration_ms === undefined ? '' : ` after ${span(duration_ms)}`
  return `The tool ends with ${status}${took}${outcome === '' ? '' : `: ${shorten(outcome, 160)}`}`
}

function contractMoved({ to, trigger, execution_id, payload }: Rune<'contract.moved'>): string | undefined {
  if (payload.reason === 'outcome_unknown') return `It is unknown whether ${execution_id} happened; it is not repeated.`
  if (to === 'cancelled' && trigger === 'timeout') return `No answer came in time: ${execution_id} is cancelled.`
  return undefined
}

/** The word of a decision with its reason; any other reply as it is. */
function replied(reply: Json): string {
  const { decision, action, outcome, answer, reason } = Object(reply) as Readonly<Record<string, Json>>
  const word = decision ?? action ?? outcome ?? answer
  if (typeof word !== 'string') return brief(reply)
  return `${brief(word)}${typeof reason === 'string' && reason !== '' ? ` (${brief(reason)})` : ''}`
}

const because = (reason: string | undefined) => (!reason ? '' : `: ${reason.replace(/\.$/, '')}`)

const quoted = (value: Json) => `“${shorten(asText(value).trim(), 200)}”`

const brief = (value: Json) => shorten(asText(value), 160)

/** The beginning of a text that is too long for its place. */
export function shorten(text: string, limit: number): string {
  const characters = [...text]
  return characters.length <= limit ? text : `${characters.slice(0, Math.max(0, limit - 1)).join('')}…`
}

const verbs: Readonly<Record<string, string>> = { approval: 'approve', settlement: 'settle' }

/** The command that answers a question, such as `approve int_1`. */
export function answeredBy(interaction_kind: string, interaction_id: string): string {
  return `${verbs[interaction_kind] ?? 'answer'} ${interaction_id}`
}
