import { defineCouplings } from '../kernel/coupling.ts'
import type { TriggerOf } from '../kernel/machine.ts'
import type { machines } from './all.ts'

/** The moves of goals, tasks, and their agents and runs. No process holds a goal: each decides by its record. */
// biome-ignore format: tables are audited by eye, so their columns line up
export const goalFrames = {
  session_readied:      { by: 'command', moves: ['session.agent_ready'], meaning: 'A session begins to work without a message.' },
  goal_set:             { by: 'command', moves: ['+goal'], meaning: 'Someone sets a goal.' },
  goal_decomposed:      { by: 'command', moves: ['goal.decompose_goal'], meaning: 'Planning begins.' },
  goal_plan_asked:      { by: 'command', moves: ['+interaction'], meaning: 'A person is asked whether a judged plan shall start.' },
  goal_plan_approved:   { by: 'command', moves: ['goal.plan_approved'], meaning: 'A person lets the plan start.' },
  goal_auto_started:    { by: 'command', moves: ['goal.auto_start'], meaning: 'The plan starts by itself, as whoever set the goal said.' },
  goal_plan_rejected:   { by: 'command', moves: ['goal.plan_rejected'], meaning: 'A person rejects the plan.' },
  goal_reviewed:        { by: 'command', moves: ['goal.all_tasks_terminal'], meaning: 'Every task is over; the review begins.' },
  goal_blocked:         { by: 'command', moves: ['goal.all_runnable_blocked'], meaning: 'Whatever could run waits.' },
  goal_unblocked:       { by: 'command', moves: ['goal.dependency_resolved'], meaning: 'Something that was waited for has come.' },
  goal_retried:         { by: 'command', moves: ['goal.critique_found_issues'], meaning: 'Findings become tasks.' },
  goal_replanned:       { by: 'command', moves: ['goal.needs_replan'], meaning: 'Findings need another plan.' },
  goal_met:             { by: 'command', moves: ['goal.critique_passed'], meaning: 'The goal is met.' },
  goal_given_up:        { by: 'command', moves: ['goal.user_cancel'], meaning: 'A person gives the goal up.' },
  goal_spent:           { by: 'command', moves: ['goal.budget_exhausted'], meaning: 'The goal has used up what it may spend.' },
  goal_unresolvable:    { by: 'command', moves: ['goal.unresolvable'], meaning: 'The goal cannot go on: what it needs will not come.' },

  task_planned:         { by: 'command', moves: ['+task'], meaning: 'A task of a plan that starts, or a follow-up.' },
  task_assigned:        { by: 'command', moves: ['task.assign', '+agent', 'agent.init_complete', '+run'], meaning: 'A task gets an agent of its own, and its run with it.' },
  task_unassignable:    { by: 'command', moves: ['task.assign', '+agent', 'agent.init_error', 'task.begin', 'task.fail'], meaning: 'The agent for a task could not be set up.' },
  task_resumed:         { by: 'command', moves: ['task.unblock', '+agent', 'agent.init_complete', '+run'], meaning: 'An outcome that nobody knew is settled; a new run goes on with the task.' },
  task_begun:           { by: 'command', moves: ['task.begin'], meaning: 'The agent works on it.' },
  task_completed:       { by: 'command', moves: ['task.complete'], meaning: 'Its run succeeded.' },
  task_failed:          { by: 'command', moves: ['task.fail'], meaning: 'Its run failed, or its review was refused.' },
  task_blocked:         { by: 'command', moves: ['task.block'], meaning: 'Its run waits for a person, or ended over an outcome that nobody knows.' },
  task_unblocked:       { by: 'command', moves: ['task.unblock'], meaning: 'Its run goes on.' },
  task_skipped:         { by: 'command', moves: ['task.skip'], meaning: 'Its condition does not hold, something it depends on did not complete, or it is not needed.' },
  task_cancelled:       { by: 'command', moves: ['task.cancel'], meaning: 'It is withdrawn with its goal.' },
  condition_asked:      { by: 'command', moves: ['+interaction'], meaning: 'A person is asked whether the condition of a task holds.' },
  review_asked:         { by: 'command', moves: ['task.assign', 'task.begin', 'task.block', '+interaction'], meaning: 'A review of the plan is put to a person.' },
  review_passed:        { by: 'command', moves: ['task.unblock', 'task.complete'], meaning: 'A person passes the review.' },
} as const

