import type { z } from 'zod'
import { faults } from '../../faults/catalogue.ts'
import { Fault } from '../../faults/fault.ts'
import { isoTime } from '../../kernel/instant.ts'
import { boundedJson, canonicalJson, type Json, jsonLimits, type Problem } from '../../kernel/json.ts'
import { isTerminal } from '../../kernel/machine.ts'
import { refusalOf, suppose } from '../../kernel/transition.ts'
import { contractMachine } from '../../machines/contract.ts'
import { runMachine } from '../../machines/run.ts'
import { type ContractHistory, contractHistories, snapshot, statusOf } from '../../observation/contract.ts'
import { positionOf } from '../../observation/graph-state.ts'
import type { CallView, InteractionView, SessionState } from '../../observation/session-state.ts'
import { type Last, runesOf, subjectOf } from '../../runelog/models.ts'
import type { Payload } from '../../runes/kinds.ts'
import type { Rune } from '../../runes/rune.ts'
import type { ExecutionSnapshot } from '../../wire/contract.ts'
import { type ApprovalDecision, type ReplyKind, replyShapes } from '../../wire/interaction.ts'
import { aboutRun, type Batch, executionOf, subject } from '../batch.ts'
import { change } from '../decide-and-append.ts'
import { checkAnswer, readEcsRequest } from '../ecs/request.ts'
import type { Engine } from '../engine.ts'
import { type OptionsOf, type RecordOf, withoutUndefined } from '../options.ts'
import { settle } from '../run/calls.ts'
import { obstacleToDidNot, sayObstacle, settlementIn } from '../run/closing.ts'
import { shapeProblems } from '../shape-problems.ts'
import { readThrown } from '../thrown.ts'
import { saltedKey } from '../tools/policy.ts'

/** The name of a person who gives none. */
const anyPerson = 'human'

/** Options of every reply. */
export interface ReplyOptions {
  /** The name of the person. Default: `human`. */
  readonly repliedBy?: string
  /** The same reply with the same key, sent again, is accepted again and does nothing more. */
  readonly idempotencyKey?: string
  /** Ids of the contracts that the client expects to wait. Default: those with an open question. */
  readonly expectedWaiting?: readonly string[]
}

/** A reply to a question, in the form in which it is recorded. */
export interface Reply extends ReplyOptions {
  /** `{ decision }` for an approval, `{ outcome }` for a settlement, `{ action, data }` for a form, `{ answer }` for a question. */
  readonly reply: Json
}

/** The result of a reply. */
export interface Replied extends OptionsOf<Pick<Alignment, 'snapshot' | 'is_aligned'>> {
  /** The question. */
  readonly interactionId: string
  /** The session of the question. */
  readonly sessionId: string
  /** The run that asked; null if a plan or a goal did. */
  readonly runId: string | null
  /** The same reply with the same idempotency key was accepted before. */
  readonly isRepeated: boolean
}

/** Answers a question. Of several replies one wins, and the others are refused with its author. */
export async function reply(engine: Engine, interaction_id: string, given: RecordOf<Reply>) {
  const { session_id } = await subjectOf(engine.runelog, 'interaction', interaction_id)
  const answer = (batch: Batch) => decide(engine, batch, interaction_id, given)
  const inTime = await change(engine, session_id, (batch) =>
    isLatePack(batch, interaction_id) ? undefined : answer(batch),
  )
  // The process that would apply the deadline of a plan may have ended, so it is applied here.
  if (inTime === undefined) await expire(engine, session_id, interaction_id)
  const { misaligned, ...answered } = inTime ?? (await change(engine, session_id, answer))
  warnOf(engine, misaligned)
  if (answered.run_id !== null) engine.wake(session_id, answered.run_id)
  else takeUp(engine, session_id)
  return answered
}

function isLatePack({ state, at }: Batch, interaction_id: string): boolean {
  const { interaction_kind, deadline } = state.interactions.get(interaction_id)?.opened ?? {}
  return interaction_kind === 'question_pack' && (deadline ?? at + 1) <= at
}

