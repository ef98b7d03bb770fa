import { Fault } from '../../faults/fault.ts'
import { canonicalJson, type Json } from '../../kernel/json.ts'
import type { ContractStatus } from '../../machines/contract.ts'
import { consequenceLabels, summary } from '../../observation/contract.ts'
import type { CallView } from '../../observation/session-state.ts'
import type { Refused } from '../../runelog/port.ts'
import type { Evidence } from '../../runes/kinds.ts'
import type { Message } from '../../wire/dialogue.ts'
import { type Batch, subject } from '../batch.ts'
import { advance } from './advance.ts'
import * as write from './calls.ts'
import { begin } from './effects.ts'
import { failRun, notBegun } from './end.ts'
import { batchFor, callsOf, commit, commitThen, type Hold, heldTurn, isUnderWay, turnOf, type Went } from './hold.ts'
import { continueLost } from './probe.ts'

/** The calls of an answer, and the batch that records them. */
export interface Received {
  readonly batch: Batch
  readonly calls: readonly CallView[]
}

/**
 * Executes the calls of a round until the model can continue, or this worker is done with the run. Calls that the model
 * just made are `received`; calls found by a restart or an answer are in the record.
 */
export async function work(hold: Hold, received?: Received): Promise<Went> {
  for (let next = received; ; next = undefined) {
    // Taken first, so that a change during the next append is seen after it.
    const changed = hold.changed.promise
    const { batch, calls } = next ?? { batch: batchFor(hold), calls: callsOf(hold) }
    recordOutcomes(hold, batch, calls)
    const went = await proceed(hold, batch, calls)
    if (went instanceof Fault) return went
    hold.answer = undefined
    if (went !== 'wait') return went
    if (mustStop(hold)) return 'on'
    await somethingHappens(hold, changed)
    if (mustStop(hold)) return 'on'
  }
}

/**
 * Advances the calls, commits, and begins the calls that may begin. When no effect is under way, the round ends in the
 * same append: the model continues, or the run waits for people.
 */
async function proceed(hold: Hold, batch: Batch, calls: readonly CallView[]): Promise<Went | 'wait'> {
  const next = advance(hold, batch, calls)
  // A run that was asked to stop is stopped. Its open calls do not fail it.
  if (next.unknowable !== undefined && hold.run.cancel === null) {
    const recorded = await commit(hold, batch)
    if (recorded instanceof Fault) return recorded
    for (const call of next.probe) continueLost(hold, call)
    if (isUnderWay(hold)) return 'wait'
    // It may have been asked to stop during the append.
    if (hold.run.cancel !== null) return 'on'
    const { action_summary } = next.unknowable
    const message = `It is unknown whether ${action_summary} happened; the question about it is in the inbox.`
    return failRun(hold, { error_code: 'OUTCOME_UNKNOWN', message })
  }
  if (hold.run.cancel !== null && !isUnderWay(hold)) return commitThen(hold, batch, 'on')
  if (!next.isBusy) {
    if (next.ask.length > 0 || next.isAsking) return park(hold, batch, calls, next.ask)
    return commitThen(hold, batch, finishTools(hold, batch, calls))
  }
  const recorded = await commit(hold, batch, next.begin)
  if (recorded instanceof Fault) return recorded
  for (const call of next.begin) begin(hold, hold.state.calls.get(call.call_id) ?? call)
  for (const call of next.probe) continueLost(hold, call)
  return 'wait'
}

/** An interrupt waits for the effects under way; a cancel, a shutdown and a lost lease do not. */
function mustStop(hold: Hold): boolean {
  return hold.run.cancel === 'cancel' || hold.isLeaving || hold.lease.signal.aborted
}

async function somethingHappens(hold: Hold, changed: Promise<void>) {
  const fresh = [...hold.inHand].flatMap(([call_id, entry]) => (hold.unknown.has(call_id) ? [] : [entry]))
  if (fresh.some((entry) => entry.outcome !== undefined)) return
  await Promise.race([...fresh.map((entry) => entry.done), changed])
}

