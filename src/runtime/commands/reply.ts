import { faults } from '../../faults/catalogue.ts'
import { canonicalJson } from '../../kernel/canonical-json.ts'
import { isoTime } from '../../kernel/instant.ts'
import type { Json } from '../../kernel/json.ts'
import { isTerminal } from '../../kernel/machine.ts'
import { runMachine } from '../../machines/run.ts'
import type { CallView, InteractionView, SessionState } from '../../observation/session-state.ts'
import { runesOf, subjectOf } from '../../runelog/queries.ts'
import type { Payload } from '../../runes/kinds.ts'
import type { Rune } from '../../runes/rune.ts'
import { type Batch, createBatch } from '../batch.ts'
import { attempt, type Decision } from '../decide-and-append.ts'
import type { Engine } from '../engine.ts'
import { expire } from '../recovery/expire.ts'
import { takeUp } from '../recovery/take-up.ts'
import { readSettlement } from '../run/call-closing.ts'
import { settledDidNot, settledHappened } from '../run/call-endings.ts'
import { obstacleToDidNot, sayObstacle } from '../run/unknown-outcome.ts'
import { subject } from '../subject.ts'
import { type Alignment, align } from './alignment.ts'
import { checkReply } from './reply-shapes.ts'

/** What goes with every reply. */
export interface ReplyOptions {
  /** The name of the person. Default: `human`. */
  readonly replied_by?: string
  /** The same reply with the same key, sent again, is accepted again and does nothing more. */
  readonly idempotency_key?: string
  /** The contracts that a checkpoint expects to be waiting. Without it, those whose question the record has as open. */
  readonly expected_waiting?: readonly string[]
}

/** A reply to a question, in the form in which it is recorded. */
export interface Reply extends ReplyOptions {
  /** `{ decision }` of an approval, `{ outcome }` of a settlement, `{ action, data }` of a form, `{ answer }` of a question. */
  readonly reply: Json
}

/** What a reply brought about. */
export interface Replied extends Pick<Alignment, 'snapshot' | 'is_aligned'> {
  readonly interaction_id: string
  readonly session_id: string
  readonly run_id: string | null
  /** It had been accepted before. */
  readonly is_repeated: boolean
}

/** An answer reaches exactly the question it was given for; of several, one wins and the others are told who did. */
export async function reply(engine: Engine, interaction_id: string, given: Reply): Promise<Replied> {
  const { session_id } = await subjectOf(engine.runelog, 'interaction', interaction_id)
  // A plan may wait in a store without a process, where no timer says that its time is over.
  const asked = (await engine.sessions.load(session_id)).interactions.get(interaction_id)
  if (asked?.opened.interaction_kind === 'question_pack') await expire(engine, session_id, interaction_id)
  const answered = await attempt(engine, session_id, (state) => decide(engine, state, interaction_id, given))
  if (answered.run_id !== null) engine.wake(session_id, answered.run_id)
  else takeUp(engine, session_id)
  return answered
}

async function decide(
  engine: Engine,
  state: SessionState,
  interaction_id: string,
  given: Reply,
): Promise<Decision<Replied>> {
  // It may be open in the log and not be known here yet.
  if (!state.interactions.has(interaction_id)) await engine.sessions.refresh(state)
  const question = state.interactions.get(interaction_id)
  if (question === undefined || question.state !== 'open') return closed(engine, state, interaction_id, given)

  const { interaction_kind, request } = question.opened
  const checked = check(engine, interaction_kind, request, given.reply)
  if ('problems' in checked) throw faults.reply_unfit({ interaction_id, problems: checked.problems })
  const call = question.call_id === null ? undefined : state.calls.get(question.call_id)
  const problem = digestProblem(question, checked.reply, call?.irreversible === true)
  if (problem !== undefined) throw faults.reply_unfit({ interaction_id, problems: [{ pointer: '/digest', problem }] })

  const at = engine.clock.now()
  const batch = createBatch(state, at)
  const { refusal, ...aligned } = await align(engine, state, batch, { question, expected: given.expected_waiting })
  if (refusal !== undefined) throw refusal
  const payload = {
    reply: checked.reply,
    replied_by: given.replied_by ?? 'human',
    idempotency_key: given.idempotency_key ?? null,
  }
  const run = question.run_id === null ? undefined : state.runs.get(question.run_id)
  if (interaction_kind === 'settlement' && call !== undefined)
    await refuseUnknowing(engine, interaction_id, call, payload.reply)
  batch.on(subject.question(question, call), 'human').move('answer', payload)

  if (run?.status === 'waiting_user') batch.on(subject.run(run), 'human').move('interaction.reply.accepted', {})
  else if (run !== undefined && isTerminal(runMachine, run.status)) settleLate(batch, question, call, payload)
  const answer = {
    interaction_id,
    session_id: state.session_id,
    run_id: question.run_id,
    is_repeated: false,
    ...aligned,
  }
  return { batch, read: run === undefined ? [] : [run.run_id], answer: () => answer }
}