/** The rows of a coordination. Each move is an append of its own, with the question or alert that it calls for. */
// biome-ignore format: tables are audited by eye, so their columns line up
export const planFrames = {
  plan_received_alone:    { by: 'command', moves: ['+session', '+coordination'], meaning: 'An intent is taken in; a plan that stands alone has a session of its own.' },
  plan_received:          { by: 'command', moves: ['+coordination'], meaning: 'An intent is taken in by a session that exists.' },

  plan_accepted:          { by: 'command', moves: ['coordination.intent_accepted'], meaning: 'The intent goes on to its checks.' },
  plan_checked:           { by: 'command', moves: ['coordination.validation_passed'], meaning: 'The intent is sound.' },
  plan_unsound:           { by: 'command', moves: ['coordination.validation_failed'], meaning: 'The intent is not sound.' },
  plan_over_red_line:     { by: 'command', moves: ['coordination.red_line_crossed', '+interaction'], meaning: 'The intent carries what could be executed; a person is told.' },
  plan_in_context:        { by: 'command', moves: ['coordination.context_ready'], meaning: 'Memory, facts and policy are there.' },
  plan_without_memory:    { by: 'command', moves: ['coordination.memory_pack_unavailable'], meaning: 'Memory, facts or policy are missing.' },
  plan_judged:            { by: 'command', moves: ['coordination.rules_adjudicated'], meaning: 'Every command has its verdict.' },
  plan_denied:            { by: 'command', moves: ['coordination.hard_rule_deny', '+interaction'], meaning: 'A rule forbids it outright; a person is told.' },
  plan_undecidable:       { by: 'command', moves: ['coordination.rules_undecidable'], meaning: 'The rules do not decide.' },
  plan_unclear:           { by: 'command', moves: ['coordination.uncertainties_policy_allows'], meaning: 'Something is uncertain, and may be asked.' },
  plan_clear:             { by: 'command', moves: ['coordination.no_questions_needed'], meaning: 'There is nothing to ask.' },
  plan_graph_invalid:     { by: 'command', moves: ['coordination.graph_invalid'], meaning: 'The graph cannot be a plan.' },
  plan_asked:             { by: 'command', moves: ['coordination.questions_emitted', '+interaction'], meaning: 'The questions are put to a person.' },
  plan_asks_too_much:     { by: 'command', moves: ['coordination.budget_exceeded'], meaning: 'More must be asked than may be.' },
  plan_answered:          { by: 'command', moves: ['coordination.answers_received'], meaning: 'The answers stand.' },
  plan_contradicted:      { by: 'command', moves: ['coordination.answer_conflicts'], meaning: 'The answers do not go with the rules; they are judged anew.' },
  plan_unanswered:        { by: 'command', moves: ['coordination.timeout_no_fallback'], meaning: 'There is no answer that could stand.' },
  plan_complete:          { by: 'command', moves: ['coordination.graph_complete'], meaning: 'The graph is complete.' },
  plan_incomplete:        { by: 'command', moves: ['coordination.graph_incomplete'], meaning: 'The graph is not complete.' },
  plan_written_up:        { by: 'command', moves: ['coordination.review_pack_ready'], meaning: 'The plan is written up for review.' },
  plan_over_budget:       { by: 'command', moves: ['coordination.budget_violated'], meaning: 'The plan costs more than it may.' },
  plan_frozen:            { by: 'command', moves: ['coordination.all_outputs_frozen'], meaning: 'The plan is frozen.' },
  plan_untraceable:       { by: 'command', moves: ['coordination.checksum_lineage_failed'], meaning: 'An output cannot be traced to what it came from.' },
  plan_malformed:         { by: 'command', moves: ['coordination.schema_violated', '+interaction'], meaning: 'An output violates its schema; a person is told.' },
} as const

type Named<M> = M extends { readonly name: infer N extends string } ? `+${N}` | `${N}.${TriggerOf<M>}` : never

/** Every opening and every move of every machine, by name. */
export type MoveName = Named<(typeof machines)[number]>

const ends = ['canceled', 'failed_in_tools', 'unrecoverable_in_tools', 'agent_crashed_in_tools', 'agent_spent'] as const