async function decide(engine: Engine, batch: Batch, interaction_id: string, given: RecordOf<Reply>) {
  const { state } = batch
  if (!state.interactions.has(interaction_id)) await engine.sessions.refresh(state)
  const question = state.interactions.get(interaction_id)
  if (question === undefined || question.state !== 'open') return closed(engine, state, interaction_id, given)

  const { interaction_kind, request } = question.opened
  const checked = check(engine, interaction_kind, request, given.reply)
  if ('problems' in checked) throw faults.reply_unfit({ interaction_id, interaction_kind, problems: checked.problems })
  const call = question.call_id === null ? undefined : state.calls.get(question.call_id)
  const problem = digestProblem(question, checked.reply, call?.irreversible === true)
  if (problem !== undefined) throw faults.reply_unfit({ interaction_id, problems: [{ pointer: '/digest', problem }] })

  const { refusal, ...aligned } = await align(engine, state, batch, { question, expected: given.expected_waiting })
  if (refusal !== undefined) throw refusal
  const { replied_by = anyPerson, idempotency_key = null } = given
  const payload = { reply: checked.reply, replied_by, idempotency_key }
  const run = question.run_id === null ? undefined : state.runs.get(question.run_id)
  if (interaction_kind === 'settlement' && call !== undefined)
    await refuseUnknowing(engine, interaction_id, call, payload.reply)
  batch.on(subject.question(question, call), 'human').move('answer', payload)

  if (run?.status === 'waiting_user') batch.on(subject.run(run), 'human').move('interaction.reply.accepted', {})
  else if (run !== undefined && isTerminal(runMachine, run.status)) settleLate(batch, question, call, payload)
  if (run !== undefined) batch.restOn(run.run_id)
  return { interaction_id, session_id: state.session_id, run_id: question.run_id, is_repeated: false, ...aligned }
}

/** Approving an irreversible action needs its digest. No refusal shows the digest: a client could approve unseen. */
function digestProblem({ opened }: InteractionView, given: Json, isIrreversible: boolean): string | undefined {
  if (opened.interaction_kind !== 'approval') return undefined
  const { decision, digest } = given as { decision: ApprovalDecision; digest?: string }
  if (digest !== undefined && digest !== opened.digest)
    return 'It is not the digest of this question. Look at the interaction again, and send the digest that it shows.'
  if (digest === undefined && decision === 'approve' && isIrreversible)
    return 'The action cannot be undone, so its approval needs the digest that the interaction shows.'
  return undefined
}

function check(engine: Engine, kind: Payload<'interaction.opened'>['interaction_kind'], request: Json, given: Json) {
  try {
    return kind === 'question_pack' ? engine.autonomy.checkPack(request, given) : checkReply(kind, request, given)
  } catch (error) {
    // A getter of the given value may throw.
    if (error instanceof Fault) throw error
    return { problems: [{ pointer: '', problem: `It cannot be read: ${readThrown(error).message}` }] }
  }
}

/** The run is over, and no worker will use the answer, so this command applies it. */
function settleLate(
  batch: Batch,
  { interaction_id }: InteractionView,
  call: CallView | undefined,
  answered: Payload<'interaction.answered'>,
) {
  const settlement = settlementIn({ answered })
  if (call === undefined || call.contract !== 'waiting' || settlement === undefined) return
  if (settlement.outcome === 'leave') {
    const problem = `The run is over, and the question stays open anyway. When you know, say happened or did_not (statewright settle ${interaction_id} --happened or --did-not-happen).`
    throw faults.reply_unfit({ interaction_id, problems: [{ pointer: '/outcome', problem }] })
  }
  settle(batch, call, settlement, true)
}

/** Refuses "it did not happen" while the tool may still act, and after the tool reported success. */
async function refuseUnknowing(engine: Engine, interaction_id: string, call: CallView, given: Json) {
  if ((given as { outcome?: string }).outcome !== 'did_not') return
  const found = await obstacleToDidNot(engine, call)
  if (found === undefined) return
  const execution_id = call.execution_id ?? ''
  if (found.obstacle === 'at_work') throw faults.too_early({ execution_id, worker: found.worker, earliest: null })
  if (found.obstacle === 'early') {
    const { earliest } = found
    throw faults.too_early({ execution_id, worker: null, earliest, accepted_from: isoTime(earliest) })
  }
  const problem = `${sayObstacle(found)} Look again.`
  throw faults.reply_unfit({ interaction_id, problems: [{ pointer: '/outcome', problem }] })
}

/** Refuses a reply to a closed question, and names the winner. The same reply with the winner's key is accepted again. */
async function closed(engine: Engine, state: SessionState, interaction_id: string, given: RecordOf<Reply>) {
  const runes = await runesOf(engine.runelog, interaction_id)
  const ended = runes.find((rune) => rune.kind !== 'interaction.opened')
  if (ended?.kind === 'interaction.answered') {
    const { idempotency_key, reply: first, replied_by } = ended.payload
    const isOwn = replied_by === (given.replied_by ?? anyPerson)
    if (isOwn && idempotency_key !== null && idempotency_key === given.idempotency_key) {
      if (!isSame(engine, runes[0], first, given.reply))
        throw faults.key_reused({ idempotency_key, what: `the reply to ${interaction_id}` })
      const { session_id } = state
      // The contract was checked when the reply was accepted first.
      return { interaction_id, session_id, run_id: ended.run_id ?? null, is_repeated: true, ...nothing }
    }
    throw faults.interaction_closed({ interaction_id, state: 'answered', by: replied_by })
  }
  const because = ended?.kind === 'interaction.withdrawn' ? { because: ended.payload.reason } : {}
  const by = ended?.actor ?? 'unknown'
  throw faults.interaction_closed({ interaction_id, state: ended?.to ?? 'closed', by, ...because })
}

