import type { FaultOf } from '../../faults/catalogue.ts'
import { canonicalJson, type Json } from '../../kernel/json.ts'
import { isTerminal } from '../../kernel/machine.ts'
import { contractMachine } from '../../machines/contract.ts'
import { toolMachine } from '../../machines/tool.ts'
import { consequenceView, contractHistories, summary } from '../../observation/contract.ts'
import { blankCall } from '../../observation/fold-run.ts'
import type { CallView, SessionState } from '../../observation/session-state.ts'
import { claimKey, claims, isClaim, runesOf } from '../../runelog/models.ts'
import type { Batch } from '../batch.ts'
import { askPersonName, readEcsRequest } from '../ecs/request.ts'
import type { Engine } from '../engine.ts'
import { readThrown } from '../thrown.ts'
import { actionOf, idempotencyKey, saltedKey } from '../tools/policy.ts'
import type { ReadCall } from '../tools/registry.ts'
import type { Tool } from '../tools/tool.ts'
import type { Answer, WrittenCall } from '../turns/answer.ts'
import { writtenArguments } from '../turns/model-call.ts'
import * as write from './calls.ts'
import { batchFor, type Hold, heldTurn, turnOf } from './hold.ts'
import type { Received } from './round.ts'

type Calls = Extract<Answer, { kind: 'calls' }>

type Planned = { readonly call: write.PlannedCall; readonly problem?: string; readonly duplicate?: string }

/**
 * Puts the calls of an answer into a batch, each with its contract. Calls that may begin begin in the same append, so a
 * plain step costs two commits: this one, and the one with its result. If the log refuses a key, the calls are planned
 * again, with the claim on that key.
 */
export async function receive(hold: Hold, answer: Calls, read: readonly ReadCall[]): Promise<Received> {
  const { text, usage, provider_state } = answer
  const planned = await Promise.all(answer.calls.map((call, i) => plan(hold, call, read[i] as ReadCall)))
  markDuplicates(planned)
  const batch = batchFor(hold)
  const calls = planned.map(({ call }) => call)
  const state = provider_state !== undefined && { provider_state, provider_model: hold.definition.model.id }
  const round = turnOf(hold).round + 1
  const payload = { call_ids: calls.map(({ call_id }) => call_id), round, text, usage, ...state }
  batch.on(heldTurn(hold), 'reasoning').move('tool_calls_received', payload)
  for (const each of planned) record(batch, each)
  return { batch, calls }
}

function record(batch: Batch, { call, problem, duplicate }: Planned) {
  if (duplicate !== undefined) return write.duplicateRefused(batch, call, duplicate)
  write.called(batch, call)
  if (problem === undefined) return
  if (call.action_type === 'ecs_request') return write.stepDeclined(batch, call, problem)
  write.started(batch, call)
  write.failed(batch, call, { error: problem, error_kind: 'invalid_call' })
}

/** The call is a step for a person. An agent that may not ask does not have this tool. */
export function isStep({ definition }: Hold, name: string): boolean {
  return name === askPersonName && definition.mayAsk
}

async function plan(hold: Hold, received: WrittenCall, read: ReadCall): Promise<Planned> {
  if (isStep(hold, received.name)) return planStep(hold, received)
  const { engine, state, definition } = hold
  const { name } = received
  // One value is recorded, approved, hashed and executed: the one without secrets.
  const { value: args } = await engine.redactor.cleanLong(read.args)
  const call: write.PlannedCall = {
    ...blank(hold, 'tool_call', name, args),
    action_summary: name,
    action_detail: { ...actionOf(name), args },
    definition_sha256: definition.registry.digestOf(name),
  }
  if ('problem' in read) return { call, problem: read.problem }

  const { tool } = read
  const keyed = keyOf(hold, tool, call)
  if ('problem' in keyed) return { call, problem: keyed.problem }
  const planned = {
    ...call,
    irreversible: tool.irreversible,
    read_only: tool.readOnly,
    idempotent: tool.idempotent,
    ends_turn: tool.endsTurn,
    idempotency_key: keyed.key,
    key_scope: tool.keyScope,
    timeout_ms: tool.timeoutMs,
  }
  if (!isOneAction(tool)) return { call: planned }
  const claimOn = async (taken: string) => {
    const row = claimKey(tool.keyScope, state.session_id, taken)
    const claim = (await engine.runelog.row(claims, row))?.value
    if (claim !== undefined && isClaim(claim)) return claim
    return hold.answer?.taken.get(row) ?? begunHere(state, taken)
  }
  // Each permission to repeat the action made one more key, derived from the one that was taken.
  let free = keyed.key
  for (let claim = await claimOn(free); claim !== undefined; claim = await claimOn(free)) {
    const { repeats } = claim.session_id === state.session_id ? state : await engine.sessions.load(claim.session_id)
    const again = repeats.get(free)
    if (again === undefined) return refused(planned, await alreadyThere(hold, claim))
    free = again
  }
  return { call: { ...planned, idempotency_key: free } }
}

