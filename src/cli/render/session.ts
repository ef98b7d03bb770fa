import { shorten } from '../../observation/describe.ts'
import { span } from '../../observation/durations.ts'
import type { Rune } from '../../runes/rune.ts'
import type { SessionCard, SummaryCard } from '../../wire/session.ts'
import { guardLines, storyLine } from './story.ts'
import { ago, clockTime, columns, type Paint, remaining, safeLine } from './text.ts'

/** So much of each id that no two of a list look alike; commands take as little as is unambiguous. */
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
  const text = state === 'active' && status !== null ? status : state
  if (text === 'waiting_user') return paint.warn(text)
  if (text === 'failed') return paint.bad(text)
  return text === 'succeeded' ? paint.good(text) : text
}

function doing({ waiting_for, last_error, status, abandoned }: SummaryCard): string {
  if (abandoned !== null) return abandoned.says
  if (waiting_for !== null) return `asks: ${safeLine(waiting_for.prompt)}`
  return status === 'failed' && last_error !== null ? safeLine(`${last_error.code}: ${last_error.message}`) : ''
}

/** What it is, where it stands, what it waits for, what happened last: less than a screen. */
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
