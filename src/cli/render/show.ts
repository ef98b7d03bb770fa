import type { State, Tone } from '../../kernel/machine.ts'
import { contractMachine } from '../../machines/contract.ts'
import { asText } from '../../observation/contract.ts'
import { shorten } from '../../observation/describe.ts'
import { elapsed, span } from '../../observation/durations.ts'
import type { Rune } from '../../runes/rune.ts'
import type {
  ExecutionSnapshot,
  ExecutionTimeline,
  GraphState,
  OneSnapshot,
  TransitionRecord,
} from '../../wire/contract.ts'
import type { ConsequenceView } from '../../wire/dialogue.ts'
import type { RunCard } from '../../wire/run.ts'
import type { SessionCard, SummaryCard } from '../../wire/session.ts'
import { guardLines, storyLine } from './story.ts'
import { ago, clockTime, columns, fullTime, inTone, type Paint, remaining, safe, safeLine } from './text.ts'

interface Execution {
  readonly snapshot: OneSnapshot
  readonly consequence: ConsequenceView
  readonly transitions: readonly TransitionRecord[]
}

/** An execution: its contract, consequence and moves. */
export function executionLines({ snapshot, consequence, transitions }: Execution, paint: Paint): readonly string[] {
  const { execution_id, action_summary, current_status, duration_in_state_ms, irreversible, idempotency_key } = snapshot
  const { consequence_label, result, error_message, decided_by } = consequence
  const facts = [
    irreversible ? 'cannot be undone' : 'not declared irreversible',
    sideEffects(consequence),
    ...(decided_by === null ? [] : [`decided by ${decided_by}`]),
    ...(idempotency_key === null ? [] : [`key ${idempotency_key}`]),
  ]
  return [
    `${paint.strong(safeLine(action_summary))}  ${execution_id}`,
    `${paint.strong(current_status)} for ${span(duration_in_state_ms)}, begun ${fullTime(snapshot.created_at)}; for the model: ${consequence_label}`,
    ...(snapshot.abandoned === null ? [] : [paint.warn(snapshot.abandoned.says)]),
    facts.join('; '),
    ...(result === null ? [] : ['', safe(asText(result))]),
    ...(error_message === null ? [] : ['', paint.bad(safeLine(error_message))]),
    '',
    ...moveLines(transitions, paint.faint),
  ]
}

/** An action with a recorded beginning and no recorded end may have had an effect. */
function sideEffects({ consequence_label, has_side_effects }: Execution['consequence']): string {
  if (consequence_label === 'IN_PROGRESS' || consequence_label === 'UNKNOWN') return 'its side effects are unknown'
  return has_side_effects ? 'has side effects' : 'has no side effects'
}

/** The state of reasoning. Dialogue and trace are counted here, and complete in JSON. */
export function graphLines(graph: GraphState, paint: Paint): readonly string[] {
  const { session_id, event_id, status, dialogue, execution_trace, expected_waiting } = graph
  return [
    `${session_id} after event ${event_id}: ${paint.strong(status)}`,
    ...section('pending', graph.pending_executions),
    ...section('completed or waiting', graph.completed_executions),
    `a resume has to find waiting: ${expected_waiting.join(', ') || 'nothing'}`,
    `${dialogue.length} messages, ${execution_trace.length} steps of the trace; --json has all of it`,
  ]
}

function section(title: string, executions: readonly ExecutionSnapshot[]): readonly string[] {
  if (executions.length === 0) return [`${title}: nothing`]
  const rows = executions.map(({ execution_id, current_status, action_summary, waiting_reason, interaction_id }) => [
    `  ${current_status}`,
    shorten(safeLine(action_summary), 60),
    execution_id,
    waiting_reason === null ? '' : `waits for ${waiting_reason}: ${interaction_id}`,
  ])
  return [`${title}:`, ...columns(rows)]
}

/** A run: status, times, result, costs. */
export function runLines(run: RunCard, paint: Paint): readonly string[] {
  const { run_id, session_id, agent, status, attempt, mode, used } = run
  return [
    `${paint.strong(shorten(safeLine(asText(run.input)), 80))}  ${run_id} of ${session_id}, agent ${safeLine(agent)}`,
    safeLine(run.current_line),
    `${paint.strong(status)}, attempt ${attempt}, ${mode}, asked ${fullTime(run.submitted_at)}`,
    ...(run.durations.length === 0
      ? []
      : [`time: ${run.durations.map(({ state, total_ms }) => `${state} ${span(total_ms)}`).join(', ')}`]),
    ...(run.result === null ? [] : ['', safe(asText(run.result))]),
    ...(run.error_code === null ? [] : ['', paint.bad(safeLine(`${run.error_code}: ${run.message ?? ''}`))]),
    '',
    `spent: ${used.tokens} tokens, ${used.tool_calls} tool calls, ${span(used.wall_time_ms)} of work`,
  ]
}

/** Ids, shortened as far as they differ in the list. */
export function shortIds(ids: readonly string[]): readonly string[] {
  const longest = Math.max(0, ...ids.map((id) => id.length))
  for (let width = 12; width < longest; width++) {
    const short = ids.map((id) => id.slice(0, width))
    if (new Set(short).size === new Set(ids).size) return short
  }
  return ids
}

