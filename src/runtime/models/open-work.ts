import { faults } from '../../faults/catalogue.ts'
import { isTerminal } from '../../kernel/machine.ts'
import { runMachine } from '../../machines/run.ts'
import type { Budget } from '../../observation/session-state.ts'
import type { FoldableRune, ReadModel, Row } from '../../runelog/port.ts'
import type { InteractionKind } from '../../runes/kinds.ts'
import type { Visibility } from '../../runes/rune.ts'

/** An open question of any session: a row of the inbox, with the deadline that a restart has to keep. */
export type OpenInteraction = {
  /** The question, for `inbox.get` and the replies. */
  readonly interaction_id: string
  /** Its session. */
  readonly session_id: string
  /** The run that asks; null if a plan or a goal asks. */
  readonly run_id: string | null
  /** The call that it is about. */
  readonly call_id: string | null
  /** The contract that waits for the answer. */
  readonly execution_id: string | null
  /** The plan that asks. */
  readonly coordination_id: string | null
  /** The goal that asks. */
  readonly goal_id: string | null
  /** The task of the goal that it is about. */
  readonly task_id: string | null
  /** Which reply it takes. */
  readonly interaction_kind: InteractionKind
  /** The question in words, verbatim. */
  readonly prompt: string
  /** When it ends without an answer; null if it waits without limit. */
  readonly deadline: number | null
  /** When it was asked. */
  readonly opened_at: number
  /** The visibility of the run that asks. Only a person who may answer sees a prompt that is not public. */
  readonly visibility: Visibility
}

/** Open questions. Those with a deadline have their own tag: a start has to keep only these. */
export const openInteractions: ReadModel<OpenInteraction> = {
  name: 'open_interactions',
  version: 5,
  keys: (rune) => (rune.machine === 'interaction' && rune.subject_id !== undefined ? [rune.subject_id] : []),
  fold(_row, rune, key) {
    if (rune.kind !== 'interaction.opened') return undefined
    const { session_id, at: opened_at, visibility } = rune
    const { run_id = null, call_id = null, execution_id = null } = rune
    const { coordination_id = null, goal_id = null, task_id = null } = rune
    const { interaction_kind, prompt, deadline } = rune.payload
    const about = { run_id, call_id, execution_id, coordination_id, goal_id, task_id }
    const question = { interaction_kind, prompt, deadline, opened_at, visibility }
    const value = { interaction_id: key, session_id, ...about, ...question }
    return { key, tag: deadline === null ? 'open' : 'due', sort: opened_at, value }
  },
}

type WaitingRun = { readonly agent: string; readonly session_id: string }

/** The agent of a waiting run. Waiting runs are listed under its name: a start need not load each of them. */
export const waitingRuns: ReadModel<WaitingRun> = {
  name: 'waiting_runs',
  version: 2,
  keys: (rune) =>
    rune.machine === 'run' && rune.subject_id !== undefined && rune.from !== rune.to ? [rune.subject_id] : [],
  fold(row, rune, key) {
    const known = row?.value
    const value = rune.kind === 'run.submitted' ? { agent: rune.payload.agent, session_id: rune.session_id } : known
    if (value === undefined) return row
    const tag = rune.to === 'waiting_user' ? value.agent : null
    return known !== undefined && tag === row?.tag ? row : { key, tag, sort: rune.at, value }
  },
}

type Delegated = { readonly session_id: string }

/** Agents that were spawned for a delegated task, until they are over. */
export const delegated: ReadModel<Delegated> = {
  name: 'delegated',
  version: 1,
  keys(rune, look) {
    const { agent_id } = rune
    if (agent_id === undefined) return []
    if (rune.kind === 'run.submitted') return rune.payload.parent_call_id === null ? [] : [agent_id]
    return rune.kind === 'agent.terminated' && look(agent_id) !== undefined ? [agent_id] : []
  },
  fold(_row, rune, key) {
    if (rune.kind !== 'run.submitted') return undefined
    return { key, tag: 'open', sort: rune.at, value: { session_id: rune.session_id } }
  },
}

type ToolCalls = {
  readonly made: number
  readonly limit: number | null
  /** The agent, or the run, on whose budget this one draws as well. */
  readonly parent: string | null
}

/** Budgets of tool calls, kept by the store: among agents that work at once, the call over the limit is refused. */
export const budgets: ReadModel<ToolCalls> = {
  name: 'budgets',
  near: (subject_id) => [subject_id],
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
        return isTerminal(runMachine, rune.to) ? undefined : row
      default:
        return rowOf(key, opened(rune, () => undefined) ?? { made: 0, limit: null, parent: parentOf(rune) })
    }
  },
}

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

function lineage(id: string, look: (key: string) => Row<ToolCalls> | undefined): readonly string[] {
  const row = look(id)?.value
  return row?.parent == null ? [id] : [id, ...lineage(row.parent, look)]
}

const rowOf = (key: string, value: ToolCalls): Row<ToolCalls> => ({ key, tag: null, sort: null, value })
