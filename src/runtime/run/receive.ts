import { isFault } from '../../faults/catalogue.ts'
import { canonicalJson } from '../../kernel/canonical-json.ts'
import type { Json } from '../../kernel/json.ts'
import { consequenceView, contractHistories } from '../../observation/contract.ts'
import type { CallView, SessionState } from '../../observation/session-state.ts'
import { summary } from '../../observation/summary.ts'
import { type Claim, claimKey, claims, isClaim } from '../../runelog/models.ts'
import { runesOf } from '../../runelog/queries.ts'
import { type Batch, subject } from '../batch.ts'
import { readEcsRequest } from '../ecs/request.ts'
import { askPersonName } from '../ecs/shapes.ts'
import type { Engine } from '../engine.ts'
import { readThrown } from '../thrown.ts'
import { actionOf, idempotencyKey, saltedKey } from '../tools/policy.ts'
import type { ReadCall } from '../tools/registry.ts'
import type { Tool } from '../tools/tool.ts'
import type { Answer, WrittenCall } from '../turns/answer.ts'
import { writtenArguments } from '../turns/model-call.ts'
import * as write from './calls.ts'
import { batchFor, type Hold, turnOf } from './hold.ts'
import { proceed } from './round.ts'

type Calls = Extract<Answer, { kind: 'calls' }>

interface Planned {
  readonly call: write.PlannedCall
  /** It cannot be carried out, and this is what the model is told. */
  readonly problem?: string
  /** An irreversible action whose key someone has already. */
  readonly duplicate?: string
}

/** Each time someone else must have taken a key in between; so often, it is a mistake of ours. */
const tries = 20

/** The claims that the store named when it refused a key. Its rows may not have them: the log proves them, too. */
type Named = Map<string, Claim>

/**
 * Records the calls of an answer. If the store refuses a key, the calls are
 * planned again: what was free when it was planned is a duplicate by now.
 */
export async function receive(
  engine: Engine,
  hold: Hold,
  answer: Calls,
  read: readonly ReadCall[],
): Promise<'on' | 'over'> {
  const named: Named = new Map()
  for (let left = tries; ; left--)
    try {
      const planned = await Promise.all(
        answer.calls.map((call, i) => plan(engine, hold, { call, read: read[i] as ReadCall }, named)),
      )
      return await receivePlanned(engine, hold, answer, planned)
    } catch (error) {
      if (!isFault(error, 'key_taken') || left === 0) throw error
      const { key, ...claim } = error.details as Claim & { readonly key: string }
      named.set(key, claim)
    }
}

/**
 * Records the calls of an answer, each with its contract, and in the same append begins what may begin: a plain step
 * costs two commits, this one and the one that holds its result.
 */
async function receivePlanned(
  engine: Engine,
  hold: Hold,
  { text, usage, provider_state }: Calls,
  planned: Planned[],
): Promise<'on' | 'over'> {
  markDuplicates(planned)
  const batch = batchFor(engine, hold)
  const { turn_id, round } = turnOf(hold)
  const state = provider_state !== undefined && { provider_state, provider_model: hold.definition.model.id }
  const payload = { call_ids: planned.map((p) => p.call.call_id), round: round + 1, text, usage, ...state }
  batch.on(subject.turn(hold.run, turn_id), 'reasoning').move('tool_calls_received', payload)
  for (const each of planned) record(engine, batch, each)
  const went = await proceed(
    engine,
    hold,
    batch,
    planned.map((p) => p.call),
  )
  return went === 'wait' ? 'on' : went
}

function record(_engine: Engine, batch: Batch, { call, problem, duplicate }: Planned) {
  if (duplicate !== undefined) return write.duplicateRefused(batch, call, duplicate)
  if (call.action_type === 'ecs_request') write.asked(batch, call)
  else write.called(batch, call)
  if (problem === undefined) return
  if (call.action_type === 'ecs_request') return write.stepDeclined(batch, call, problem)
  write.started(batch, call)
  write.failed(batch, call, { error: problem, error_kind: 'invalid_call' })
}

/** It is a step for a person. To an agent that may not ask, the tool does not exist. */
export function isStep({ definition }: Hold, name: string): boolean {
  return name === askPersonName && definition.mayAsk
}

interface Received {
  readonly call: WrittenCall
  readonly read: ReadCall
}

