import { canonicalJson } from '../../kernel/canonical-json.ts'
import type { Json } from '../../kernel/json.ts'
import type { ContractStatus } from '../../machines/contract.ts'
import { consequenceLabels } from '../../observation/contract.ts'
import type { Message } from '../../observation/dialogue.ts'
import type { CallView } from '../../observation/session-state.ts'
import { summary } from '../../observation/summary.ts'
import { type Batch, subject } from '../batch.ts'
import type { Engine } from '../engine.ts'
import { advance } from './advance.ts'
import * as write from './calls.ts'
import { begin, probe } from './effects.ts'
import { failRun, notBegun } from './end.ts'
import { batchFor, callsOf, commit, type Hold, heldTurn, isUnderWay, type Step, turnOf } from './hold.ts'

/**
 * Carries out the calls of a round: records what is known, begins what may begin, and comes back when the model can go
 * on or when the run is over for this worker.
 */
export async function work(engine: Engine, hold: Hold): Promise<'on' | 'over'> {
  for (;;) {
    // Before anything is looked at: what comes while the next append is on its way is looked at after it.
    const changed = hold.changed.promise
    const calls = callsOf(hold)
    const batch = batchFor(engine, hold)
    recordOutcomes(hold, batch, calls)
    const went = await proceed(engine, hold, batch, calls)
    if (went !== 'wait') return went
    if (mustStop(hold)) return 'on'
    await somethingHappens(hold, changed)
    if (mustStop(hold)) return 'on'
  }
}

/**
 * Advances the calls, commits what came of it, and begins what may begin. When nothing is left under way, the round
 * ends in the same append: the model goes on, or the run waits for people.
 */
export async function proceed(
  engine: Engine,
  hold: Hold,
  batch: Batch,
  calls: readonly CallView[],
): Promise<'on' | 'over' | 'wait'> {
  const next = advance({ engine, hold, batch }, calls)
  // Who was asked to stop is stopped, and does not fail over what it leaves behind.
  if (next.unknowable !== undefined && hold.run.cancel === null) {
    const { action_summary } = next.unknowable
    if (batch.runes.length > 0) await commit(engine, hold, batch)
    for (const call of next.probe) probe(engine, hold, call)
    // The run fails over it, but not over what is still under way beside it: that comes to its end first.
    if (isUnderWay(hold)) return 'wait'
    const message = `It is unknown whether ${action_summary} happened; the question about it is in the inbox.`
    return failRun(engine, hold, { error_code: 'OUTCOME_UNKNOWN', message })
  }
  if (hold.run.cancel !== null && !isUnderWay(hold)) {
    if (batch.runes.length > 0) await commit(engine, hold, batch)
    return 'on'
  }
  if (!next.isBusy) {
    if (next.ask.length > 0 || next.isAsking) return park({ engine, hold, batch }, calls, next.ask)
    const went = finishTools(hold, batch, calls)
    await commit(engine, hold, batch)
    return went
  }
  if (batch.runes.length > 0) await commit(engine, hold, batch)
  for (const call of next.begin) begin(engine, hold, hold.state.calls.get(call.call_id) ?? call)
  for (const call of next.probe) probe(engine, hold, call)
  return 'wait'
}

/** An interrupt waits for the effects under way; a cancel, a shutdown and a lost lease do not. */
function mustStop(hold: Hold): boolean {
  return hold.run.cancel === 'cancel' || hold.isLeaving || hold.lease.signal.aborted
}

async function somethingHappens(hold: Hold, changed: Promise<void>) {
  const fresh = [...hold.inHand].filter(([call_id]) => !hold.unknown.has(call_id)).map(([, entry]) => entry)
  if (fresh.some((entry) => entry.outcome !== undefined)) return
  await Promise.race([...fresh.map((entry) => entry.done), changed])
}

/** Puts the outcomes that came in into the batch. What may have happened, and cannot be known, is marked for a person. */
export function recordOutcomes(hold: Hold, batch: Batch, calls: readonly CallView[]) {
  for (const call of calls) {
    const outcome = hold.inHand.get(call.call_id)?.outcome
    if (outcome === undefined || hold.unknown.has(call.call_id)) continue
    switch (outcome.status) {
      case 'success': {
        const { output, duration_ms, output_ref } = outcome
        write.succeeded(batch, call, output, { duration_ms, ...(output_ref === undefined ? {} : { output_ref }) })
        break
      }
      case 'error':
        write.failed(batch, call, { error: outcome.error, error_kind: outcome.error_kind })
        break
      case 'sandbox_violation':
        write.failed(batch, call, { error: outcome.error, error_kind: outcome.status, status: outcome.status })
        break
      case 'timeout':
        if (isSafeToDrop(call)) write.timedOut(batch, call)
        else {
          const message = `It took longer than ${call.timeout_ms} ms.`
          write.evidenceAdded(batch, call, { source: 'timeout', message })
          hold.inHand.delete(call.call_id)
        }
        break
      case 'cancelled':
        if (!outcome.began) write.failed(batch, call, notBegun)
        else {
          if (outcome.evidence !== undefined) write.evidenceAdded(batch, call, outcome.evidence)
          hold.unknown.add(call.call_id)
        }
        break
      case 'unknown':
        if (outcome.evidence !== undefined) write.evidenceAdded(batch, call, outcome.evidence)
        // As after a timeout, the probe is asked next. What the probe could not tell either is for a person.
        if (outcome.evidence?.source === 'tool') hold.inHand.delete(call.call_id)
        else hold.unknown.add(call.call_id)
    }
  }
}

/** An execution timeout of what cannot be undone or repeated leaves its outcome unknown; of anything else it is a failure. */
function isSafeToDrop({ irreversible, idempotent }: CallView): boolean {
  return !irreversible || idempotent
}

/** The model goes on with the results, or the result of a call that ends the turn is that of the run. */
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

/** What a call returned, or why it failed: from this append, or from what the model is told of it. */
function outcomeOf({ agent }: Hold, { runes }: Batch, call_id: string) {
  let result: Json = null
  let error: string | null = null
  // What the model is told of this round is at the end, however long the dialogue is.
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

/** What needs no answer is done; the rest waits for people, and the worker is free for others. */
async function park(
  { engine, hold, batch }: Step,
  calls: readonly CallView[],
  ask: readonly (() => void)[],
): Promise<'over'> {
  for (const write of ask) write()
  const opened = batch.runes.flatMap((r) => (r.kind === 'interaction.opened' ? [r.interaction_id ?? ''] : []))
  const open = calls.flatMap((c) =>
    c.interaction_id !== null && batch.stateOf(c.interaction_id) === 'open' ? [c.interaction_id] : [],
  )
  batch.on(subject.run(hold.run), 'graph_runner').move('turn.needs_input', { interaction_ids: [...open, ...opened] })
  // An answer that came meanwhile is used first: a run that waits for it would wait for ever.
  for (const interaction_id of open) batch.restOn(interaction_id)
  const runes = await commit(engine, hold, batch)
  for (const rune of runes)
    if (rune.kind === 'interaction.opened' && rune.payload.deadline !== null)
      engine.deadline(rune.interaction_id ?? '', hold.state.session_id, rune.payload.deadline)
  return 'over'
}
