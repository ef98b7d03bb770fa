import { faults } from '../faults/catalogue.ts'
import { canonicalJson, type Json } from '../kernel/json.ts'
import { printable } from '../kernel/printable.ts'
import type { InteractionState } from '../machines/interaction.ts'
import { abandonedBy, type Left, unsettledIn, withReports } from '../observation/unsettled.ts'
import { rowLine } from '../observation/waiting-line.ts'
import type { Payload } from '../runes/kinds.ts'
import type { Rune } from '../runes/rune.ts'
import { type RunAt, type Summary, statusOf } from '../runtime/models/summaries.ts'
import type { InteractionCard } from '../wire/interaction.ts'
import type { SummaryCard } from '../wire/session.ts'
import type { Backend } from './backend.ts'
import { allows, type Scope } from './operation.ts'
import type { SessionView } from './session-views.ts'

/** The effect of the deadline if no answer comes before it, in a sentence. */
// biome-ignore format: tables are audited by eye, so their columns line up
export const silences: { readonly [S in Payload<'interaction.opened'>['on_silence']]: string } = {
  wait:        'The question stays open until someone answers.',
  cancel:      'The question is withdrawn, and nothing is done.',
  auto_decide: 'The run goes on, and the agent decides by itself.',
  use_default: 'The defaults are used as the answer.',
}

/** A question as this scope may see it: with `approve` all of it, also where it is not public. */
export async function interactionCard(
  backend: Backend,
  interaction_id: string,
  scope: Scope,
): Promise<InteractionCard> {
  const session_id = await backend.views.sessionOf('interaction', interaction_id)
  const view = await backend.views.of(session_id)
  const opened = view.steps.find((rune) => rune.kind === 'interaction.opened' && rune.interaction_id === interaction_id)
  if (opened === undefined || opened.visibility === 'public' || !allows(scope, 'approve'))
    return cardOf(view, interaction_id)
  const steps: Rune[] = []
  for (const { event_id } of view.steps.filter((rune) => concerns(rune, opened)))
    steps.push(...(await backend.runelog.read(session_id, { after: event_id - 1, limit: 1 })))
  return cardOf({ state: view.state, steps }, interaction_id)
}

/** The runes that a card is made of. */
function concerns(rune: Rune, { interaction_id, call_id, execution_id }: Rune): boolean {
  if (rune.interaction_id === interaction_id) return true
  if (rune.kind === 'tool.call') return rune.call_id === call_id
  const isOfContract = rune.kind === 'contract.opened' || rune.kind === 'contract.evidence_added'
  return isOfContract && rune.execution_id === execution_id
}

/** A question as these runes tell it. Refused with `not_found` if they do not have it. */
export function cardOf(
  { state, steps }: Pick<SessionView, 'state' | 'steps'>,
  interaction_id: string,
): InteractionCard {
  const own = steps.filter((rune) => rune.interaction_id === interaction_id)
  const opened = own.find((rune) => rune.kind === 'interaction.opened')
  if (opened?.kind !== 'interaction.opened') throw faults.not_found({ what: 'interaction', id: interaction_id })
  const { interaction_kind, prompt, request, deadline, on_silence, digest } = opened.payload
  const { call_id, execution_id, run_id, coordination_id, goal_id, task_id } = opened
  const ended = own.findLast((rune) => rune.machine === 'interaction' && rune !== opened)
  const answered = ended?.kind === 'interaction.answered' ? ended.payload : undefined
  const call = steps.find(
    (rune): rune is Rune<'tool.call'> => rune.kind === 'tool.call' && rune.call_id === call_id,
  )?.payload
  const action = steps.find(
    (rune): rune is Rune<'contract.opened'> => rune.kind === 'contract.opened' && rune.execution_id === execution_id,
  )?.payload
  const recorded = steps.flatMap((rune) =>
    rune.kind === 'contract.evidence_added' && rune.execution_id === execution_id ? [rune.payload] : [],
  )
  const args = call?.arguments ?? (request.arguments as Json | undefined)

  return {
    interaction_id,
    session_id: state.session_id,
    run_id: run_id ?? null,
    agent: state.runs.get(run_id ?? '')?.agent ?? null,
    call_id: call_id ?? null,
    execution_id: execution_id ?? null,
    coordination_id: coordination_id ?? null,
    goal_id: goal_id ?? null,
    task_id: task_id ?? null,
    interaction_kind,
    state: (ended?.to ?? opened.to) as InteractionState,
    prompt: printable(prompt),
    action_summary: action === undefined ? null : printable(action.action_summary),
    tool: call?.tool_name ?? null,
    arguments: args ?? null,
    canonical_arguments: args === undefined ? null : canonicalJson(args),
    irreversible: action?.irreversible ?? null,
    digest,
    definition_sha256: call?.definition_sha256 ?? null,
    request,
    evidence: withReports(opened.payload, recorded),
    opened_at: opened.at,
    deadline,
    on_silence,
    silence: silences[on_silence],
    closed_at: ended?.at ?? null,
    closed_by: answered?.replied_by ?? ended?.actor ?? null,
    reply: answered?.reply ?? null,
  }
}

/** A session in a list. It is made of the row of the read model alone, so a list of thousands reads no log. */
export function summaryCard(session_id: string, row: Summary, now: number, left?: Left): SummaryCard {
  const { open_runs, waiting, last_run: _, event_id: updated_event_id, ...rest } = row
  const run = urgentRun(row)
  const abandoned = left === undefined ? null : abandonedBy(left)
  return {
    session_id,
    ...rest,
    updated_event_id,
    status: run?.status ?? null,
    run_id: run?.run_id ?? null,
    status_since: run?.since ?? null,
    open_runs: open_runs.length,
    waiting_for: waiting[0] ?? null,
    waiting: waiting.length,
    abandoned,
    current_line:
      abandoned?.says ??
      rowLine({ ...row, session_id, failure: run?.status === 'failed' ? row.last_error : null }, now),
  }
}

function urgentRun(row: Summary): RunAt | null {
  const status = statusOf(row)
  return row.open_runs.find((run) => run.status === status) ?? row.last_run
}

/** The abandoned runs of one session; undefined if it has none. */
export async function leftIn(backend: Backend, session_id: string): Promise<Left | undefined> {
  return (await leftBehind(backend, (id) => id === session_id)).get(session_id)
}

/** The abandoned runs of the wanted sessions, with the calls whose outcome is unknown. Reads only. */
export async function leftBehind(backend: Backend, isWanted: (session_id: string) => boolean) {
  const runs = new Map<string, Set<string>>()
  for (const { session_id, run_id } of await backend.abandoned())
    if (isWanted(session_id)) runs.set(session_id, (runs.get(session_id) ?? new Set()).add(run_id))
  const left = new Map<string, Left>()
  for (const [session_id, run_ids] of runs) {
    const { state, hidden } = await backend.views.of(session_id)
    const unsettled = unsettledIn(state, run_ids).filter(({ execution_id }) => !hidden.has(execution_id))
    left.set(session_id, { run_ids, unsettled })
  }
  return left
}