/** Compares two replies in the form in which they are recorded, with defaults filled in. */
function isSame(engine: Engine, opened: Rune | undefined, first: Json, again: Json): boolean {
  if (opened?.kind !== 'interaction.opened') return false
  const checked = check(engine, opened.payload.interaction_kind, opened.payload.request, again)
  return 'reply' in checked && canonicalJson(checked.reply) === canonicalJson(first)
}

type Checked = { readonly reply: Json } | { readonly problems: readonly Problem[] }

/** Checks a reply against its question. Returns the reply to record: for a form, the data with its defaults. */
export function checkReply(kind: ReplyKind, request: Json, reply: unknown): Checked {
  const parsed = replyShapes[kind].safeParse(reply)
  if (!parsed.success) return { problems: shapeProblems(parsed.error) }
  if (kind !== 'ecs') return recordable(parsed.data)

  const given = parsed.data as z.output<typeof replyShapes.ecs>
  const asked = readEcsRequest(request)
  if ('problem' in asked) return { problems: [{ pointer: '', problem: asked.problem }] }
  const checked = checkAnswer(asked.request, given)
  if ('problems' in checked) return checked
  const { data, ...rest } = given
  return recordable(given.action === 'reject' ? rest : { ...rest, data: checked.data })
}

/** A caller in the same process may pass a value that cannot be recorded. */
function recordable(reply: object): Checked {
  const read = boundedJson(withoutUndefined(reply), jsonLimits.result)
  return 'value' in read ? { reply: read.value } : { problems: [{ pointer: '', problem: read.problem }] }
}

/** The result of a reply to a contract. */
export interface Resumed extends Replied {
  /** The contract right before the reply; if the reply was accepted before, the contract as it is now. */
  readonly snapshot: ExecutionSnapshot
}

/** Resumes a contract: the reply to the question that the contract waits for, addressed by the contract. */
export async function resume(engine: Engine, execution_id: string, given: RecordOf<Reply>): Promise<RecordOf<Resumed>> {
  const { session_id } = await subjectOf(engine.runelog, 'contract', execution_id)
  const state = await engine.sessions.load(session_id)
  const call = [...state.calls.values()].find((c) => c.execution_id === execution_id)
  if (call?.contract !== 'waiting' || call.interaction_id === null) throw notWaiting(await look(engine, execution_id))
  const replied = await reply(engine, call.interaction_id, given)
  return { ...replied, snapshot: replied.snapshot ?? (await look(engine, execution_id)) }
}

/** Lets a completed irreversible action be repeated once: the next call for it gets a new idempotency key. */
export async function allowAgain(engine: Engine, execution_id: string, allowed_by: string): Promise<void> {
  const { session_id } = await subjectOf(engine.runelog, 'contract', execution_id)
  const history = await historyOf(engine, execution_id)
  const status = statusOf(history)
  const { idempotency_key, irreversible } = history[0].payload
  if (!irreversible || idempotency_key === null || status !== 'completed')
    throw faults.not_repeatable({ execution_id, status, is_over: isTerminal(contractMachine, status), irreversible })
  const salted_key = saltedKey(idempotency_key, engine.ids.next('again'), engine.sha256)
  const payload = { idempotency_key, salted_key, allowed_by }
  await change(engine, session_id, (batch) =>
    batch.record('contract.repeat_allowed', { actor: 'human', payload }, { execution_id }),
  )
}

/** The check of a contract before its question is closed by a person, a program or a timer. */
interface Alignment {
  /** The contract that the question is about, as it was right before; null where no call asked. */
  readonly snapshot: ExecutionSnapshot | null
  /** The number of waiting contracts is the expected one. */
  readonly is_aligned: boolean
  /** The contract does not wait for this question: the reply is refused. */
  readonly refusal?: Fault
  /** The details of the warning about a wrong number. */
  readonly misaligned?: object
}

const nothing: Alignment = { snapshot: null, is_aligned: true }

