import type { Json } from '../../kernel/json.ts'
import { isTerminal } from '../../kernel/machine.ts'
import { type RunStatus, runMachine } from '../../machines/run.ts'
import { type SessionState, sessionMachine } from '../../machines/session.ts'
import { summary } from '../../observation/contract.ts'
import { isShown, visible } from '../../observation/visible.ts'
import type { FoldableRune, ReadModel } from '../../runelog/port.ts'
import { searchModel, textKey, wordsOf } from '../../runelog/words.ts'
import type { InteractionKind, Payload } from '../../runes/kinds.ts'
import { runLists } from '../../wire/run.ts'

/** A session in a list: its state, the questions it waits for, and its usage. */
export type Summary = {
  readonly title: string | null
  readonly agent: string | null
  readonly state: SessionState
  readonly since: number
  readonly created_at: number
  /** When a subject last moved, a model answered, a person asked, or content was redacted. Progress does not count. */
  readonly updated_at: number
  readonly event_id: number
  readonly open_runs: readonly RunAt[]
  readonly last_run: RunAt | null
  readonly waiting: readonly Waiting[]
  readonly used: { readonly tokens: number; readonly tool_calls: number }
  readonly budget: { readonly tokens?: number; readonly tool_calls?: number; readonly wall_time_ms?: number } | null
  readonly last_error: { readonly code: string; readonly message: string; readonly at: number } | null
}

/** A run, its status and since when. */
export type RunAt = { readonly run_id: string; readonly status: RunStatus; readonly since: number }

type Waiting = {
  readonly interaction_id: string
  readonly interaction_kind: InteractionKind
  readonly prompt: string
  readonly deadline: number | null
  readonly since: number
}

const precision_ms = 1_000

/** Listed under the status of what is most urgent in it, the one that was last updated at the end. */
export const summaries: ReadModel<Summary> = {
  name: 'summaries',
  version: 4,
  keys: (rune) => (isSummed(rune) ? [rune.session_id] : []),
  fold(row, rune, key) {
    const before = row?.value ?? blank(rune)
    const seen = visible(rune)
    const after = seen === undefined ? before : summed(before, seen)
    const value = { ...after, updated_at: rune.at, event_id: rune.event_id }
    // A session at work moves many times a second; its place in the list need not.
    const sort = row?.sort != null && rune.at - row.sort < precision_ms ? row.sort : rune.at
    return { key, tag: statusOf(value) ?? 'none', sort, value }
  },
}

/** The status of the most urgent run that is open, or of the last one. */
export function statusOf({ open_runs, last_run }: Pick<Summary, 'open_runs' | 'last_run'>): RunStatus | null {
  const open = runLists.find(({ status }) => open_runs.some((run) => run.status === status))
  return open?.status ?? last_run?.status ?? null
}

/** Every rune pays for this question, so it is answered from the kind and the machine alone. */
function isSummed({ machine, kind, from, to }: FoldableRune): boolean {
  if (machine === 'session' || machine === 'interaction') return true
  const isMove = machine === 'run' || machine === 'goal' || machine === 'coordination'
  if (isMove && from !== to) return true
  switch (kind) {
    case 'tool.call':
    case 'turn.tool_calls_received':
    case 'turn.completed':
    case 'turn.interrupted':
    case 'turn.error':
    case 'run.requested':
    case 'rune.redacted':
      return true
    default:
      return false
  }
}

function blank({ at, event_id }: FoldableRune): Summary {
  return {
    title: null,
    agent: null,
    state: sessionMachine.initial,
    since: at,
    created_at: at,
    updated_at: at,
    event_id,
    open_runs: [],
    last_run: null,
    waiting: [],
    used: { tokens: 0, tool_calls: 0 },
    budget: null,
    last_error: null,
  }
}

function summed(before: Summary, rune: FoldableRune): Summary {
  switch (rune.kind) {
    case 'run.submitted': {
      const title = before.title ?? titleOf(rune.payload.input)
      return { ...before, ...moveOf(before, rune), title, agent: rune.payload.agent }
    }
    case 'run.moved': {
      const { error_code, message = '' } = rune.payload
      const after = { ...before, ...moveOf(before, rune) }
      if (rune.to !== 'failed') return after
      return { ...after, last_error: { code: error_code ?? 'FAILED', message: summary(message), at: rune.at } }
    }
    // A step for a person is among the calls of an answer, and is no tool call.
    case 'tool.call':
      return { ...before, used: { ...before.used, tool_calls: before.used.tool_calls + 1 } }
    case 'turn.tool_calls_received':
    case 'turn.completed':
    case 'turn.interrupted':
      return spent(before, rune.payload.usage)
    case 'turn.error': {
      const { error_type, message, usage } = rune.payload
      return { ...spent(before, usage), last_error: { code: error_type, message: summary(message), at: rune.at } }
    }
    case 'interaction.opened': {
      const { interaction_kind, prompt, deadline } = rune.payload
      const { interaction_id = '', at: since } = rune
      const asked = { interaction_id, interaction_kind, prompt: summary(prompt), deadline, since }
      return { ...before, waiting: [...before.waiting, asked] }
    }
    case 'interaction.answered':
    case 'interaction.expired':
    case 'interaction.withdrawn':
      return { ...before, waiting: before.waiting.filter((w) => w.interaction_id !== rune.interaction_id) }
    case 'session.unsuspended':
      return { ...entered(before, rune), budget: { ...before.budget, ...rune.payload.budget } as Summary['budget'] }
    case 'session.created': {
      const { budget = null, title = null } = rune.payload.config
      return { ...entered(before, rune), title: title as string | null, budget: budget as Summary['budget'] }
    }
    case 'plan.goal_received':
      return { ...before, title: before.title ?? summary(rune.payload.goal_description) }
    case 'coordination.received':
      return { ...before, title: before.title ?? rune.payload.intent_id }
    default:
      return rune.machine === 'session' ? entered(before, rune) : before
  }
}

