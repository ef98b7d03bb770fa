/** The diagrams of the specifications, as they are drawn there. */
export const diagrams = {
  turn: `
    [*] --> idle
    idle --> streaming : start_turn(input)
    streaming --> tool_executing : tool_calls_received
    streaming --> completed : response_done(no_tool_calls)
    streaming --> interrupted : interrupt / steer
    streaming --> error : stream_error
    tool_executing --> streaming : tools_finished(continue)
    tool_executing --> completed : tools_finished(no_more_calls)
    tool_executing --> interrupted : interrupt
    tool_executing --> error : tool_crash(unrecoverable)
    interrupted --> idle : turn_finalized
    completed --> idle : turn_finalized
    error --> idle : turn_finalized`,
  tool: `
    [*] --> pending_call
    pending_call --> awaiting_approval : requires_approval
    pending_call --> executing : auto_approved / no_approval_needed
    awaiting_approval --> executing : approved
    awaiting_approval --> denied : denied
    awaiting_approval --> timeout_result : approval_timeout
    executing --> executing : progress_update
    executing --> completed_result : success
    executing --> error_result : execution_error
    executing --> timeout_result : execution_timeout
    executing --> cancelled_result : cancelled
    denied --> [*]
    completed_result --> [*]
    error_result --> [*]
    timeout_result --> [*]
    cancelled_result --> [*]`,
  session: `
    [*] --> created
    created --> active : first_message / agent_ready
    active --> active : new_turn / turn_completed
    active --> paused : pause_requested
    active --> suspended : budget_exhausted / error_threshold
    active --> closing : close_requested
    paused --> active : resume_requested
    paused --> closing : close_requested
    suspended --> active : budget_replenished / reset
    suspended --> closing : close_requested
    closing --> closed : cleanup_complete
    closed --> archived : archive_requested
    archived --> [*]`,
  agent: `
    [*] --> spawning
    spawning --> idle : init_complete
    spawning --> failed : init_error
    idle --> running_turn : turn_assigned
    idle --> terminated : kill / parent_closed
    running_turn --> idle : turn_completed
    running_turn --> idle : turn_interrupted
    running_turn --> idle : turn_error
    running_turn --> terminated : kill(force)
    idle --> terminated : budget_exhausted
    terminated --> [*]
    failed --> [*]`,
  goal: `
    [*] --> goal_received
    goal_received --> planning : decompose_goal
    planning --> executing : plan_approved / auto_start
    planning --> goal_received : plan_rejected(revise)
    planning --> stopped : user_cancel
    executing --> reviewing : all_tasks_terminal
    executing --> executing : task_completed(more_pending)
    executing --> blocked : all_runnable_blocked
    executing --> stopped : budget_exhausted / user_cancel
    reviewing --> executing : critique_found_issues(retry)
    reviewing --> goal_met : critique_passed
    reviewing --> planning : needs_replan
    blocked --> executing : dependency_resolved
    blocked --> stopped : unresolvable / user_cancel
    goal_met --> [*]
    stopped --> [*]`,
  coordination: `
    [*] --> RECEIVED
    RECEIVED --> PRECHECKED: Intent accepted
    PRECHECKED --> CONTEXT_BUILT: Validation passed
    PRECHECKED --> BLOCKED: Validation failed
    CONTEXT_BUILT --> RULES_EVALUATED: Context ready
    CONTEXT_BUILT --> BLOCKED: MemoryPack unavailable
    RULES_EVALUATED --> GRAPH_DRAFTED: Rules adjudicated
    RULES_EVALUATED --> ABORTED: Hard rule deny
    GRAPH_DRAFTED --> QUESTIONS_EMITTED: Uncertainties & policy allows
    GRAPH_DRAFTED --> GRAPH_FINALIZED: No questions needed
    GRAPH_DRAFTED --> BLOCKED: Graph invalid
    QUESTIONS_EMITTED --> AWAITING_ANSWERS: Questions emitted
    QUESTIONS_EMITTED --> BLOCKED: Budget exceeded
    AWAITING_ANSWERS --> GRAPH_FINALIZED: Answers received
    AWAITING_ANSWERS --> RULES_EVALUATED: Answer conflicts
    AWAITING_ANSWERS --> BLOCKED: Timeout / no fallback
    GRAPH_FINALIZED --> REVIEW_PACK_BUILT: Graph complete
    GRAPH_FINALIZED --> BLOCKED: Graph incomplete
    REVIEW_PACK_BUILT --> FROZEN_OUTPUTS: Review pack ready
    REVIEW_PACK_BUILT --> BLOCKED: Budget violated
    FROZEN_OUTPUTS --> DONE: All outputs frozen
    FROZEN_OUTPUTS --> BLOCKED: Checksum/lineage failed
    DONE --> [*]
    BLOCKED --> [*]
    ABORTED --> [*]`,
} as const

export interface Drawn {
  readonly arrows: number
  readonly initial: readonly string[]
  readonly terminal: readonly string[]
  /** `from → to on trigger`, with the guard in brackets where one is drawn. An arrow with two triggers is two of these. */
  readonly edges: readonly string[]
}

/** Reads a diagram. In prose a label is one trigger, whatever its sentence looks like. */
export function readDiagram(diagram: string, isProse: boolean): Drawn {
  const arrows = [...diagram.matchAll(/^\s*(\S+) --> ([^\s:]+)(?:\s*:\s*(.*))?$/gm)].map(([, from, to, label]) => ({
    from: from ?? '',
    to: to ?? '',
    label: label ?? '',
  }))
  const inner = arrows.filter(({ from, to }) => from !== '[*]' && to !== '[*]')
  return {
    arrows: inner.length,
    initial: arrows.filter(({ from }) => from === '[*]').map(({ to }) => to),
    terminal: arrows.filter(({ to }) => to === '[*]').map(({ from }) => from),
    edges: inner.flatMap(({ from, to, label }) =>
      (isProse ? [slug(label)] : label.split(' / ')).map((trigger) => `${from} → ${to} on ${trigger}`),
    ),
  }
}

/** `MemoryPack unavailable` is `memory_pack_unavailable`. */
function slug(label: string): string {
  const words = label.replaceAll(/([a-z])([A-Z])/g, '$1 $2').match(/[A-Za-z]+/g)
  return (words ?? []).join('_').toLowerCase()
}