/** Checks the contract of a question before it closes (OB-08). Records a wrong number of waiting ones (OB-09). */
async function align(
  engine: Engine,
  state: SessionState,
  batch: Batch,
  { question, expected }: { question: InteractionView; expected?: readonly string[] | undefined },
): Promise<Alignment> {
  const call = state.calls.get(question.call_id ?? '')
  if (call === undefined || call.execution_id === null) return nothing
  const seen = { ...(await look(engine, call.execution_id, state)), interaction_id: question.interaction_id }
  if (!isAwaited(question, call)) return { snapshot: seen, is_aligned: false, refusal: notWaiting(seen) }
  batch.restOn(call.execution_id)
  const waiting = positionOf(state, call.run_id).expected_waiting
  const wanted = expected ?? askedAbout(state, call.run_id)
  const found = (expected === undefined ? waiting.filter((c) => !isAnswered(state, c)) : waiting).map(executionOf)
  const is_aligned = wanted.length === found.length
  if (!is_aligned) {
    const numbers = { expected: [...wanted], found }
    const run = state.runs.get(call.run_id)
    if (run !== undefined) batch.record('run.misaligned', { actor: 'graph_runner', payload: numbers }, aboutRun(run))
    return { snapshot: seen, is_aligned, misaligned: { run_id: call.run_id, ...numbers } }
  }
  return { snapshot: seen, is_aligned }
}

function warnOf({ warn }: Engine, misaligned: Alignment['misaligned']) {
  if (misaligned !== undefined) warn('the number of waiting contracts is not the expected one', misaligned)
}

function isAwaited({ opened }: InteractionView, { contract, action_type }: CallView): boolean {
  const isAskedAtWork = opened.interaction_kind === 'ecs' && action_type === 'tool_call'
  return contract === (isAskedAtWork ? 'running' : 'waiting')
}

/** The fault for a reply to a contract that does not wait. */
function notWaiting({ execution_id, current_status }: ExecutionSnapshot): Fault {
  const decision = suppose(contractMachine, current_status, 'resume')
  return faults.transition_refused(refusalOf(contractMachine, execution_id, decision, []))
}

/** The moves of one contract. Refused if there is none. */
async function historyOf({ runelog }: Engine, execution_id: string, last?: Last): Promise<ContractHistory> {
  const history = contractHistories(await runesOf(runelog, execution_id, last)).get(execution_id)
  if (history === undefined) throw faults.not_found({ what: 'contract', id: execution_id })
  return history
}

/** The snapshot of one contract. Refused if there is none. */
async function look(engine: Engine, execution_id: string, last?: Last): Promise<ExecutionSnapshot> {
  return snapshot(await historyOf(engine, execution_id, last), engine.clock.now())
}

/** The contracts that should wait: one for each open question of the run. */
function askedAbout(state: SessionState, run_id: string): readonly string[] {
  const open = [...state.interactions.values()].filter((asked) => asked.run_id === run_id && asked.state === 'open')
  return open.flatMap(({ call_id }) => {
    const call = state.calls.get(call_id ?? '')
    // A contract stays running while its tool asks a person.
    return call === undefined || call.contract === 'running' ? [] : [executionOf(call)]
  })
}

/** The question is closed; a worker has yet to use the answer. */
function isAnswered(state: SessionState, { interaction_id }: CallView): boolean {
  const question = state.interactions.get(interaction_id ?? '')
  return question !== undefined && question.state !== 'open'
}

/** Applies a deadline unless an answer was recorded first. Returns how many milliseconds are left, or 0. */
export async function expire(engine: Engine, session_id: string, interaction_id: string): Promise<number> {
  const expired = await change(engine, session_id, async (batch) => {
    const { state, at } = batch
    const question = state.interactions.get(interaction_id)
    const { on_silence: effect = 'wait', deadline = null } = question?.opened ?? {}
    if (question?.state !== 'open' || effect === 'wait' || deadline === null) return { left: 0 }
    if (deadline > at) return { left: deadline - at }
    const { refusal, misaligned } = await align(engine, state, batch, { question })
    if (refusal !== undefined) return { left: 0, refusal }
    const run = state.runs.get(question.run_id ?? '')
    batch.on(subject.question(question, state.calls.get(question.call_id ?? '')), 'timer').move('expire', { effect })
    if (run?.status === 'waiting_user') batch.on(subject.run(run), 'timer').move('interaction.auto_decide.timeout', {})
    if (run !== undefined) batch.restOn(run.run_id)
    return { left: 0, run_id: question.run_id, isOfRun: run !== undefined, misaligned }
  })
  const { left, refusal, run_id = null, isOfRun, misaligned } = expired
  warnOf(engine, misaligned)
  if (refusal !== undefined)
    engine.warn('a deadline passed for a contract that does not wait', { interaction_id, problem: refusal.message })
  if (run_id !== null) engine.wake(session_id, run_id)
  if (isOfRun === false) takeUp(engine, session_id)
  return left
}

/** Lets plans and goals continue after an answer. The answer is recorded: if this fails, the next process continues. */
export function takeUp({ autonomy, warn }: Engine, session_id: string) {
  autonomy.takeUp(session_id).catch((error) => {
    warn('an answer could not be acted on yet', { session_id, error: readThrown(error).message })
  })
}