function entered(before: Summary, { to, at }: FoldableRune): Summary {
  return to === before.state ? before : { ...before, state: to as SessionState, since: at }
}

function moveOf(before: Pick<Summary, 'open_runs'>, { run_id = '', to, at, kind }: FoldableRune) {
  const run: RunAt = { run_id, status: to as RunStatus, since: at }
  const open_runs =
    kind === 'run.submitted'
      ? [...before.open_runs, run]
      : before.open_runs.flatMap((other) =>
          other.run_id !== run_id ? [other] : isTerminal(runMachine, to) ? [] : [run],
        )
  return { open_runs, last_run: run }
}

function spent(before: Summary, usage: Payload<'turn.completed'>['usage'] | undefined): Summary {
  const more = usage === undefined ? 0 : usage.input_tokens + usage.output_tokens
  return { ...before, used: { ...before.used, tokens: before.used.tokens + more } }
}

function titleOf(input: Payload<'run.submitted'>['input']): string | null {
  if (input === null) return null
  const [line = ''] = summary(input).trim().split('\n', 1)
  return line === '' ? null : line
}

type Listing = Pick<Summary, 'state' | 'open_runs' | 'last_run' | 'agent'>

const byAgent = ':agent'

/** Sessions by all filters of a list. Each has two rows, one of them for lists of one agent. */
export const listings: ReadModel<Listing> = {
  name: 'listings',
  version: 1,
  keys: (rune) => (isListed(rune) ? [rune.session_id, `${rune.session_id}${byAgent}`] : []),
  fold(row, rune, key) {
    const before = row?.value ?? { state: sessionMachine.initial, open_runs: [], last_run: null, agent: null }
    const seen = visible(rune)
    const after = seen === undefined ? before : listed(before, seen)
    const place = { state: after.state, status: statusOf(after) ?? 'none' }
    const tag = key.endsWith(byAgent) ? listingTag({ ...place, agent: after.agent ?? '' }) : listingTag(place)
    return { key, tag, sort: rune.at, value: after }
  },
}

/** The session that a row is about. */
export const sessionOfListing = (key: string): string => (key.endsWith(byAgent) ? key.slice(0, -byAgent.length) : key)

type Place = { readonly state: SessionState; readonly status: string; readonly agent?: string }

/** The tag under which a session is listed. */
export function listingTag({ state, status, agent }: Place): string {
  return agent === undefined ? `${state}/${status}` : `${state}/${status}/${agent}`
}

function isListed({ machine, from, to }: FoldableRune): boolean {
  return machine === 'session' || (machine === 'run' && from !== to)
}

function listed(before: Listing, rune: FoldableRune): Listing {
  if (rune.machine === 'session') return { ...before, state: rune.to as SessionState }
  const agent = rune.kind === 'run.submitted' ? rune.payload.agent : before.agent
  return { ...before, ...moveOf(before, rune), agent }
}

/** The texts of people and agents in a session, as words. Its rows are not listed: a store indexes their words. */
export const search: ReadModel<string> = {
  name: searchModel,
  version: 1,
  keys: (rune) => ((textIn(rune) ?? '') === '' ? [] : [textKey(rune.session_id, rune.event_id)]),
  fold: (_, rune, key) => ({ key, tag: null, sort: null, value: wordsOf(asWords(textIn(rune) ?? null)).join(' ') }),
}

/** The id of a session can be searched; it is its first text, with the title. Texts that are not public cannot. */
function textIn(rune: FoldableRune): Json | undefined {
  const { kind, payload, session_id } = rune
  if (kind === 'session.created') return [session_id, isShown(rune) ? (payload.config.title ?? null) : null]
  if (!isShown(rune)) return undefined
  switch (kind) {
    case 'run.submitted':
    case 'run.requested':
      return payload.input
    case 'interaction.answered':
      return payload.reply
    case 'turn.tool_calls_received':
      return payload.text
    case 'turn.completed':
      return payload.final_output
    case 'turn.interrupted':
    case 'turn.error':
      return payload.partial_output
    case 'plan.goal_received':
      return payload.goal_description
    case 'coordination.received':
      return payload.intent_id
    default:
      return undefined
  }
}

/** The values in it, without the names of fields, in the order that the log has them in. */
function asWords(value: Json): string {
  if (value === null || typeof value === 'boolean') return ''
  if (typeof value !== 'object') return String(value)
  if (Array.isArray(value)) return value.map(asWords).join(' ')
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return fields.map(([, part]) => asWords(part)).join(' ')
}

/** Sessions that refer to a kept output in a public rune. Outputs are stored by hash, for all sessions together. */
export const outputs: ReadModel<{ event_id: number }> = {
  name: 'outputs',
  version: 1,
  keys: (rune) => refsIn(rune).map((ref) => outputKey(ref, rune.session_id)),
  fold: (_row, { at, event_id }, key) => ({ key, tag: null, sort: at, value: { event_id } }),
}

/** The prefix of the keys of an output if no session is given. */
export const outputKey = (ref: string, session_id = ''): string => `${ref} ${session_id}`

function refsIn({ kind, payload, visibility }: FoldableRune): readonly string[] {
  if (visibility !== 'public') return []
  if (kind === 'tool.result') return payload.output_ref === undefined ? [] : [payload.output_ref]
  return kind === 'coordination.frozen' ? payload.files.map(({ ref }) => ref) : []
}