/**
 * An approval covers what its digest stands for. What cannot be undone is approved only by someone who has seen it, and
 * so can name the digest. The right digest is never part of a refusal: it would let anyone approve unseen.
 */
function digestProblem({ opened }: InteractionView, given: Json, isIrreversible: boolean): string | undefined {
  if (opened.interaction_kind !== 'approval') return undefined
  const { decision, digest } = given as { decision: 'approve' | 'deny'; digest?: string }
  if (digest !== undefined && digest !== opened.digest)
    return 'It is not the digest of this question. Look at the interaction again, and send the digest that it shows.'
  if (digest === undefined && decision === 'approve' && isIrreversible)
    return 'The action cannot be undone, so its approval needs the digest that the interaction shows.'
  return undefined
}

function check(engine: Engine, kind: Payload<'interaction.opened'>['interaction_kind'], request: Json, given: Json) {
  return kind === 'question_pack' ? engine.beside.checkPack(request, given) : checkReply(kind, request, given)
}

/** The run is over, and no worker will use the answer, so it is used here. */
function settleLate(
  batch: Batch,
  question: InteractionView,
  call: CallView | undefined,
  answered: { reply: Json; replied_by: string; idempotency_key: string | null },
) {
  if (call === undefined || call.contract !== 'waiting') return
  const settled = readSettlement(answered)
  if (settled.outcome === 'leave')
    throw faults.reply_unfit({
      interaction_id: question.interaction_id,
      problems: [
        {
          pointer: '/outcome',
          problem: `The run is over, and the question stays open anyway. When you know, say happened or did_not (statewright settle ${question.interaction_id} --happened or --did-not-happen).`,
        },
      ],
    })
  if (settled.outcome === 'happened') settledHappened(batch, call, settled.result, true)
  else settledDidNot(batch, call, settled.reason, true)
}

/** A tool that may still act, or one that knows better, has the last word about "it did not happen". */
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

/** Who was faster, and with what. The winner's own repetition is accepted. */
async function closed(
  engine: Engine,
  state: SessionState,
  interaction_id: string,
  given: Reply,
): Promise<Decision<Replied>> {
  const runes = await runesOf(engine.runelog, interaction_id)
  const ended = runes.find((rune) => rune.kind !== 'interaction.opened')
  if (ended?.kind === 'interaction.answered') {
    const { idempotency_key, reply: first, replied_by } = ended.payload
    if (idempotency_key !== null && idempotency_key === given.idempotency_key) {
      if (!isSame(engine, runes[0], first, given.reply))
        throw faults.key_reused({ idempotency_key, what: `the reply to ${interaction_id}` })
      const run_id = ended.run_id ?? null
      const repeated = { interaction_id, session_id: state.session_id, run_id, is_repeated: true }
      // It was looked at when it was accepted.
      return { answer: () => ({ ...repeated, snapshot: null, is_aligned: true }) }
    }
    throw faults.interaction_closed({ interaction_id, state: 'answered', by: replied_by })
  }
  const because = ended?.kind === 'interaction.withdrawn' ? { because: ended.payload.reason } : {}
  const by = ended?.actor ?? 'unknown'
  throw faults.interaction_closed({ interaction_id, state: ended?.to ?? 'closed', by, ...because })
}

/** What was recorded has its defaults filled in; what is given again is held against that as it would be recorded. */
function isSame(engine: Engine, opened: Rune | undefined, first: Json, again: Json): boolean {
  if (opened?.kind !== 'interaction.opened') return false
  const checked = check(engine, opened.payload.interaction_kind, opened.payload.request, again)
  return 'reply' in checked && canonicalJson(checked.reply) === canonicalJson(first)
}