/** All couplings of the machines. An append with other rows is refused. */
export const couplings = defineCouplings<MoveName>()({
  // biome-ignore format: tables are audited by eye, so their columns line up
  frames: {
    session_created:        { by: 'command', moves: ['+session', '+agent', 'agent.init_complete'], meaning: 'A session begins with its root agent ready.' },
    agent_spawned:          { by: 'either',  moves: ['+agent', 'agent.init_complete'], meaning: 'Another agent joins the session.' },
    agent_unfit:            { by: 'either',  moves: ['+agent', 'agent.init_error'], meaning: 'An agent could not be set up.' },
    first_message:          { by: 'command', moves: ['session.first_message', '+run'], meaning: 'The first message activates the session and queues a run.' },
    message:                { by: 'either',  moves: ['+run'], meaning: 'A message queues a run.' },

    taken:                  { by: 'holder',  moves: ['run.turn.started', 'turn.start_turn'], meaning: 'A worker takes the run and opens a turn.' },
    retaken:                { by: 'holder',  moves: ['run.turn.started'], meaning: 'A worker takes a run whose turn is still executing tools.' },
    calls_received:         { by: 'holder',  moves: ['turn.tool_calls_received'], needs: ['called', 'asked', 'duplicate_refused'], meaning: 'The model calls tools or hands a step to a person.' },
    parked:                 { by: 'holder',  moves: ['run.turn.needs_input'], meaning: 'What needs no answer is done; the rest waits for a person, and no worker is held.' },
    replied:                { by: 'command', moves: ['run.interaction.reply.accepted'], needs: ['answered'], meaning: 'An answer queues the waiting run.' },
    lapsed:                 { by: 'command', moves: ['run.interaction.auto_decide.timeout'], needs: ['expired'], meaning: 'A deadline decides and queues the waiting run.' },
    requested:              { by: 'command', moves: ['run.request'], meaning: 'Something is asked of whoever holds the run, or takes it next.' },
    continued:              { by: 'holder',  moves: ['turn.tools_finished'], meaning: 'Every call has its result; the model goes on.' },

    succeeded:              { by: 'holder',  moves: ['turn.response_done', 'run.turn.succeeded'], meaning: 'The model has nothing more to call.' },
    succeeded_by_tools:     { by: 'holder',  moves: ['turn.tools_finished', 'run.turn.succeeded'], meaning: 'The last call ended the run.' },
    steered:                { by: 'holder',  moves: ['turn.steer', 'turn.start_turn'], meaning: 'New input interrupts the stream and opens the next turn.' },
    retried:                { by: 'holder',  moves: ['turn.stream_error', 'turn.start_turn'], meaning: 'The stream broke; a new turn tries again.' },
    set_back:               { by: 'holder',  moves: ['turn.stream_error', 'run.restart.requeued'], meaning: 'The stream broke and the session takes no new turn; the run waits in the queue.' },
    failed_in_stream:       { by: 'holder',  moves: ['turn.stream_error', 'run.turn.failed'], meaning: 'The stream broke and no retry is left.' },
    failed_in_tools:        { by: 'holder',  moves: ['turn.tool_crash', 'run.turn.failed'], meaning: 'A call ended in a way the run cannot survive.' },
    canceled:               { by: 'either',  moves: ['turn.interrupt', 'run.run.canceled'], meaning: 'The run is stopped by request, and its turn with it.' },
    canceled_at_rest:       { by: 'command', moves: ['run.run.canceled'], meaning: 'A run without a turn is stopped by request.' },
    released:               { by: 'holder',  moves: ['turn.interrupt', 'run.restart.requeued'], meaning: 'The holder lets go at a safe boundary, because the session may not go on.' },

    lost_in_stream:         { by: 'command', moves: ['run.restart.requeued', 'turn.stream_error'], meaning: 'The worker died while the model was answering.' },
    lost:                   { by: 'command', moves: ['run.restart.requeued'], meaning: 'The worker died while tools were executing; the turn stays and continues.' },
    unrecoverable:          { by: 'command', moves: ['run.restart.reconcile_failed'], meaning: 'A run without a turn cannot be continued.' },
    unrecoverable_in_stream:{ by: 'command', moves: ['turn.stream_error', 'run.restart.reconcile_failed'], meaning: 'A run whose model was answering cannot be continued.' },
    unrecoverable_in_tools: { by: 'command', moves: ['turn.tool_crash', 'run.restart.reconcile_failed'], meaning: 'A run whose tools were executing cannot be continued.' },
    kept_waiting:           { by: 'command', moves: ['run.restart.preserve_waiting'], meaning: 'After a cold start the run still waits, and can.' },

    agent_spent:            { by: 'holder',  moves: ['turn.interrupt', 'agent.budget_exhausted', 'run.turn.failed'], meaning: 'The agent used up its budget.' },
    agent_crashed_in_stream:{ by: 'holder',  moves: ['agent.crash', 'turn.stream_error', 'run.turn.failed'], meaning: 'The agent broke while its model was answering.' },
    agent_crashed_in_tools: { by: 'holder',  moves: ['agent.crash', 'turn.tool_crash', 'run.turn.failed'], meaning: 'The agent broke while its tools were executing.' },
    agent_dismissed:        { by: 'either',  moves: ['agent.parent_closed'], meaning: 'The agent ends with its session or its parent.' },
    agent_killed:           { by: 'either',  moves: ['agent.kill'], meaning: 'An agent is stopped by request, in a turn only by force.' },
    agent_exhausted:        { by: 'either',  moves: ['agent.budget_exhausted'], meaning: 'An idle agent has no budget left.' },

    paused:                 { by: 'command', moves: ['session.pause_requested'], meaning: 'The session is paused.' },
    resumed:                { by: 'command', moves: ['session.resume_requested'], meaning: 'The session goes on.' },
    spent:                  { by: 'either',  moves: ['session.budget_exhausted'], meaning: 'The session used up its budget.' },
    troubled:               { by: 'either',  moves: ['session.error_threshold'], meaning: 'Too many turn errors in a row.' },
    replenished:            { by: 'command', moves: ['session.budget_replenished'], meaning: 'Someone gave the session more to spend.' },
    reset:                  { by: 'command', moves: ['session.reset'], meaning: 'Someone looked and let the session go on.' },
    closing:                { by: 'command', moves: ['session.close_requested'], meaning: 'The session is being closed.' },
    closed:                 { by: 'command', moves: ['session.cleanup_complete'], meaning: 'Runs and agents are over; the runelog is sealed.' },
    archived:               { by: 'command', moves: ['session.archive_requested'], meaning: 'The runelog goes to cold storage.' },

    outside_answered:       { by: 'command', moves: ['interaction.answer'], meaning: 'Someone answered what no call asked: a pack of questions, a notice, a review.' },
    outside_expired:        { by: 'command', moves: ['interaction.expire'], meaning: 'The deadline of what no call asked passed.' },
    outside_withdrawn:      { by: 'command', moves: ['interaction.withdraw'], meaning: 'What no call asked is moot.' },

    ...planFrames,
    ...goalFrames,
  },

  // biome-ignore format: as above
  threads: {
    called:               { by: 'holder',  moves: ['+tool', '+contract'], within: ['calls_received'], meaning: 'The call and its contract are recorded; nothing has begun.' },
    asked:                { by: 'holder',  moves: ['+contract'], within: ['calls_received'], meaning: 'A step for a person is recorded.' },
    duplicate_refused:    { by: 'holder',  moves: ['+tool', 'tool.requires_approval', 'tool.denied'], within: ['calls_received'], meaning: 'The key of an irreversible action is taken; no second contract is opened.' },

    started:              { by: 'holder',  moves: ['tool.no_approval_needed', 'contract.start'], effect: 'after', meaning: 'It needs no approval and begins.' },
    started_by_policy:    { by: 'holder',  moves: ['tool.auto_approved', 'contract.start'], effect: 'after', meaning: 'Policy approves it and it begins.' },
    progressed:           { by: 'holder',  moves: ['tool.progress_update'], meaning: 'It says how far it is.' },
    succeeded:            { by: 'holder',  moves: ['tool.success', 'contract.succeed'], effect: 'before', meaning: 'It happened.' },
    failed:               { by: 'holder',  moves: ['tool.execution_error', 'contract.fail'], meaning: 'It was tried and did not happen.' },
    timed_out:            { by: 'holder',  moves: ['tool.execution_timeout', 'contract.fail'], effect: 'before', meaning: 'It took too long, and may safely be taken as not done.' },

    input_asked:          { by: 'holder',  moves: ['+interaction'], meaning: 'It asks a person in the middle of its work.' },
    input_withdrawn:      { by: 'either',  moves: ['interaction.withdraw'], meaning: 'What it asked in the middle of its work is moot, because its call ends.' },

    approval_asked:       { by: 'holder',  moves: ['tool.requires_approval', 'contract.start', 'contract.suspend', '+interaction'], within: ['parked'], meaning: 'A person has to approve it.' },
    step_asked:           { by: 'holder',  moves: ['contract.start', 'contract.suspend', '+interaction'], within: ['parked'], meaning: 'A person has to take the step.' },
    answered:             { by: 'command', moves: ['interaction.answer'], meaning: 'Someone answered.' },
    expired:              { by: 'command', moves: ['interaction.expire'], meaning: 'The deadline passed.' },
    approved:             { by: 'holder',  moves: ['tool.approved', 'contract.resume'], effect: 'after', meaning: 'The digest still fits the approval; it begins.' },
    denied:               { by: 'holder',  moves: ['tool.denied', 'contract.resume', 'contract.reject'], meaning: 'A person refused it.' },
    approval_lapsed:      { by: 'holder',  moves: ['tool.approval_timeout', 'contract.timeout'], meaning: 'Nobody approved it in time.' },
    step_taken:           { by: 'holder',  moves: ['contract.resume', 'contract.succeed'], meaning: 'The answer is the result.' },
    step_refused:         { by: 'holder',  moves: ['contract.resume', 'contract.reject'], meaning: 'The person refused the step.' },
    step_lapsed:          { by: 'holder',  moves: ['contract.timeout'], meaning: 'Nobody took the step in time.' },

    denied_by_policy:     { by: 'holder',  moves: ['tool.requires_approval', 'tool.denied', 'contract.start', 'contract.reject'], meaning: 'Policy refuses it and nobody may be asked.' },
    step_defaulted:       { by: 'holder',  moves: ['contract.start', 'contract.succeed'], meaning: 'Nobody may be asked, and the defaults are complete.' },
    step_declined:        { by: 'holder',  moves: ['contract.start', 'contract.reject'], meaning: 'Nobody may be asked, and the defaults are not complete.' },

    unknown_asked:        { by: 'holder',  moves: ['contract.suspend', '+interaction'], within: ['parked'], meaning: 'Nobody can know whether it happened; a person is asked, and the run waits.' },
    unknown_left:         { by: 'either',  moves: ['tool.outcome_unknown', 'contract.suspend', '+interaction'], within: ends, meaning: 'Nobody can know whether it happened; the run ends and the question outlives it.' },
    unknown_left_again:   { by: 'either',  moves: ['tool.outcome_unknown', '+interaction'], within: ends, meaning: 'The person left it open: the run ends, and the question is put again, for anyone and without hurry.' },
    unknown_outlived:     { by: 'either',  moves: ['tool.outcome_unknown'], within: ends, meaning: 'The run ends while the question is still open; the question outlives it.' },
    settled_happened:     { by: 'either',  moves: ['tool.success', 'contract.resume', 'contract.succeed'], meaning: 'A person knows that it happened.' },
    settled_did_not:      { by: 'either',  moves: ['tool.execution_error', 'contract.resume', 'contract.fail'], meaning: 'A person knows that it did not happen.' },
    settled_happened_late:{ by: 'command', moves: ['interaction.answer', 'contract.resume', 'contract.succeed'], meaning: 'After the run is over, a person knows that it happened.' },
    settled_did_not_late: { by: 'command', moves: ['interaction.answer', 'contract.resume', 'contract.fail'], meaning: 'After the run is over, a person knows that it did not happen.' },

    cancelled_unbegun:    { by: 'either',  moves: ['tool.cancelled', 'contract.start', 'contract.cancel'], within: ends, meaning: 'It is withdrawn before it began.' },
    cancelled_waiting:    { by: 'either',  moves: ['tool.cancelled', 'contract.cancel', 'interaction.withdraw'], within: ends, meaning: 'It is withdrawn while it waits for approval.' },
    cancelled_running:    { by: 'either',  moves: ['tool.cancelled', 'contract.cancel'], within: ends, meaning: 'It is stopped; what it did can be repeated or undone.' },
    step_cancelled_unbegun:{ by: 'either', moves: ['contract.start', 'contract.cancel'], within: ends, meaning: 'The step is withdrawn before anyone was asked.' },
    step_cancelled:       { by: 'either',  moves: ['contract.cancel', 'interaction.withdraw'], within: ends, meaning: 'The step is withdrawn while it waits.' },
    step_cancelled_answered:{ by: 'either', moves: ['contract.cancel'], within: ends, meaning: 'The step is withdrawn after its answer came and before it was used.' },
  },
})
