import { shorten } from '../../observation/describe.ts'
import { span } from '../../observation/durations.ts'
import { asText } from '../../observation/summary.ts'
import type { getRun } from '../../surface/operations/runs.ts'
import type { Paint } from './paint.ts'
import { safe, safeLine } from './safe.ts'
import { fullTime } from './when.ts'

/** A run as `show` gets it. */
export type RunCard = Awaited<ReturnType<typeof getRun.run>>

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
