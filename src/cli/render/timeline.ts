import { shorten } from '../../observation/describe.ts'
import { elapsed, span } from '../../observation/durations.ts'
import type { ExecutionTimeline } from '../../wire/contract.ts'
import { clockTime, columns, fullTime, type Paint, safeLine } from './text.ts'

type Contract = ExecutionTimeline['contracts'][number]
type Move = ExecutionTimeline['transitions'][number]

const bar = 32
const marks: Readonly<Record<string, string>> = { pending: '·', running: '█', waiting: '░' }

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
      drawn(contract, moves, { begin, end }),
      state(contract, paint),
      span(elapsed(contract.created_at, contract.is_terminal ? contract.entered_at : now)),
      `${contract.execution_id}${contract.irreversible ? ', cannot be undone' : ''}`,
    ]
  })
  const lines = columns(rows)
  return [
    heading(timeline, begin, end),
    `${marks.running} at work  ${marks.waiting} waiting for someone  ${marks.pending} not begun`,
    '',
    ...contracts.flatMap((contract, i) => [lines[i] ?? '', ...steps(movesOf.get(contract.execution_id) ?? [], paint)]),
  ]
}

function heading({ session_id, total_contracts, active_contracts }: ExecutionTimeline, begin: number, end: number) {
  const how = active_contracts === 0 ? 'all over' : `${active_contracts} not over`
  const noun = total_contracts === 1 ? 'action' : 'actions'
  return `${session_id}: ${total_contracts} ${noun}, ${how}, ${span(elapsed(begin, end))} from ${fullTime(begin)} on`
}

function state({ current_status }: Contract, paint: Paint): string {
  if (current_status === 'completed') return paint.good(current_status)
  return current_status === 'failed' ? paint.bad(current_status) : paint.warn(current_status)
}

function steps(moves: readonly Move[], paint: Paint): readonly string[] {
  return columns(
    moves.map(({ timestamp, from_status, to_status, trigger, actor }) => [
      `  ${clockTime(timestamp)}`,
      `${from_status} → ${to_status}`,
      trigger,
      `by ${actor}`,
    ]),
  ).map(paint.faint)
}

/** One cell per part of the time; where several states fall into one, the last of them is shown. */
function drawn(contract: Contract, moves: readonly Move[], { begin, end }: { begin: number; end: number }): string {
  const cellOf = (at: number) => Math.min(bar - 1, Math.floor(((at - begin) / Math.max(1, end - begin)) * bar))
  const entered = [
    { at: contract.created_at, status: 'pending' },
    ...moves.map((move) => ({ at: move.timestamp, status: move.to_status as string })),
  ]
  const cells = Array.from({ length: bar }, () => ' ')
  for (const [i, { at, status }] of entered.entries()) {
    const mark = marks[status]
    if (mark === undefined) continue
    const until = entered[i + 1]?.at ?? end
    for (let cell = cellOf(at); cell <= cellOf(until); cell++) cells[cell] = mark
  }
  return cells.join('')
}
