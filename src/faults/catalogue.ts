import { defineFaults } from './fault.ts'
import { sessionFaults } from './session-faults.ts'
import { storeFaults } from './store-faults.ts'

/** Triggers that people cause are requests, such as `pause_requested`; people know them as commands. */
const asRequest = (trigger: string) => trigger.replace(/_requested$/, '')

/** Every way we say no to a request. Codes are public: add rows, never rename one. */
export const faults = defineFaults({
  transition_refused: {
    http: 409,
    retry: 'never',
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
  },
  stale_write: {
    http: 409,
    retry: 'never',
    says: (d: { subject_id: string; expected: number; actual: number }) =>
      `${d.subject_id} is at version ${d.actual}, not ${d.expected}; read it again before deciding.`,
  },
  stale_fence: {
    http: 409,
    retry: 'never',
    says: (d: { run_id: string; epoch: number; actual: number }) =>
      `Run ${d.run_id} is at epoch ${d.actual}, not ${d.epoch}; another worker holds it, so stop.`,
  },
  key_taken: {
    http: 409,
    retry: 'never',
    says: (d: { key: string; execution_id: string; session_id: string; state: string }) =>
      `The key ${d.key} belongs to ${d.execution_id} of ${d.session_id}, which is ${d.state}; a new attempt is accepted once that one has failed, been rejected or been cancelled.`,
  },
  subject_exists: {
    http: 409,
    retry: 'never',
    says: (d: { subject_id: string; machine: string; session_id: string }) =>
      `${d.subject_id} exists already, as a ${d.machine} of ${d.session_id}; choose another id.`,
  },
  log_sealed: {
    http: 409,
    retry: 'never',
    says: (d: { session_id: string; kind: string; accepted: readonly string[] }) =>
      `The log of ${d.session_id} is sealed and refuses ${d.kind}; it accepts ${d.accepted.join(', ')}.`,
  },
  rune_malformed: {
    http: 422,
    retry: 'never',
    says: (d: { kind: string; problem: string }) => `A rune of kind ${d.kind} was refused: ${d.problem}`,
  },
  not_redactable: {
    http: 409,
    retry: 'never',
    says: (d: { session_id: string; event_id: number; problem: string }) =>
      `Event ${d.event_id} of ${d.session_id} was not redacted: ${d.problem}`,
  },
  ...storeFaults,
  ...sessionFaults,
  stopped_waiting: {
    http: 503,
    retry: 'later',
    says: (_d: Readonly<Record<never, never>>) =>
      'This process closed before the run was over. The run is on record; ask for it after the next start.',
  },
  not_found: {
    http: 404,
    retry: 'never',
    says: (d: { what: string; id: string; known?: readonly string[] }) =>
      `There is no ${d.what} ${d.id}${d.known === undefined ? '' : `; there is ${d.known.join(', ')}`}.`,
  },
  id_ambiguous: {
    http: 409,
    retry: 'never',
    says: (d: { id: string; candidates: readonly string[] }) =>
      `${d.id} fits ${d.candidates.join(', ')}; give as much of it as fits only one.`,
  },
  bad_definition: {
    http: 400,
    retry: 'never',
    says: (d: { what: string; name: string; problem: string }) =>
      `The ${d.what} ${JSON.stringify(d.name)} cannot be defined: ${d.problem}`,
  },
  server_unusable: {
    http: 503,
    retry: 'later',
    says: (d: { server: string; problem: string }) => `The tool server ${d.server} cannot be used: ${d.problem}`,
  },
  bad_request: {
    http: 422,
    retry: 'never',
    says: (d: { operation: string; problems: readonly { in: string; pointer: string; problem: string }[] }) =>
      `${d.operation} was asked for with what does not fit: ${d.problems.map((p) => `${p.in}${p.pointer}: ${p.problem}`).join('; ')}`,
  },
  bad_usage: {
    http: 400,
    retry: 'never',
    says: (d: { problem: string; usage: string }) => `${d.problem}\nusage: ${d.usage}`,
  },
  agent_unfit: {
    http: 503,
    retry: 'later',
    says: (d: { agent: string; problem: string }) =>
      `The agent ${d.agent} could not be set up (${d.problem}); once that is mended, ask again.`,
  },
  agent_over: {
    http: 409,
    retry: 'never',
    says: (d: { agent_id: string; state: string }) =>
      `The agent ${d.agent_id} is ${d.state} and takes no more work; name no agent_id, or spawn a new one.`,
  },
  agent_busy: {
    http: 409,
    retry: 'later',
    says: (d: { agent_id: string; run_id: string }) =>
      `The agent ${d.agent_id} is in a turn of ${d.run_id}; kill it when that is over, or at once with force.`,
  },
  interaction_closed: {
    http: 409,
    retry: 'never',
    says: (d: { interaction_id: string; state: string; by: string; because?: string }) =>
      `Interaction ${d.interaction_id} is ${d.state} already, by ${d.by}; nothing was done with this reply.${d.because === undefined ? '' : ` ${d.because}`}`,
  },
  question_unclear: {
    http: 409,
    retry: 'never',
    says: (d: { run_id: string; open: readonly string[] }) =>
      d.open.length === 0
        ? `Run ${d.run_id} waits for no answer; nothing was done with this reply.`
        : `Run ${d.run_id} waits for ${d.open.length} answers; name one of ${d.open.join(', ')} as interaction_id.`,
  },
  reply_unfit: {
    http: 422,
    retry: 'never',
    says: (d: { interaction_id: string; problems: readonly { pointer: string; problem: string }[] }) =>
      `The reply does not fit ${d.interaction_id}: ${d.problems.map((p) => `${p.pointer || '/'}: ${p.problem}`).join('; ')}`,
  },
  key_reused: {
    http: 422,
    retry: 'never',
    says: (d: { idempotency_key: string; what: string }) =>
      `The idempotency key ${d.idempotency_key} was used for ${d.what} with another content; use a new key.`,
  },
  not_repeatable: {
    http: 409,
    retry: 'never',
    says: (d: { execution_id: string; status: string; irreversible: boolean }) =>
      `${d.execution_id} is ${d.status}${d.irreversible ? '' : ' and not irreversible'}; only an irreversible action that is completed needs leave to be done again.`,
  },
  budget_spent: {
    http: 409,
    retry: 'never',
    says: (d: { subject_id: string; tool_calls: number }) =>
      `${d.subject_id} has made the ${d.tool_calls} tool calls that its budget allows.`,
  },
  input_missing: {
    http: 422,
    retry: 'never',
    says: (d: { what: string }) =>
      `${d.what} needs an input; it was null, blank or missing. Pass a text or other JSON as input.`,
  },
  input_unfit: {
    http: 422,
    retry: 'never',
    says: (d: { what: string; problem: string }) =>
      `${d.what} was refused: ${d.problem} Pass plain JSON with well-formed text.`,
  },
  too_early: {
    http: 409,
    retry: 'later',
    says: (d: { execution_id: string; worker: string | null; earliest: number | null; accepted_from?: string }) => {
      if (d.accepted_from !== undefined)
        return `A stopped worker might still carry out ${d.execution_id}; "did not happen" is accepted from ${d.accepted_from} on.`
      if (d.worker === null)
        return `The tool of ${d.execution_id} has not returned; "did not happen" is accepted once it has. Look again then.`
      return `Worker ${d.worker} began ${d.execution_id} and has not reported its end, so the action may still happen. "Did not happen" is accepted once the worker reports, or once it is proved gone: its session lock in the database is free and its lease has ended. Let it go on, or end its process; then look again.`
    },
  },
  run_not_over: {
    http: 409,
    retry: 'later',
    says: (d: { run_id: string; status: string; because?: string }) =>
      `Run ${d.run_id} is ${d.status}; it has no result yet.${d.because === undefined ? '' : ` ${d.because}`}`,
  },
  goal_not_waiting: {
    http: 409,
    retry: 'never',
    says: (d: {
      goal_id: string
      state: string
      asked: string
      /** Open reviews and conditions, and the plan where it waits. */
      open: readonly string[]
      /** What was named, and is no task of the goal. */
      unknown_task?: string
      tasks?: readonly string[]
      /** How the questions of its runs are answered, such as `approve int_1`. */
      answers?: readonly string[]
    }) => {
      const { tasks = [], answers = [] } = d
      const asks = answers.length === 0 ? '' : ` A run of it asks a person: ${answers.join(', ')}.`
      const known = tasks.length === 0 ? 'it has no tasks yet' : `its tasks are ${tasks.join(', ')}`
      const named = d.unknown_task === undefined ? '' : `Goal ${d.goal_id} has no task "${d.unknown_task}"; ${known}. `
      if (d.open.length > 0)
        return `${named}Goal ${d.goal_id} is ${d.state}, and the request does not name what to ${d.asked}; name one of these as the task: ${d.open.join(', ')}.${asks}`
      if (asks !== '') return `${named}Goal ${d.goal_id} is ${d.state}, and no plan or review of it is open.${asks}`
      return `${named}Goal ${d.goal_id} is ${d.state}, and there is nothing to ${d.asked}: it asks no person.`
    },
  },
  coordination_not_over: {
    http: 409,
    retry: 'later',
    says: (d: { coordination_id: string; state: string }) =>
      `Coordination ${d.coordination_id} is ${d.state}; its outputs are frozen once it is DONE, BLOCKED or ABORTED.`,
  },
  coordination_not_waiting: {
    http: 409,
    retry: 'never',
    says: (d: { coordination_id: string; state: string; came_first?: string }) =>
      d.came_first === undefined
        ? `Coordination ${d.coordination_id} is ${d.state} and asks nothing; answers are accepted while it is AWAITING_ANSWERS.`
        : `Nothing was done with this answer to coordination ${d.coordination_id}: ${d.came_first}. It is ${d.state} now.`,
  },
  coordination_diverged: {
    http: 409,
    retry: 'never',
    says: (d: { coordination_id: string; problem: string }) =>
      `Coordination ${d.coordination_id} cannot be taken up: ${d.problem} Submit its intent anew.`,
  },
  registry_refused: {
    http: 422,
    retry: 'never',
    says: (d: { registry: string; problems: readonly { path?: string | undefined; message: string }[] }) =>
      `The registry ${d.registry} is refused as a whole: ${d.problems.map((p) => (p.path === undefined ? p.message : `${p.path}: ${p.message}`)).join('; ')}`,
  },
  cursor_ahead: {
    http: 409,
    retry: 'never',
    says: (d: { what: string; id: string; cursor: number; last: number }) =>
      `The ${d.what} ${d.id} has ${d.last} events and cannot go on after ${d.cursor}; this cursor is of another log, so begin without one.`,
  },
  too_many_streams: {
    http: 429,
    retry: 'later',
    says: (d: { limit: number }) => `${d.limit} streams are open, which is the limit; close some, or come back later.`,
  },
  too_many_requests: {
    http: 429,
    retry: 'later',
    says: (d: { token: string; limit: number }) =>
      `${d.limit} requests of the token ${d.token} wait already, which is the limit; send fewer at once.`,
  },
  not_plain_json: {
    http: 422,
    retry: 'never',
    says: (d: { what: string; problem: string }) =>
      `The ${d.what} cannot be given a checksum: ${d.problem} Send plain JSON with well-formed text.`,
  },
  no_route: {
    http: 404,
    retry: 'never',
    says: (d: { method: string; path: string }) =>
      `Nothing answers to ${d.method} ${d.path}; /api/openapi.json says what there is.`,
  },
  token_missing: {
    http: 401,
    retry: 'never',
    says: (d: { problem: string }) =>
      `${d.problem} Send "Authorization: Bearer TOKEN"; the first start of the server made one and printed it.`,
  },
  token_in_url: {
    http: 400,
    retry: 'never',
    says: (d: { parameter: string }) =>
      `A token stands in the address, as "${d.parameter}", where logs and histories keep it. Replace that token, and send the new one as "Authorization: Bearer TOKEN".`,
  },
  scope_missing: {
    http: 403,
    retry: 'never',
    says: (d: { operation: string; needs: string; has: string; token: string }) =>
      `${d.operation} needs a token for ${d.needs}; ${d.token} is one for ${d.has}.`,
  },
  host_refused: {
    http: 403,
    retry: 'never',
    says: (d: { host: string; accepted: readonly string[] }) =>
      `This server is not called ${JSON.stringify(d.host)}; it answers as ${d.accepted.join(', ')}. More names are given in the config as server.hosts.`,
  },
  origin_refused: {
    http: 403,
    retry: 'never',
    says: (d: { origin: string }) =>
      `A page of ${d.origin} may not ask this server for anything; its own pages may, and those in server.origins of the config.`,
  },
  not_json: {
    http: 415,
    retry: 'never',
    says: (d: { content_type: string }) =>
      `The request has the content type ${JSON.stringify(d.content_type)}; send application/json.`,
  },
  json_refused: {
    http: 400,
    retry: 'never',
    says: (d: { problem: string }) => `The body was not taken: ${d.problem}`,
  },
  body_too_large: {
    http: 413,
    retry: 'never',
    says: (d: { limit_bytes: number }) => `The body is larger than ${d.limit_bytes} bytes, which is the limit.`,
  },
  headers_too_large: {
    http: 431,
    retry: 'never',
    says: (d: { limit_bytes: number }) => `The headers are larger than ${d.limit_bytes} bytes, which is the limit.`,
  },
  request_too_slow: {
    http: 408,
    retry: 'later',
    says: (d: { limit_ms: number }) => `The request did not arrive within ${d.limit_ms} ms, which is the limit.`,
  },
  too_many_connections: {
    http: 503,
    retry: 'later',
    says: (d: { limit: number }) => `${d.limit} connections are open, which is the limit; come back in a moment.`,
  },
  http_refused: {
    http: 400,
    retry: 'never',
    says: (d: { problem: string }) => `The request is not HTTP as we understand it: ${d.problem}`,
  },
  key_unusable: {
    http: 400,
    retry: 'never',
    says: (d: { problem: string }) => `The Idempotency-Key cannot be used: ${d.problem}`,
  },
  request_recorded: {
    http: 409,
    retry: 'later',
    says: (d: { request_id: string }) => `${d.request_id} took effect already; send it again to get its answer.`,
  },
  request_under_way: {
    http: 409,
    retry: 'later',
    says: (d: { idempotency_key: string }) =>
      `The request with the key ${d.idempotency_key} is still being carried out; ask again for its answer.`,
  },
  bind_refused: {
    http: 400,
    retry: 'never',
    says: (d: { host: string }) =>
      `${d.host} can be reached from other machines, and without TLS the token can be read on the way. Give --tls-cert and --tls-key, or say --allow-plain-http if something in front of it does that.`,
  },
  address_unusable: {
    http: 503,
    retry: 'later',
    says: (d: { address: string; problem: string }) =>
      `The server cannot listen on ${d.address}: ${d.problem} Name another with --host and --port.`,
  },
  server_unreachable: {
    http: 503,
    retry: 'later',
    says: (d: { url: string; cause: string }) =>
      `The server at ${d.url} cannot be reached (${d.cause}). Whether it heard the request is unknown; a request with an idempotency key may be sent again.`,
  },
  unexpected: {
    http: 500,
    retry: 'later',
    says: (d: { outcome: 'unknown' }) =>
      `Something went wrong that nobody foresaw, and it was written down with the id of this request. Whether anything was changed is ${d.outcome}; read before you repeat.`,
  },
})
