import { conflict, notNow, unavailable, unfit, wrong } from './fault.ts'

/** How agents, runs, questions, goals and plans refuse a request. A part of the catalogue. */
export const workFaults = {
  stopped_waiting: unavailable({
    meaning: 'The process closed while a client waited for a run.',
    remedy: 'Start the process again and ask for the run by its id.',
    says: (_d: Readonly<Record<never, never>>) =>
      'This process closed before the run was over. The run is on record; ask for it after the next start.',
  }),
  not_found: conflict({
    http: 404,
    meaning: 'There is nothing with this id.',
    remedy: 'Check the id, or list the subjects.',
    says: (d: { what: string; id: string; known?: readonly string[] }) =>
      `There is no ${d.what} ${d.id}.${d.known === undefined ? '' : ` Known: ${d.known.join(', ') || 'none'}.`}`,
  }),
  id_ambiguous: conflict({
    meaning: 'The beginning of an id fits several subjects.',
    remedy: 'Give more characters of the id.',
    says: (d: { id: string; candidates: readonly string[] }) =>
      `${d.id} fits ${d.candidates.join(', ')}. Give more characters.`,
  }),
  bad_definition: wrong({
    meaning: 'An agent, a tool or an option is declared in a way that cannot work.',
    remedy: 'Correct the field that the message names.',
    says: (d: { what: string; name: string; problem: string }) =>
      `The ${d.what} ${JSON.stringify(d.name)} cannot be defined: ${d.problem}`,
  }),
  package_missing: wrong({
    http: 503,
    meaning: 'An optional package that the feature needs is not installed, or another version of it is.',
    remedy: 'Install the package in the range that the message names, then start again.',
    says: (d: { package: string; install: string; use: string }) =>
      `${d.use} needs the package ${d.package}, which is not installed in a version that fits; run "npm install ${d.install}".`,
  }),
  server_unusable: unavailable({
    meaning: 'A tool server (MCP) cannot be started or reached, or it breaks its protocol.',
    remedy: 'Correct its command or address, or start the server.',
    says: (d: { server: string; problem: string }) => `The tool server ${d.server} cannot be used: ${d.problem}`,
  }),
  agent_unfit: unavailable({
    meaning: 'The agent could not be set up.',
    remedy: 'Fix the cause that the message names, then ask again.',
    says: (d: { agent: string; problem: string }) =>
      `The agent ${d.agent} could not be set up (${d.problem}). Fix that, then ask again.`,
  }),
  agent_over: conflict({
    meaning: 'The agent is terminated.',
    remedy: 'Name no agent, or spawn a new one.',
    says: (d: { agent_id: string; state: string }) =>
      `The agent ${d.agent_id} is ${d.state} and takes no more work; name no agent, or spawn a new one.`,
  }),
  agent_busy: notNow({
    meaning: 'The agent is in a turn.',
    remedy: 'Wait until the turn is over, or kill the agent with force.',
    says: (d: { agent_id: string; run_id: string }) =>
      `The agent ${d.agent_id} is in a turn of ${d.run_id}; kill it when that is over, or at once with force.`,
  }),
  interaction_closed: conflict({
    meaning: 'The question was answered, expired or withdrawn before this reply.',
    remedy: 'Read the interaction; the first reply counts.',
    says: (d: { interaction_id: string; state: string; by: string; because?: string }) =>
      `Interaction ${d.interaction_id} is ${d.state} already, by ${d.by}; nothing was done with this reply.${d.because === undefined ? '' : ` ${d.because}`}`,
  }),
  question_unclear: conflict({
    meaning: 'The run waits for no answer, or for several.',
    remedy: 'Name the interaction that the reply is for.',
    says: (d: { run_id: string; open: readonly string[] }) =>
      d.open.length === 0
        ? `Run ${d.run_id} waits for no answer; nothing was done with this reply.`
        : `Run ${d.run_id} waits for ${d.open.length} answers; name one of ${d.open.join(', ')} as interaction_id.`,
  }),
  reply_unfit: unfit({
    meaning: 'The reply does not have the shape that the question asks for.',
    remedy: 'Correct the fields that the message names.',
    says: (d: {
      interaction_id: string
      interaction_kind?: string
      problems: readonly { pointer: string; problem: string }[]
    }) =>
      `The reply does not fit ${d.interaction_id}${d.interaction_kind === undefined ? '' : `, a question of the kind ${d.interaction_kind}`}: ${d.problems.map((p) => `${p.pointer || '/'}: ${p.problem}`).join('; ')}`,
  }),
  key_reused: unfit({
    meaning: 'The idempotency key belongs to a request with another content.',
    remedy: 'Use a new key for a new request.',
    says: (d: { idempotency_key: string; what: string }) =>
      `The idempotency key ${d.idempotency_key} was used for ${d.what} with another content; use a new key.`,
  }),
  not_repeatable: conflict({
    meaning: 'Only a completed irreversible action can be allowed once more.',
    remedy:
      'Wait until the action is over, or settle it. If it did not happen, call the tool again: that needs no permission.',
    says: (d: { execution_id: string; status: string; is_over: boolean; irreversible: boolean }) =>
      `${d.execution_id} is ${d.status}${d.irreversible ? '' : ' and not irreversible'}; only a completed irreversible action needs permission to be done again. ${d.is_over ? 'Call the tool again without it.' : 'Wait until it is over, or settle it.'}`,
  }),
  budget_spent: conflict({
    meaning: 'The budget of tool calls is used up.',
    remedy: 'Raise the budget, or submit the rest as a new run.',
    says: (d: { subject_id: string; tool_calls: number }) =>
      `${d.subject_id} has made the ${d.tool_calls} tool calls that its budget allows. Raise the budget, or submit the rest as a new run.`,
  }),
  input_missing: unfit({
    meaning: 'The request needs an input and has none.',
    remedy: 'Pass a text or other JSON as input.',
    says: (d: { what: string }) =>
      `${d.what} needs an input; it was null, blank or missing. Pass a text or other JSON as input.`,
  }),
  input_unfit: unfit({
    meaning: 'The input cannot be recorded as JSON.',
    remedy: 'Pass plain JSON with well-formed text.',
    says: (d: { what: string; problem: string }) =>
      `${d.what} was refused: ${d.problem} Pass plain JSON with well-formed text.`,
  }),
  too_early: notNow({
    meaning: 'The worker that began an action may still carry it out.',
    remedy: 'Wait until the worker reports or is proved gone, then settle.',
    says: (d: { execution_id: string; worker: string | null; earliest: number | null; accepted_from?: string }) => {
      if (d.accepted_from !== undefined)
        return `A stopped worker might still carry out ${d.execution_id}; "did not happen" is accepted from ${d.accepted_from} on.`
      if (d.worker === null)
        return `The tool of ${d.execution_id} has not returned; "did not happen" is accepted once it has. Look again then.`
      return `Worker ${d.worker} began ${d.execution_id} and has not reported its end, so the action may still happen. "Did not happen" is accepted once the worker reports, or once it is proved gone: its session lock in the database is free and its lease has ended. Let it go on, or end its process; then look again.`
    },
  }),
  run_not_over: notNow({
    meaning: 'The run has no result yet.',
    remedy: 'Wait for the run, or answer its questions.',
    says: (d: { run_id: string; status: string; because?: string }) =>
      `Run ${d.run_id} is ${d.status}; it has no result yet.${d.because === undefined ? '' : ` ${d.because}`}`,
  }),
  goal_not_waiting: conflict({
    meaning: 'The goal does not wait for this answer.',
    remedy: 'Name one of the open reviews that the message lists.',
    says: (d: {
      goal_id: string
      state: string
      asked: string
      /** Open reviews and conditions, and the plan where it waits. */
      open: readonly string[]
      /** The name in the request, if the goal has no such task. */
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
      return `${named}Goal ${d.goal_id} is ${d.state}, and has no open question, so there is nothing to ${d.asked}.`
    },
  }),
  coordination_not_over: notNow({
    meaning: 'The plan is still being made.',
    remedy: 'Wait until the plan is DONE, BLOCKED or ABORTED.',
    says: (d: { coordination_id: string; state: string }) =>
      `Coordination ${d.coordination_id} is ${d.state}; its outputs are frozen once it is DONE, BLOCKED or ABORTED.`,
  }),
  coordination_not_waiting: conflict({
    meaning: 'The plan asks no question.',
    remedy: 'Read the plan; answer only while it is AWAITING_ANSWERS.',
    says: (d: { coordination_id: string; state: string; came_first?: string }) =>
      d.came_first === undefined
        ? `Coordination ${d.coordination_id} is ${d.state} and asks nothing; answers are accepted while it is AWAITING_ANSWERS.`
        : `Nothing was done with this answer to coordination ${d.coordination_id}: ${d.came_first}. It is ${d.state} now.`,
  }),
  coordination_diverged: conflict({
    meaning: 'The recorded plan does not follow from its input any more.',
    remedy: 'Submit the intent again.',
    says: (d: { coordination_id: string; problem: string }) =>
      `Coordination ${d.coordination_id} cannot be continued: ${d.problem} Submit its intent again.`,
  }),
  registry_refused: unfit({
    meaning: 'The registry has entries that do not fit.',
    remedy: 'Correct every problem that the message lists.',
    says: (d: { registry: string; problems: readonly { path?: string | undefined; message: string }[] }) =>
      `The registry ${d.registry} is refused as a whole: ${d.problems.map((p) => (p.path === undefined ? p.message : `${p.path}: ${p.message}`)).join('; ')}`,
  }),
}