/** Puts the known outcomes into the batch. An outcome that cannot be known is marked for a person. */
export function recordOutcomes(hold: Hold, batch: Batch, calls: readonly CallView[]) {
  for (const call of calls) {
    const outcome = hold.inHand.get(call.call_id)?.outcome
    if (outcome === undefined || hold.unknown.has(call.call_id)) continue
    const add = (evidence: Evidence | undefined) => evidence && write.evidenceAdded(batch, call, evidence)
    switch (outcome.status) {
      case 'success':
        write.succeeded(batch, call, outcome)
        break
      case 'error':
        write.failed(batch, call, { error: outcome.error, error_kind: outcome.error_kind })
        break
      case 'sandbox_violation':
        write.failed(batch, call, { error: outcome.error, error_kind: outcome.status, status: outcome.status })
        break
      case 'timeout': {
        const error = write.tookTooLong(call)
        // An irreversible call that may not be repeated has an unknown outcome; every other call has failed.
        if (!call.irreversible || call.idempotent)
          write.failed(batch, call, { error, error_kind: 'timeout', status: 'timeout' })
        else {
          add({ source: 'timeout', message: error })
          hold.inHand.delete(call.call_id)
        }
        break
      }
      case 'cancelled':
        if (!outcome.began) write.failed(batch, call, notBegun)
        else {
          add(outcome.evidence)
          hold.unknown.add(call.call_id)
        }
        break
      case 'unknown':
        add(outcome.evidence)
        // As after a timeout, the probe is asked next; after the probe, a person.
        if (outcome.evidence?.source === 'tool') hold.inHand.delete(call.call_id)
        else hold.unknown.add(call.call_id)
    }
  }
}

/** The model continues with the results, or the result of a call that ends the turn becomes that of the run. */
function finishTools(hold: Hold, batch: Batch, calls: readonly CallView[]): 'on' | 'over' {
  const turn = batch.on(heldTurn(hold), 'graph_runner')
  const last = calls.find(
    ({ ends_turn, execution_id }) => ends_turn && batch.stateOf(execution_id ?? '') === 'completed',
  )
  if (last !== undefined) {
    const { result } = outcomeOf(hold, batch, last.call_id)
    const final_output = typeof result === 'string' ? result : canonicalJson(result)
    const usage = { input_tokens: 0, output_tokens: 0 }
    turn.move('tools_finished', { final_output, usage, round: turnOf(hold).round, finish: 'no_more_calls' })
    batch.on(subject.run(hold.run), 'graph_runner').move('turn.succeeded', { result })
    return 'over'
  }
  const results = calls.map((call) => {
    const status = (batch.stateOf(call.execution_id ?? '') ?? call.contract ?? 'rejected') as ContractStatus
    const { call_id, action_summary } = call
    const { result, error } = outcomeOf(hold, batch, call_id)
    return {
      call_id,
      label: consequenceLabels[status],
      summary: action_summary,
      result_summary: result === null ? null : summary(result),
      error_summary: error === null ? null : summary(error),
    }
  })
  turn.move('tools_finished', { results })
  return 'on'
}

function outcomeOf({ agent }: Hold, { runes }: Batch, call_id: string) {
  let result: Json = null
  let error: string | null = null
  // The messages of this round are at the end, however long the dialogue is.
  for (const message of lastOf(agent.dialogue.messages))
    if (message.call_id === call_id) ({ result, error_message: error } = message.consequence)
  for (const rune of runes) {
    if (rune.call_id !== call_id) continue
    if (rune.kind === 'contract.moved') ({ result = result, error_message: error = error } = rune.payload)
    else if (rune.kind === 'tool.result') ({ output: result = result, error = error } = rune.payload)
  }
  return { result, error }
}

function* lastOf(messages: readonly Message[]) {
  for (let i = messages.length - 1; i >= 0; i--) {
    const message = messages[i]
    if (message?.role !== 'tool') return
    yield message
  }
}

async function park(
  hold: Hold,
  batch: Batch,
  calls: readonly CallView[],
  ask: readonly (() => void)[],
): Promise<'over' | Refused> {
  for (const write of ask) write()
  const opened = batch.runes.flatMap((r) => (r.kind === 'interaction.opened' ? [r.interaction_id ?? ''] : []))
  const open = calls.flatMap(({ interaction_id: id }) => (id !== null && batch.stateOf(id) === 'open' ? [id] : []))
  batch.on(subject.run(hold.run), 'graph_runner').move('turn.needs_input', { interaction_ids: [...open, ...opened] })
  // An answer that is recorded first is used first: a run that waits for it would wait forever.
  for (const interaction_id of open) batch.restOn(interaction_id)
  const recorded = await commit(hold, batch)
  if (recorded instanceof Fault) return recorded
  for (const { kind, payload, interaction_id = '' } of recorded)
    if (kind === 'interaction.opened' && payload.deadline !== null)
      hold.engine.deadline(interaction_id, hold.state.session_id, payload.deadline)
  return 'over'
}
