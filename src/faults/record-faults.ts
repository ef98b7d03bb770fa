import { broken, conflict, notNow, unavailable, unfit } from './fault.ts'

/** The command behind a trigger such as `pause_requested`. */
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
      /** The state that the request assumed, if the subject is in another one. */
      believed?: string
      /** The state and the reason of its refusal, for people. */
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
    remedy: 'Read the subject again and decide again. The same request would be refused again.',
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
      `The log of ${d.session_id} is sealed and refuses ${d.kind}; it accepts ${d.accepted.join(', ')}. Begin a new session.`,
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

function wayBack({ session_id, by }: { session_id: string; by: 'budget' | 'errors' }): string {
  return by === 'budget'
    ? `give it a larger budget (statewright resume ${session_id} --budget LIMIT=NUMBER)`
    : `look at its errors and reset it (statewright resume ${session_id})`
}

function restsOn({ what, id, run_id = id }: { what: 'call' | 'run' | 'goal'; id: string; run_id?: string }): string {
  if (what === 'run')
    return `${id} has received this content and has not answered. Wait until ${id} has answered, or cancel ${id}`
  const wait = `Wait until ${id} is over, or cancel ${run_id}`
  return what === 'call'
    ? `the call ${id} of ${run_id} still uses this content. ${wait}`
    : `${id} still uses this content. ${wait}`
}

/** How a session refuses a request. A part of the catalogue. */
export const sessionFaults = {
  session_over: conflict({
    http: 410,
    meaning: 'The session is closed or archived.',
    remedy: 'Submit without a session to begin a new one.',
    says: (d: { session_id: string; state: string }) =>
      `Session ${d.session_id} is ${d.state} and takes no more work; submit without a session to begin a new one.`,
  }),
  session_suspended: notNow({
    meaning: 'The session is suspended and does no work.',
    remedy: 'Give it a larger budget or reset it, as the message says, then ask again.',
    says: (d: { session_id: string; by: 'budget' | 'errors'; reason: string; run_id?: string; goal_id?: string }) => {
      const stays = d.run_id === undefined ? undefined : `${d.run_id} stays queued`
      const what = d.goal_id === undefined ? (stays ?? 'takes no new work') : `${d.goal_id} does not go on`
      return `Session ${d.session_id} is suspended (${d.reason.replace(/\.$/, '')}), and ${what}. To go on, ${wayBack(d)}, then ask again; or close it.`
    },
  }),
  session_waits: notNow({
    meaning: 'The session cannot take this submission yet.',
    remedy: 'Follow the message, then submit again.',
    says: (d: { session_id: string; problem: string }) => `${d.problem} Nothing was submitted.`,
  }),
  suspended_otherwise: conflict({
    meaning: 'This command does not lift the reason for which the session is suspended.',
    remedy: 'Use the command that the message names.',
    says: (d: { session_id: string; by: 'budget' | 'errors'; reason: string; tried: string }) =>
      `Session ${d.session_id} is suspended by its ${d.by} (${d.reason.replace(/\.$/, '')}); ${d.tried} cannot resume it. To go on, ${wayBack(d)}.`,
  }),
  budget_given_late: unfit({
    meaning: 'A session gets its budget when it begins.',
    remedy: 'Leave the budget of the session out, or raise the budget when the session is suspended.',
    says: (d: { session_id: string }) =>
      `Session ${d.session_id} got its budget when it began; leave the budget of the session out. A suspended session gets a larger one when it is resumed.`,
  }),
  session_busy: notNow({
    meaning: 'A run of the session is under way.',
    remedy: 'Wait until the run rests, or cancel it.',
    says: (d: { session_id: string; run_id: string; asked: string }) =>
      `Session ${d.session_id} has ${d.run_id} under way; to ${d.asked}, wait until it rests, or cancel it.`,
  }),
  content_in_use: notNow({
    meaning: 'A call, a run or a goal that is not over depends on this content.',
    remedy: 'Wait until it is over or cancel it, then redact.',
    says: (d: { session_id: string; event_id: number; what: 'call' | 'run' | 'goal'; id: string; run_id?: string }) =>
      `Event ${d.event_id} of ${d.session_id} was not redacted: ${restsOn(d)}; then redact it.`,
  }),
  budget_too_small: unfit({
    meaning: 'The new budget is already used up.',
    remedy: 'Name limits above the used budget of the session.',
    says: (d: { session_id: string; problem: string }) =>
      `That budget does not let ${d.session_id} go on: ${d.problem}. Limits count from the beginning of the session; name higher ones.`,
  }),
}

/** How a store and its files refuse a request. A part of the catalogue. */
export const storeFaults = {
  store_poisoned: broken({
    meaning: 'A write failed, and the store cannot know whether the append is on disk.',
    remedy: 'Open the store again and read its records before you repeat anything.',
    says: (d: { outcome: 'unknown'; cause: string }) =>
      `The store stopped after an error while writing (${d.cause}). Whether the last append was recorded is unknown; open the store again and read.`,
  }),
  store_closed: broken({
    meaning: 'This process closed the store.',
    remedy: 'Open the store again.',
    says: (d: { store: string }) => `${d.store} was closed by this process; open it again to go on.`,
  }),
  store_locked: broken({
    meaning: 'Another process holds the store.',
    remedy: 'Stop that process, or send the request to it.',
    says: (d: { store: string; pid: number; address?: string | null }) =>
      `${d.store} is held by ${d.pid === 0 ? 'another process' : `process ${d.pid}`}${d.address == null ? '' : `, a server at ${d.address}`}; stop it, or send the request to it.`,
  }),
  store_unusable: broken({
    retry: 'never',
    meaning: 'The store cannot be opened or used as it is.',
    remedy: 'Fix the cause that the message names, then open the store.',
    says: (d: { store: string; problem: string }) => `${d.store} cannot be used: ${d.problem}`,
  }),
  store_damaged: broken({
    http: 500,
    retry: 'never',
    meaning: 'The files of the store do not follow from its log.',
    remedy: 'Keep the files, run "statewright verify", and restore a backup.',
    says: (d: { what: string; problem: string }) =>
      `The store is damaged. ${d.what}: ${d.problem} Keep its files; "statewright verify" names all damage, and a backup restores it.`,
  }),
  file_unusable: unfit({
    meaning: 'A file or folder cannot be read or written.',
    remedy: 'Correct the path or its permissions.',
    says: (d: { file: string; problem: string }) => `${d.file} cannot be used: ${d.problem}`,
  }),
  store_unreachable: broken({
    meaning: 'The database does not answer.',
    remedy: 'Make the database reachable and send the request again.',
    says: (d: { store: string; cause: string }) =>
      `${d.store} cannot be reached (${d.cause}). Nothing of this request was recorded; it may be sent again.`,
  }),
  segment_unwritable: unavailable({
    meaning: 'The archive of a session could not be written. Its log is unchanged.',
    remedy: 'Make the folder writable or free some space, then archive again.',
    says: (d: { session_id: string; folder: string; cause: string }) =>
      `A segment of ${d.session_id} could not be written to ${d.folder} (${d.cause}). Nothing was changed; its runes are where they were.`,
  }),
}
