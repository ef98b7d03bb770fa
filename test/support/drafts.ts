import type { Machine } from '../../src/kernel/machine.ts'
import { type MachineName, machines } from '../../src/machines/all.ts'
import type { Kind, Payload } from '../../src/runes/kinds.ts'
import type { Draft } from '../../src/runes/rune.ts'

/** Drafts as a writer would make them, taken from the declarations, with payloads of no importance. */

const byName = new Map<string, Machine>(machines.map((machine) => [machine.name, machine]))

let clock = 1_700_000_000_000
const at = () => clock++

export const payloads: { readonly [K in Kind]: Payload<K> } = {
  'session.created': { conversation_id: 'con_1', config: {} },
  'session.activated': { root_agent_id: 'agt_1' },
  'session.paused': { reason: 'lunch' },
  'session.resumed': {},
  'session.suspended': { reason: 'budget', budget_info: null },
  'session.unsuspended': {},
  'session.closing': { reason: 'done' },
  'session.closed': { final_stats: {} },
  'session.archived': { segment: 's', runes: 1, sha256: 'x' },
  'rune.redacted': {
    event_id: 1,
    reason: 'r',
    remains_sha256: 'x',
    blobs: [],
    redacted_by: 'ann',
    public_key: 'x',
    signature: 'x',
  },
  'agent.spawning': { agent_id: 'agt_1', agent: 'a', role: 'r', model: 'm', parent_id: null, tools: [], budget: null },
  'agent.ready': { agent_id: 'agt_1' },
  'agent.failed': { agent_id: 'agt_1', error: 'e' },
  'agent.terminated': { agent_id: 'agt_1', reason: 'r', stats: {} },
  'run.submitted': {
    agent: 'a',
    input: 'go',
    mode: 'interactive',
    interactive_require_user_reply: true,
    budget: null,
    parent_call_id: null,
  },
  'run.moved': {},
  'run.requested': { request: 'cancel', reason: 'r' },
  'run.briefed': { text: 't' },
  'run.misaligned': { expected: [], found: [] },
  'turn.started': { turn_id: 'trn_1', agent_id: 'agt_1', input: 'hello' },
  'turn.assistant_delta': { content: 'hel', channel: 'text', round: 1, offset: 0 },
  'turn.emotion_detected': { primary: 'joy', category: 'positive', confidence: 0.75 },
  'turn.tool_calls_received': {
    call_ids: [],
    round: 1,
    text: '',
    usage: { input_tokens: 1, output_tokens: 1 },
  },
  'turn.tools_finished': { results: [] },
  'turn.completed': {
    final_output: 'bye',
    usage: { input_tokens: 1, output_tokens: 1 },
    round: 1,
    finish: 'stop',
  },
  'turn.interrupted': { reason: 'r', partial_output: '' },
  'turn.error': { error_type: 'e', message: 'm', retryable: false },
  'tool.call': { call_id: 'cal_1', tool_name: 't', arguments: {}, definition_sha256: null },
  'contract.evidence_added': { source: 'tool', message: 'socket hang up' },
  'tool.moved': {},
  'tool.approval_requested': { call_id: 'cal_1', policy_reason: 'r', digest: 'd' },
  'tool.approved': { call_id: 'cal_1', approver: 'ann', digest: null },
  'tool.denied': { call_id: 'cal_1', reason: 'r' },
  'tool.progress': { call_id: 'cal_1', stream: 'stdout', chunk: '.' },
  'tool.result': { call_id: 'cal_1', status: 'success' },
  'contract.opened': {
    action_type: 'tool_call',
    action_detail: { service: 'mail' },
    action_summary: 'send a mail',
    irreversible: false,
    idempotency_key: null,
    key_scope: 'session',
    timeout_ms: null,
  },
  'contract.repeat_allowed': { idempotency_key: 'k', salted_key: 's', allowed_by: 'someone' },
  'contract.moved': {},
  'interaction.opened': {
    interaction_kind: 'question',
    prompt: 'Which one?',
    request: {},
    evidence: [],
    deadline: null,
    on_silence: 'wait',
    digest: null,
  },
  'interaction.answered': { reply: 'this one', replied_by: 'ann', idempotency_key: null },
  'interaction.expired': { effect: 'cancel' },
  'interaction.withdrawn': { reason: 'r' },
  'memory.committed': {
    type: 'execution_fact',
    execution_id: 'exe_1',
    action_type: 'tool_call',
    action_summary: 's',
    final_status: 'completed',
    irreversible: false,
    duration_ms: 1,
    result_summary: null,
    error_summary: null,
  },
  'coordination.received': { intent_id: 'int_1', input_sha256: 'x', input: {} },
  'coordination.moved': { guards: [], outputs: [], duration_ms: 1 },
  'coordination.frozen': { files: [] },
  'coordination.alerted': { failure: {} },
  'plan.goal_received': { goal_description: 'd', config: {} },
  'goal.moved': {},
  'plan.created': { plan_id: 'pln_1', tasks: [] },
  'plan.updated': { plan_id: 'pln_1', changes: [] },
  'plan.critique': { plan_id: 'pln_1', findings: [] },
  'plan.goal_met': { plan_id: 'pln_1', summary: 's' },
  'plan.stopped': { reason: 'r', cause: 'cancelled' },
  'task.opened': { plan_id: 'pln_1', task: {} },
  'task.condition_decided': { condition: 'c', holds: true, decided_by: 'rule', decider: 'cedar', reason: 'r' },
  'task.moved': {},
  'plan.task_assigned': { task_id: 'tsk_1', agent_id: 'agt_1' },
  'plan.task_started': { task_id: 'tsk_1' },
  'plan.task_completed': { task_id: 'tsk_1', result: null, evidence: [] },
}

