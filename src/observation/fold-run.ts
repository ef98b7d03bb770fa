import type { Json } from '../kernel/json.ts'
import { isTerminal } from '../kernel/machine.ts'
import { type ContractStatus, contractMachine } from '../machines/contract.ts'
import type { InteractionState } from '../machines/interaction.ts'
import { type RunStatus, runMachine } from '../machines/run.ts'
import { type ToolState, toolMachine } from '../machines/tool.ts'
import type { TurnState } from '../machines/turn.ts'
import type { Concerns, Rune } from '../runes/rune.ts'
import { positionOf } from './graph-state.ts'
import type { AgentView, BudgetSpent, CallView, RunView, SessionState, TurnView, Used } from './session-state.ts'

/** Folds runs and turns. */
export function foldRun(state: SessionState, rune: Rune) {
  const run = rune.run_id === undefined ? undefined : state.runs.get(rune.run_id)
  switch (rune.kind) {
    case 'run.submitted':
      return submitted(state, rune)
    case 'run.moved':
      return run && moved(state, run, rune)
    case 'run.requested':
      return run && requested(run, rune)
    case 'turn.started':
      return started(state, rune, run)
    case 'turn.tool_calls_received': {
      const turn = state.turns.get(rune.turn_id ?? '')
      if (turn === undefined || run === undefined) return
      turn.state = rune.to as TurnState
      turn.round = rune.payload.round
      turn.call_ids = rune.payload.call_ids
      return progressed(state, run)
    }
    case 'turn.tools_finished': {
      const turn = state.turns.get(rune.turn_id ?? '')
      if (turn === undefined) return
      turn.state = rune.to as TurnState
      return forgetCalls(state, turn)
    }
    case 'turn.completed':
      if (run !== undefined) progressed(state, run)
      return ended(state, rune, run)
    case 'turn.interrupted':
      return ended(state, rune, run)
    case 'turn.error':
      // A lost worker is no sign of a problem of the agent or its model.
      if (rune.actor !== 'recovery') {
        state.turn_errors_in_a_row += 1
        if (run !== undefined) run.tries += 1
      }
      return ended(state, rune, run)
    case 'tool.result':
    case 'interaction.answered':
      if (run !== undefined && !isTerminal(runMachine, run.status)) run.requeues_without_progress = 0
  }
}

function submitted(state: SessionState, rune: Rune<'run.submitted'>) {
  const { run_id = '', agent_id = '', payload, event_id, visibility, at } = rune
  const { interactive_require_user_reply: strict, parent_run_id = null, allowed_tools = null, ...asked } = payload
  const run: RunView = {
    run_id,
    agent_id,
    ...asked,
    strict,
    used: nothingUsed(),
    clock_at: at,
    parent_run_id,
    allowed_tools,
    submitted_event_id: event_id,
    visibility,
    status: 'queued',
    since: at,
    attempt: 0,
    epoch: 0,
    turn_id: null,
    has_begun: false,
    cancel: null,
    cancel_reason: '',
    steers: [],
    is_input_erased: rune.redacted === true,
    requeues_without_progress: 0,
    tries: 0,
    result: null,
    error_code: null,
    budget_of: null,
    budget_spent: null,
    message: null,
  }
  const worker = state.agents.get(agent_id)
  if (worker !== undefined && run.parent_call_id !== null) worker.parent_call_id = run.parent_call_id
  state.runs.set(run_id, run)
  state.openRuns.set(run_id, run)
}

function moved(state: SessionState, run: RunView, { at, to, trigger, payload, actor }: Rune<'run.moved'>) {
  run.status = to as RunStatus
  run.since = at
  if (isTerminal(runMachine, run.status)) state.openRuns.delete(run.run_id)
  if (payload.epoch !== undefined) run.epoch = payload.epoch
  if (payload.attempt !== undefined) run.attempt = payload.attempt
  if (payload.result !== undefined) run.result = payload.result
  if (payload.error_code !== undefined) run.error_code = payload.error_code
  if (payload.budget_of !== undefined) run.budget_of = payload.budget_of
  if (payload.budget_spent !== undefined) run.budget_spent = payload.budget_spent
  // Only the message of the last move counts.
  run.message = payload.message ?? null
  // A holder that releases its run puts nothing at risk; only a lost holder counts.
  if (trigger === 'restart.requeued' && actor === 'recovery' && !onlyWaits(state, run))
    run.requeues_without_progress += 1
}

/** All its calls under way are tasks of other runs, which have their own limit and may wait for a person for days. */
function onlyWaits(state: SessionState, { run_id }: RunView): boolean {
  const underWay = positionOf(state, run_id).pending.filter(({ contract }) => contract === 'running')
  const handedOn = new Set<string | null>()
  for (const { parent_call_id } of state.openRuns.values()) handedOn.add(parent_call_id)
  return underWay.length > 0 && underWay.every(({ call_id }) => handedOn.has(call_id))
}

function requested(run: RunView, { payload, redacted }: Rune<'run.requested'>) {
  if (payload.request === 'steer') {
    run.steers.push(payload.input ?? null)
    run.is_input_erased ||= redacted === true
  } else {
    // A cancel outranks an interrupt: it does not wait for effects under way.
    if (run.cancel !== 'cancel') run.cancel = payload.request
    run.cancel_reason = payload.reason
  }
}

