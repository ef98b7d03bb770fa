import { faults } from '../../faults/catalogue.ts'
import type { Budget } from '../../observation/session-state.ts'
import type { FoldableRune, ReadModel, Row } from '../../runelog/read-model.ts'

/** How many tool calls a session, an agent or a run has made, where someone limits that. */
type ToolCalls = {
  readonly made: number
  /** Null where only the parent is limited. */
  readonly limit: number | null
  /** The agent, or the run, on whose budget this one draws as well. */
  readonly parent: string | null
}

/**
 * Budgets of tool calls, kept by the store itself: agents that work side by side look at the same budget and would
 * together go over it, so the append that makes one call too many is refused. Only those who have a limit have a row.
 */
export const budgets: ReadModel<ToolCalls> = {
  name: 'budgets',
  version: 2,

  keys(rune, look) {
    switch (rune.kind) {
      case 'session.created':
      case 'agent.spawning':
      case 'run.submitted':
        return opened(rune, look) === undefined ? [] : [rune.subject_id ?? '']
      case 'tool.call':
        return [rune.session_id, ...lineage(rune.run_id ?? '', look), ...lineage(rune.agent_id ?? '', look)].filter(
          (id) => look(id),
        )
      case 'session.unsuspended':
        return firstLimit(rune) === undefined && look(rune.session_id) === undefined ? [] : [rune.session_id]
      case 'session.closed':
      case 'agent.terminated':
      case 'run.moved':
        return look(rune.subject_id ?? '') === undefined ? [] : [rune.subject_id ?? '']
      default:
        return []
    }
  },

  fold(row, rune, key) {
    const known = row?.value
    switch (rune.kind) {
      case 'tool.call': {
        if (known === undefined) return row
        const { made, limit, parent } = known
        if (limit !== null && made >= limit) return faults.budget_spent({ subject_id: key, tool_calls: limit })
        return rowOf(key, { made: made + 1, limit, parent })
      }
      case 'session.unsuspended': {
        const limit = rune.payload.budget?.tool_calls
        const counted = known ?? firstLimit(rune)
        return limit === undefined || counted === undefined ? row : rowOf(key, { ...counted, limit })
      }
      case 'session.closed':
      case 'agent.terminated':
        return undefined
      case 'run.moved':
        return ['succeeded', 'failed', 'canceled'].includes(rune.to ?? '') ? undefined : row
      default:
        return rowOf(key, opened(rune, () => undefined) ?? { made: 0, limit: null, parent: parentOf(rune) })
    }
  },
}

/** What begins with a limit, or under someone who has one. */
function opened(rune: FoldableRune, look: (key: string) => Row<ToolCalls> | undefined): ToolCalls | undefined {
  const budget =
    rune.kind === 'session.created'
      ? (rune.payload.config.budget as Budget | undefined)
      : rune.kind === 'agent.spawning' || rune.kind === 'run.submitted'
        ? rune.payload.budget
        : null
  const limit = budget?.tool_calls ?? null
  const parent = parentOf(rune)
  const isUnderOne = parent !== null && look(parent) !== undefined
  return limit === null && !isUnderOne ? undefined : { made: 0, limit, parent }
}

/** A session that is limited from here on. One that was replenished before the number was recorded is not known here. */
function firstLimit(rune: FoldableRune): ToolCalls | undefined {
  if (rune.kind !== 'session.unsuspended' || rune.payload.tool_calls_made === undefined) return undefined
  return { made: rune.payload.tool_calls_made, limit: null, parent: null }
}

function parentOf(rune: FoldableRune): string | null {
  if (rune.kind === 'agent.spawning') return rune.payload.parent_id
  return rune.kind === 'run.submitted' ? (rune.payload.parent_run_id ?? null) : null
}

/** An agent or a run, and those above it. */
function lineage(id: string, look: (key: string) => Row<ToolCalls> | undefined): readonly string[] {
  const row = look(id)?.value
  return row?.parent == null ? [id] : [id, ...lineage(row.parent, look)]
}

function rowOf(key: string, value: ToolCalls): Row<ToolCalls> {
  return { key, tag: null, sort: null, value }
}