/** A call of the folded session that holds a key, whatever the rows say. The fold forgets one that ended with its round. */
function begunHere({ session_id, calls }: SessionState, key: string): Taken | undefined {
  for (const { execution_id, contract: at, irreversible, idempotency_key } of calls.values()) {
    if (!irreversible || idempotency_key !== key || execution_id === null || at === null) continue
    if (at === 'completed' || !isTerminal(contractMachine, at)) return { execution_id, session_id, state: at }
  }
  return undefined
}

const isOneAction = (tool: Tool) => tool.irreversible && tool.dedupe

/**
 * The key is sent to the service that performs the action. The same action in two sessions is two actions, unless its
 * scope is global, so the key contains the session. Otherwise a service would take the second action for a repetition,
 * and a probe would find the first. A key function that throws makes a call that cannot be executed, not a crash.
 */
function keyOf(
  { engine: { sha256, redactor }, state }: Hold,
  tool: Tool,
  { call_id, arguments: args }: CallView,
): { key: string } | { problem: string } {
  if (!isOneAction(tool)) return { key: call_id }
  try {
    const key = idempotencyKey(tool, args, sha256)
    return { key: tool.keyScope === 'global' ? key : saltedKey(key, state.session_id, sha256) }
  } catch (error) {
    const { message } = readThrown(error, redactor.redact)
    return { problem: `The key of ${tool.name} could not be made: ${message} It was not run.` }
  }
}

function refused(call: write.PlannedCall, duplicate: string): Planned {
  return { call: { ...call, execution_id: null, contract: null }, duplicate }
}

type Taken = Pick<FaultOf<'key_taken'>['details'], 'execution_id' | 'session_id' | 'state'>

async function alreadyThere(hold: Hold, { execution_id, session_id, state }: Taken): Promise<string> {
  if (state !== 'completed')
    return `It is already under way as ${execution_id}, which is ${state}; it is not started a second time.`
  // The result of another session is not shown to this one.
  const result = session_id === hold.state.session_id ? await resultOf(hold.engine, execution_id) : null
  const shown = result === null ? '' : `, with the result ${summary(result)}`
  return `It was already completed as ${execution_id}${shown}; it is not done a second time.`
}

async function resultOf(engine: Engine, execution_id: string): Promise<Json> {
  const history = contractHistories(await runesOf(engine.runelog, execution_id)).get(execution_id)
  return history === undefined ? null : consequenceView(history).result
}

async function planStep(hold: Hold, { name, arguments: written }: WrittenCall): Promise<Planned> {
  const { redactor } = hold.engine
  const given = writtenArguments(written, redactor.redact)
  const { value: args } = await redactor.cleanLong('value' in given ? given.value : given.written)
  const read = 'problem' in given ? { problem: given.problem } : readEcsRequest(args)
  const { type = 'form', title = '' } = ('request' in read ? read.request : {}) as { type?: string; title?: string }
  const call: write.PlannedCall = {
    ...blank(hold, 'ecs_request', name, args),
    action_summary: title === '' ? `ecs:${type}` : title,
    action_detail: { type, id: '', title, name, arguments: args },
  }
  return 'problem' in read ? { call, problem: read.problem } : { call }
}

function blank(hold: Hold, action_type: CallView['action_type'], name: string, args: Json) {
  const { ids, clock } = hold.engine
  const at = clock.now()
  return {
    ...blankCall({ ...heldTurn(hold).about, at }, ids.next('call'), action_type),
    execution_id: ids.next('exe'),
    tool: toolMachine.initial,
    contract: contractMachine.initial,
    started_at: at,
    key_scope: 'session' as const,
    name,
    arguments: args,
  }
}

/** Of two calls in one answer that are one action, the first gets the key. */
function markDuplicates(planned: Planned[]) {
  const seen = new Map<string, string>()
  for (const [i, each] of planned.entries()) {
    const { call } = each
    if (!call.irreversible || call.execution_id === null) continue
    const key = canonicalJson([call.key_scope, call.idempotency_key])
    const first = seen.get(key)
    if (first === undefined) seen.set(key, call.execution_id)
    else planned[i] = refused(call, `It is already asked for in this answer, as ${first}; it is not started twice.`)
  }
}