function started(state: SessionState, rune: Rune<'turn.started'>, run: RunView | undefined) {
  const { turn_id, agent_id } = rune.payload
  state.turns.set(turn_id, {
    turn_id,
    agent_id,
    run_id: rune.run_id ?? '',
    state: rune.to as TurnState,
    started_at: rune.at,
    round: 0,
    call_ids: [],
  })
  const agent = state.agents.get(agent_id)
  if (agent !== undefined) agent.turn_id = turn_id
  if (run === undefined) return
  // The oldest steer is the input of this turn.
  if (run.has_begun && rune.payload.input !== null) run.steers.shift()
  run.turn_id = turn_id
  run.has_begun = true
  run.is_input_erased ||= rune.redacted === true && rune.payload.input !== null
}

function ended(state: SessionState, rune: Rune, run: RunView | undefined) {
  const turn = state.turns.get(rune.turn_id ?? '')
  if (turn === undefined) return
  forgetCalls(state, turn)
  state.turns.delete(turn.turn_id)
  state.subjects.delete(turn.turn_id)
  const agent = state.agents.get(turn.agent_id)
  if (agent?.turn_id === turn.turn_id) agent.turn_id = null
  if (run?.turn_id === turn.turn_id) run.turn_id = null
}

/** Drops the calls of a turn. A call with an unknown outcome stays until it is settled. */
function forgetCalls(state: SessionState, turn: TurnView) {
  for (const call_id of turn.call_ids) {
    const call = state.calls.get(call_id)
    if (call !== undefined && call.contract !== 'waiting') forgetCall(state, call)
  }
  turn.call_ids = []
}

function progressed(state: SessionState, run: RunView) {
  run.requeues_without_progress = 0
  run.tries = 0
  run.is_input_erased = false
  state.turn_errors_in_a_row = 0
}

/** The usage of a subject that has not begun. */
export function nothingUsed(): Used {
  return { tokens: 0, tool_calls: 0, wall_time_ms: 0 }
}

/** Adds the usage in a rune, also to the parents. Call it before the rune moves its run. */
export function foldSpending(state: SessionState, rune: Rune) {
  const run = rune.run_id === undefined ? undefined : state.runs.get(rune.run_id)
  if (run !== undefined && !isTerminal(runMachine, run.status)) spendTime(state, rune, run)
  switch (rune.kind) {
    case 'tool.call':
      return spend(state, rune, run, { tokens: 0, tool_calls: 1 })
    case 'turn.tool_calls_received':
    case 'turn.completed':
    case 'turn.interrupted':
    case 'turn.error': {
      const { usage } = rune.payload
      const tokens = usage === undefined ? 0 : usage.input_tokens + usage.output_tokens
      const cost_usd = usage?.cost_usd ?? 0
      if (tokens > 0 || cost_usd > 0) spend(state, rune, run, { tokens, tool_calls: 0, cost_usd })
    }
  }
}

/** Each run has a clock, which its sub-agents drive too. It stops while the run waits or has no process. */
function spendTime(state: SessionState, rune: Rune, run: RunView) {
  const is_worked_on = run.status === 'running' && rune.actor !== 'recovery'
  for (let at: RunView | undefined = run; at !== undefined; at = parentRun(state, at)) {
    const ms = rune.at - at.clock_at
    at.clock_at = rune.at
    if (!is_worked_on || at.status !== 'running' || ms <= 0) continue
    at.used.wall_time_ms += ms
    const agent = state.agents.get(at.agent_id)
    if (agent !== undefined) agent.used.wall_time_ms += ms
    if (at.parent_call_id === null) state.used.wall_time_ms += ms
  }
}

function spend(state: SessionState, rune: Rune, run: RunView | undefined, amount: Omit<Used, 'wall_time_ms'>) {
  const add = (used: Used) => {
    used.tokens += amount.tokens
    used.tool_calls += amount.tool_calls
    if (amount.cost_usd) used.cost_usd = (used.cost_usd ?? 0) + amount.cost_usd
  }
  add(state.used)
  let agent: AgentView | undefined = state.agents.get(rune.agent_id ?? '')
  for (; agent !== undefined; agent = state.agents.get(agent.parent_id ?? '')) add(agent.used)
  for (let at = run; at !== undefined; at = parentRun(state, at)) add(at.used)
}

/** The run that delegated its task to this one. */
export function parentRun(state: SessionState, { parent_call_id }: RunView): RunView | undefined {
  return parent_call_id === null ? undefined : state.runs.get(state.calls.get(parent_call_id)?.run_id ?? '')
}

/** The sentence for a used-up budget of an agent, a run, a session or a goal. */
export function saySpent(whose: string, { limit, used, allowed, needed = 0 }: BudgetSpent): string {
  const what = {
    tokens: `${used} of ${allowed} tokens`,
    tool_calls: `${used} of ${allowed} tool calls are made, and the next step needs ${needed} more`,
    cost_usd: `${used} of ${allowed} US dollars`,
    wall_time_ms: `${used} of ${allowed} ms`,
  }
  return `${whose} has used up its budget: ${what[limit]}.`
}

