import { conflict, notNow, unfit } from './fault.ts'

/** Triggers that people cause are requests, such as `pause_requested`; people know them as commands. */
const asRequest = (trigger: string) => trigger.replace(/_requested$/, '')

/** How the log refuses an append. A part of the catalogue. */
export const recordFaults = {
  transition_refused: conflict({
    meaning: 'The subject is in a state whose declaration has no such move, or a condition of the move does not hold.',
    remedy: 'Read the subject and ask for one of the moves that the message names.',
    says: (d: {
      machine: string
      id: string
      from: string
      on: string
      refusal: string
      legal: readonly string[]
      /** The state from which the move was asked for, where that is not the one it is in. */
      believed?: string
      /** What the state is, and why it refuses, for people. */
      why?: string
    }) => {
      const isStale = d.believed !== undefined && d.legal.includes(d.on)
      const believed = isStale ? ` as a move from ${d.believed}` : ''
      const guarded = d.refusal === 'guarded' ? ' because its conditions do not hold' : ''
      const refuses = `${d.machine} ${d.id} is ${d.from} and refuses "${asRequest(d.on)}"${believed}${guarded}`
      if (d.why === undefined) return `${refuses}; it accepts ${d.legal.join(', ') || 'nothing'}.`
      const requests = d.legal.filter((trigger) => trigger !== asRequest(trigger)).map(asRequest)
      return `${refuses}. ${d.why}${requests.length === 0 ? '' : ` You can ${requests.join(' or ')} it.`}`
    },
  }),
  stale_write: conflict({
    meaning: 'Another append moved a subject after this decision read it.',
    remedy: 'Read the subject again, decide again, and send the request again.',
    says: (d: { subject_id: string; expected: number; actual: number }) =>
      `${d.subject_id} is at version ${d.actual}, not ${d.expected}; read it again before deciding.`,
  }),
  contended: notNow({
    meaning: 'Other writers changed the session each time while this request was decided.',
    remedy: 'Send the request again; find the client that keeps writing to this session.',
    says: (d: { session_id: string; tries: number }) =>
      `Other writers changed session ${d.session_id} ${d.tries} times while this request was decided. Nothing was recorded; send the request again.`,
  }),
  stale_fence: conflict({
    meaning: 'Another worker holds the run under a newer epoch.',
    remedy: 'Stop working on this run; the worker that holds it goes on.',
    says: (d: { run_id: string; epoch: number; actual: number }) =>
      `Run ${d.run_id} is at epoch ${d.actual}, not ${d.epoch}: another worker holds it. Stop working on it.`,
  }),
  key_taken: conflict({
    meaning: 'An irreversible action with the same idempotency key exists already.',
    remedy: 'Read the earlier action; allow it once more only if it is really wanted twice.',
    says: (d: { key: string; execution_id: string; session_id: string; state: string }) =>
      `The key ${d.key} belongs to ${d.execution_id} of ${d.session_id}, which is ${d.state}; a new attempt is accepted once that one has failed, been rejected or been cancelled.`,
  }),
  subject_exists: conflict({
    meaning: 'The id belongs to another subject.',
    remedy: 'Choose an id that is not in use.',
    says: (d: { subject_id: string; machine: string; session_id: string }) =>
      `${d.subject_id} exists already, as a ${d.machine} of ${d.session_id}; choose another id.`,
  }),
  log_sealed: conflict({
    meaning: 'The session is closed and its log takes only the kinds that the message names.',
    remedy: 'Begin a new session.',
    says: (d: { session_id: string; kind: string; accepted: readonly string[] }) =>
      `The log of ${d.session_id} is sealed and refuses ${d.kind}; it accepts ${d.accepted.join(', ')}.`,
  }),
  rune_malformed: unfit({
    meaning: 'A record does not fit the declared shape of its kind.',
    remedy: 'Correct the field that the message names.',
    says: (d: { kind: string; problem: string }) => `A rune of kind ${d.kind} was refused: ${d.problem}`,
  }),
  not_redactable: conflict({
    meaning: 'The content of this event cannot be erased.',
    remedy: 'Choose an event with content that may be erased.',
    says: (d: { session_id: string; event_id: number; problem: string }) =>
      `Event ${d.event_id} of ${d.session_id} was not redacted: ${d.problem}`,
  }),
}