/** A rune that records no move. */
export function plain<K extends Kind>(kind: K, payload: Partial<Payload<K>> = {}): Draft {
  return { kind, at: at(), actor: 'graph_runner', payload: { ...payloads[kind], ...payload } } as unknown as Draft
}

export function opening(machine: MachineName, subject_id: string, payload: object = {}): Draft {
  const { opens, initial } = byName.get(machine) as Machine
  const kind = opens as Kind
  return { ...plain(kind, payload), machine, subject_id, from: null, to: initial, trigger: null } as Draft
}

/** The move that the machine declares; where a trigger leads to several states, `to` chooses. */
export function move(
  machine: MachineName,
  subject_id: string,
  [from, trigger, to]: readonly [from: string, trigger: string, to?: string],
  payload: object = {},
): Draft {
  const declared = (byName.get(machine) as Machine).transitions
  const edge = declared.find((t) => t.from === from && t.on === trigger && (to === undefined || t.to === to))
  if (edge?.rune == null || edge.carried) throw new TypeError(`${machine} writes no rune for ${from} on ${trigger}.`)
  const guards = edge.when?.map((guard) => ({ guard, holds: true, because: 'It does in this test.' }))
  const read = guards === undefined ? {} : { guards }
  return { ...plain(edge.rune as Kind, payload), machine, subject_id, from, to: edge.to, trigger, ...read } as Draft
}

export const created = (session_id: string) => opening('session', session_id)

export function closed(session_id: string): readonly Draft[] {
  return [
    move('session', session_id, ['created', 'close_requested']),
    move('session', session_id, ['closing', 'cleanup_complete']),
  ]
}

/** A session that was made with its agent and closed: six runes that could all have happened. */
export function madeAndClosed(session_id: string): readonly Draft[] {
  const agent = `agt_of_${session_id}`
  return [
    created(session_id),
    opening('agent', agent),
    move('agent', agent, ['spawning', 'init_complete']),
    move('session', session_id, ['created', 'close_requested']),
    move('agent', agent, ['idle', 'parent_closed']),
    move('session', session_id, ['closing', 'cleanup_complete']),
  ]
}