/** Folds calls with their contracts and interactions. */
export function foldCall(state: SessionState, rune: Rune) {
  foldRuneOfCall(state, rune)
  const call = rune.visibility === 'secret' ? state.calls.get(rune.call_id ?? '') : undefined
  if (call !== undefined && rune.execution_id !== undefined) call.is_secret = true
}

function foldRuneOfCall(state: SessionState, rune: Rune) {
  switch (rune.kind) {
    case 'tool.call': {
      const { call_id, tool_name: name, arguments: given, definition_sha256 } = rune.payload
      const made = { name, arguments: given, definition_sha256, is_erased: rune.redacted === true }
      state.calls.set(call_id, { ...blankCall(rune, call_id, 'tool_call'), ...made, tool: toolMachine.initial })
      return
    }
    case 'contract.opened':
      return contractOpened(state, rune)
    case 'contract.repeat_allowed':
      state.repeats.set(rune.payload.idempotency_key, rune.payload.salted_key)
      return
    case 'contract.evidence_added':
      state.calls.get(rune.call_id ?? '')?.evidence.push(rune.payload)
      return
    case 'contract.moved': {
      const call = state.calls.get(rune.call_id ?? '')
      if (call === undefined) return
      call.contract = rune.to as ContractStatus
      call.reason = rune.to === 'waiting' ? (rune.payload.reason ?? null) : null
      call.decided_by = rune.payload.decided_by ?? call.decided_by
      if (rune.to === 'running') call.started_at = rune.at
      // It was settled after its turn was over, so no run waits for it.
      if (!state.turns.has(call.turn_id) && isTerminal(contractMachine, call.contract)) forgetCall(state, call)
      return
    }
    case 'interaction.opened': {
      const { interaction_id = '', run_id = null, call_id = null, coordination_id = null } = rune
      const { goal_id = null, task_id = null, at: opened_at, payload: opened } = rune
      const about = { interaction_id, run_id, call_id, coordination_id, goal_id, task_id }
      state.interactions.set(interaction_id, { ...about, opened_at, opened, state: 'open', answered: null })
      const call = state.calls.get(rune.call_id ?? '')
      if (call !== undefined) call.interaction_id = interaction_id
      return
    }
    case 'interaction.answered':
    case 'interaction.expired':
    case 'interaction.withdrawn': {
      const interaction = state.interactions.get(rune.interaction_id ?? '')
      if (interaction === undefined) return
      interaction.state = rune.to as InteractionState
      if (rune.kind === 'interaction.answered') interaction.answered = rune.payload
      return
    }
  }
  if (rune.machine === toolMachine.name) {
    const call = state.calls.get(rune.call_id ?? '')
    if (call !== undefined) call.tool = rune.to as ToolState
  }
}

/** Drops a call, its contract and its questions from the fold. */
function forgetCall(state: SessionState, { call_id, execution_id }: CallView) {
  state.calls.delete(call_id)
  state.subjects.delete(call_id)
  if (execution_id !== null) state.subjects.delete(execution_id)
  for (const asked of state.interactions.values()) {
    if (asked.call_id !== call_id) continue
    state.interactions.delete(asked.interaction_id)
    state.subjects.delete(asked.interaction_id)
  }
}

function contractOpened(state: SessionState, rune: Rune<'contract.opened'>) {
  const { action_type, action_detail, action_summary, irreversible, idempotency_key, timeout_ms } = rune.payload
  const { ends_turn = false, read_only = false, idempotent = false } = rune.payload
  const call_id = rune.call_id ?? ''
  const known = state.calls.get(call_id)
  const call: CallView = known ?? {
    ...blankCall(rune, call_id, action_type),
    name: String(action_detail.name ?? ''),
    arguments: (action_detail.arguments ?? null) as Json,
  }
  call.is_erased ||= rune.redacted === true
  call.execution_id = rune.execution_id ?? null
  call.contract = 'pending'
  const declared = { irreversible, ends_turn, read_only, idempotent, idempotency_key, timeout_ms, action_summary }
  Object.assign(call, declared satisfies Partial<CallView>)
  if (known === undefined) state.calls.set(call_id, call)
}

/** A call with only its ids and its time. */
export function blankCall(
  rune: Concerns & Pick<Rune, 'at'>,
  call_id: string,
  action_type: CallView['action_type'],
): CallView {
  return {
    call_id,
    run_id: rune.run_id ?? '',
    agent_id: rune.agent_id ?? '',
    turn_id: rune.turn_id ?? '',
    action_type,
    name: '',
    arguments: null,
    definition_sha256: null,
    ends_turn: false,
    is_erased: false,
    is_secret: false,
    execution_id: null,
    tool: null,
    contract: null,
    reason: null,
    decided_by: null,
    irreversible: false,
    read_only: false,
    idempotent: false,
    idempotency_key: null,
    timeout_ms: null,
    action_summary: '',
    started_at: 0,
    opened_at: rune.at,
    interaction_id: null,
    evidence: [],
  }
}