/** The rows of a list of sessions. */
export function sessionRows(items: readonly SummaryCard[], now: number, paint: Paint): readonly string[] {
  const ids = shortIds(items.map(({ session_id }) => session_id))
  return columns(
    items.map((item, i) => [
      ids[i] ?? '',
      statusOf(item, paint),
      ago(item.updated_at, now),
      shorten(safeLine(item.title ?? 'untitled'), 40),
      shorten(doing(item), 80),
    ]),
  )
}

function statusOf({ state, status }: SummaryCard, paint: Paint): string {
  return state === 'active' && status !== null ? inTone(paint, 'run', status) : inTone(paint, 'session', state)
}

function doing({ waiting_for, last_error, status, abandoned }: SummaryCard): string {
  if (abandoned !== null) return abandoned.says
  if (waiting_for !== null) return `asks: ${safeLine(waiting_for.prompt)}`
  return status === 'failed' && last_error !== null ? safeLine(`${last_error.code}: ${last_error.message}`) : ''
}

/** A session on less than a screen: title, state, open questions, last events. */
export function sessionLines(card: SessionCard, recent: readonly Rune[], now: number, paint: Paint): readonly string[] {
  const { session_id, title, agent, spine, current_line, waiting_on, costs } = card
  const story = recent.flatMap((rune) => {
    const line = storyLine(rune)
    return line === undefined ? [] : [{ rune, row: [`  ${paint.faint(clockTime(rune.at))}`, shorten(line, 120)] }]
  })
  const shown = story.slice(-5)
  const rows = columns(shown.map(({ row }) => row))
  return [
    `${paint.strong(safeLine(title ?? 'untitled'))}  ${session_id}${agent === null ? '' : `, agent ${safeLine(agent)}`}`,
    spine
      .map(({ machine, state, since }) => `${machine} ${paint.strong(state)} ${span(Math.max(0, now - since))}`)
      .join('  ▸ '),
    safeLine(current_line),
    ...waiting_on.map(
      ({ interaction_id, interaction_kind, prompt, deadline }) =>
        `${paint.warn('waits')} for an answer (${interaction_kind} ${interaction_id}): ${shorten(safeLine(prompt), 120)}${deadline === null ? '' : `, until ${remaining(deadline, now)}`}`,
    ),
    '',
    ...shown.flatMap(({ rune }, i) => [rows[i] ?? '', ...guardLines(rune).map((line) => paint.faint(`  ${line}`))]),
    '',
    `spent: ${costs.tokens} tokens, ${costs.tool_calls} tool calls, ${span(costs.wall_time_ms)} of work; ${card.event_id} events`,
  ]
}

const bar = 32
const marks: { readonly [T in Tone]?: string } = { idle: '·', active: '█', waiting: '░' }

/** All contracts of a session as bars on one axis, each with its moves. */
export function timelineLines(timeline: ExecutionTimeline, now: number, paint: Paint): readonly string[] {
  const { contracts, transitions } = timeline
  const begin = timeline.started_at ?? now
  const end = timeline.ended_at ?? now
  const movesOf = Map.groupBy(transitions, (move) => move.execution_id)
  const rows = contracts.map((contract) => {
    const moves = movesOf.get(contract.execution_id) ?? []
    return [
      clockTime(contract.created_at),
      shorten(safeLine(contract.action_summary), 40),
      drawn(contract, moves, begin, end),
      inTone(paint, 'contract', contract.current_status),
      span(elapsed(contract.created_at, contract.is_terminal ? contract.entered_at : now)),
      `${contract.execution_id}${contract.irreversible ? ', cannot be undone' : ''}`,
    ]
  })
  const lines = columns(rows)
  return [
    heading(timeline, begin, end),
    `${marks.active} at work  ${marks.waiting} waiting for someone  ${marks.idle} not begun`,
    '',
    ...contracts.flatMap((contract, i) => [
      lines[i] ?? '',
      ...moveLines(movesOf.get(contract.execution_id) ?? []).map(paint.faint),
    ]),
  ]
}

function heading({ session_id, total_contracts, active_contracts }: ExecutionTimeline, begin: number, end: number) {
  const how = active_contracts === 0 ? 'all over' : `${active_contracts} not over`
  const noun = total_contracts === 1 ? 'action' : 'actions'
  return `${session_id}: ${total_contracts} ${noun}, ${how}, ${span(elapsed(begin, end))} from ${fullTime(begin)} on`
}

function moveLines(moves: readonly TransitionRecord[], time = (text: string) => text): readonly string[] {
  return columns(
    moves.map(({ timestamp, from_status, to_status, trigger, actor }) => [
      `  ${time(clockTime(timestamp))}`,
      `${from_status} → ${to_status}`,
      trigger,
      `by ${actor}`,
    ]),
  )
}

/** One cell per part of the time; where several states fall into one, the last of them is shown. */
function drawn(contract: ExecutionSnapshot, moves: readonly TransitionRecord[], begin: number, end: number): string {
  const cellOf = (at: number) => Math.min(bar - 1, Math.floor(((at - begin) / Math.max(1, end - begin)) * bar))
  const entered = [
    { at: contract.created_at, status: contractMachine.initial },
    ...moves.map(({ timestamp: at, to_status: status }) => ({ at, status })),
  ]
  const cells = Array.from({ length: bar }, () => ' ')
  for (const [i, { at, status }] of entered.entries()) {
    const { tone, terminal }: State = contractMachine.states[status]
    const mark = marks[tone]
    if (terminal || mark === undefined) continue
    const until = entered[i + 1]?.at ?? end
    for (let cell = cellOf(at); cell <= cellOf(until); cell++) cells[cell] = mark
  }
  return cells.join('')
}