async function plan(
  engine: Engine,
  hold: Hold,
  { call: received, read: asRead }: Received,
  named: Named,
): Promise<Planned> {
  if (isStep(hold, received.name)) return planStep(engine, hold, received)
  const { registry } = hold.definition
  const read = await cleaned(engine, asRead)
  const base = blank(engine, hold, received.name, read.args)
  const call: write.PlannedCall = {
    ...base,
    action_type: 'tool_call',
    action_summary: received.name,
    action_detail: { ...actionOf(received.name), args: read.args },
    definition_sha256: registry.digestOf(received.name),
  }
  if ('problem' in read) return { call, problem: read.problem }

  const { tool } = read
  const keyed = keyOf(engine, hold, tool, call)
  if ('problem' in keyed) return { call, problem: keyed.problem }
  const { key } = keyed
  const planned = {
    ...call,
    irreversible: tool.irreversible,
    read_only: tool.readOnly,
    idempotent: tool.idempotent,
    ends_turn: tool.endsTurn,
    idempotency_key: key,
    key_scope: tool.keyScope,
    timeout_ms: tool.timeoutMs,
  }
  if (!isOneAction(tool)) return { call: planned }
  const claimOn = async (taken: string) => {
    const name = claimKey(tool.keyScope, hold.state.session_id, taken)
    const claim = (await engine.runelog.row(claims, name))?.value
    return claim !== undefined && isClaim(claim) ? claim : named.get(name)
  }
  // Each time that a person let it be done again gave it one more key, by the one that was taken.
  let free = key
  for (let claim = await claimOn(free); claim !== undefined; claim = await claimOn(free)) {
    const again = (await stateWith(engine, hold, claim)).repeats.get(free)
    if (again === undefined) return refused(planned, await alreadyThere(engine, hold, claim))
    free = again
  }
  return { call: { ...planned, idempotency_key: free } }
}

/** The session that has the claim, where its repetition is allowed. For a global key that may be another one. */
async function stateWith({ sessions }: Engine, { state }: Hold, { session_id }: Claim): Promise<SessionState> {
  return session_id === state.session_id ? state : sessions.load(session_id)
}

/** A second call for it, with the same arguments, is the same action. */
const isOneAction = (tool: Tool) => tool.irreversible && tool.dedupe

/**
 * The key goes out to the service that carries the action out. The same action in two sessions is two actions, unless its scope
 * is global, so the session is in it: else a service would take the second for a repetition, and a probe find the first.
 * The key function is the developer's: one that throws makes a call that cannot be carried out, not a crash.
 */
function keyOf(
  engine: Engine,
  hold: Hold,
  tool: Tool,
  { call_id, arguments: args }: CallView,
): { key: string } | { problem: string } {
  if (!isOneAction(tool)) return { key: call_id }
  try {
    const key = idempotencyKey(tool, args, engine.sha256)
    return { key: tool.keyScope === 'global' ? key : saltedKey(key, hold.state.session_id, engine.sha256) }
  } catch (error) {
    return {
      problem: `The key of ${tool.name} could not be made: ${readThrown(error, engine.redactor.redact).message} It was not run.`,
    }
  }
}

/** One value is recorded, approved, hashed and run: the one without secrets. */
async function cleaned(engine: Engine, read: ReadCall): Promise<ReadCall> {
  return { ...read, args: (await engine.redactor.cleanLong(read.args)).value }
}

/** A refused duplicate has no contract, and nothing of it is left to be done. */
function refused(call: write.PlannedCall, duplicate: string): Planned {
  return { call: { ...call, execution_id: null, contract: null }, duplicate }
}

async function alreadyThere(engine: Engine, hold: Hold, { execution_id, session_id, state }: Claim): Promise<string> {
  if (state !== 'completed')
    return `It is already under way as ${execution_id}, which is ${state}; it is not started a second time.`
  // What another session got for it is not this one's to know.
  const result = session_id === hold.state.session_id ? await resultOf(engine, execution_id) : null
  const told = result === null ? '' : `, with the result ${summary(result)}`
  return `It was already completed as ${execution_id}${told}; it is not done a second time.`
}

async function resultOf(engine: Engine, execution_id: string): Promise<Json> {
  const history = contractHistories(await runesOf(engine.runelog, execution_id)).get(execution_id)
  return history === undefined ? null : consequenceView(history).result
}

async function planStep(engine: Engine, hold: Hold, received: WrittenCall): Promise<Planned> {
  const given = writtenArguments(received.arguments, engine.redactor.redact)
  const { value: args } = await engine.redactor.cleanLong('value' in given ? given.value : given.written)
  const read = 'problem' in given ? { problem: given.problem } : readEcsRequest(args)
  const { type = 'form', title = '' } = ('request' in read ? read.request : {}) as { type?: string; title?: string }
  const call: write.PlannedCall = {
    ...blank(engine, hold, received.name, args),
    action_type: 'ecs_request',
    action_summary: title === '' ? `ecs:${type}` : title,
    action_detail: { type, id: '', title, name: received.name, arguments: args },
  }
  return 'problem' in read ? { call, problem: read.problem } : { call }
}

function blank(engine: Engine, hold: Hold, name: string, args: Json): write.PlannedCall {
  const now = engine.clock.now()
  return {
    call_id: engine.ids.next('call'),
    execution_id: engine.ids.next('exe'),
    run_id: hold.run.run_id,
    agent_id: hold.run.agent_id,
    turn_id: turnOf(hold).turn_id,
    action_type: 'tool_call',
    name,
    arguments: args,
    definition_sha256: null,
    ends_turn: false,
    is_erased: false,
    tool: 'pending_call',
    contract: 'pending',
    reason: null,
    decided_by: null,
    irreversible: false,
    read_only: false,
    idempotent: false,
    idempotency_key: null,
    key_scope: 'session',
    timeout_ms: null,
    action_summary: name,
    action_detail: {},
    started_at: now,
    opened_at: now,
    interaction_id: null,
    evidence: [],
  }
}

/** Of two calls in one answer that are one action, the first has the key. */
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
