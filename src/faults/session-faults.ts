import { conflict, notNow, unfit } from './fault.ts'

/** What brings a suspended session back, as one would type it. */
function wayBack({ session_id, by }: { session_id: string; by: 'budget' | 'errors' }): string {
  return by === 'budget'
    ? `give it a larger budget (statewright resume ${session_id} --budget LIMIT=NUMBER)`
    : `look at its errors and reset it (statewright resume ${session_id})`
}

/** What goes on with the content of an event, and what to do. */
function restsOn({ what, id, run_id = id }: { what: 'call' | 'run' | 'goal'; id: string; run_id?: string }): string {
  if (what === 'run')
    return `${id} was told it and has not answered yet. Wait until ${id} has answered, or cancel ${id}`
  const wait = `Wait until ${id} is over, or cancel ${run_id}`
  return what === 'call'
    ? `the call ${id} of ${run_id} rests on it and is not over. ${wait}`
    : `${id} works by it and is not over. ${wait}`
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
    remedy: 'Do what the message names, then submit again.',
    says: (d: { session_id: string; problem: string }) => `${d.problem} Nothing was submitted.`,
  }),
  suspended_otherwise: conflict({
    meaning: 'This command does not lift the reason for which the session is suspended.',
    remedy: 'Use the command that the message names.',
    says: (d: { session_id: string; by: 'budget' | 'errors'; reason: string; tried: string }) =>
      `Session ${d.session_id} is suspended by its ${d.by} (${d.reason.replace(/\.$/, '')}), and ${d.tried} does not bring it back. To go on, ${wayBack(d)}.`,
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
    remedy: 'Name limits above what the session has used.',
    says: (d: { session_id: string; problem: string }) =>
      `That budget does not let ${d.session_id} go on: ${d.problem}. Limits count from the beginning of the session; name higher ones.`,
  }),
}
