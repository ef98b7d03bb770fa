import { pick, plainJson, readArgument } from '../../coordinator/arguments.ts'
import { recoveryOf } from '../../coordinator/coordinate.ts'
import { verifyPlan } from '../../coordinator/outputs/verify.ts'
import type { Ports as CorePorts } from '../../coordinator/progress.ts'
import { answersFrom, type Choices, readAnswers } from '../../coordinator/questions/answers.ts'
import { choicesShape } from '../../coordinator/schemas/all.ts'
import { type QuestionPack, questionPack } from '../../coordinator/schemas/questions.ts'
import type { RunTape } from '../../coordinator/schemas/record.ts'
import { faults, isFault } from '../../faults/catalogue.ts'
import { asJson, type Json } from '../../kernel/json.ts'
import { isTerminal, stateNames } from '../../kernel/machine.ts'
import { coordinationMachine } from '../../machines/coordination.ts'
import type { SessionState } from '../../observation/session-state.ts'
import { mergedRows, readWhole } from '../../runelog/models.ts'
import { reply } from '../../runtime/commands/reply.ts'
import type { Autonomy } from '../../runtime/engine.ts'
import { asRecord, type RecordOf } from '../../runtime/options.ts'
import { readThrown } from '../../runtime/thrown.ts'
import { documentsIn, documentsOf, drive, fetchFrozen, whyMoot } from './drive.ts'
import type { PlanAnswer, Plans, PlanView } from './plans.ts'
import { type PlanPorts, receive } from './receive.ts'
import { coordinations, openPack, type Recorded, recordedIn, rerun, stateOf, viewOf } from './recorded.ts'

/** Coordinations in the sessions of a store. They need no lease: each append expects the state it was decided from. */
export function createPlans(ports: PlanPorts): Plans & { readonly autonomy: Autonomy } {
  const working = new Map<string, Promise<void>>()
  const takingUp = new Set<Promise<boolean>>()
  let isStopping = false

  async function core(): Promise<CorePorts> {
    return { sha256: ports.engine().sha256, rules: await ports.rules() }
  }

  async function find(coordination_id: string): Promise<Recorded> {
    const { runelog } = ports.engine()
    const row = (await runelog.row(coordinations, coordination_id))?.value
    const recorded = row && recordedIn(await readWhole(runelog, row.session_id), coordination_id)
    if (recorded === undefined) throw faults.not_found({ what: 'coordination', id: coordination_id })
    return recorded
  }

  /** Drives a coordination, one call after the other: a later call reads the record of an earlier one. */
  function work(coordination_id: string): Promise<void> {
    const before = working.get(coordination_id) ?? Promise.resolve()
    const mine = before
      .catch(() => {})
      .then(() => drive({ ...ports, core, isStopping: () => isStopping }, () => find(coordination_id)))
      .finally(() => {
        if (working.get(coordination_id) === mine) working.delete(coordination_id)
      })
    working.set(coordination_id, mine)
    return mine
  }

  async function rest(coordination_id: string): Promise<PlanView> {
    await work(coordination_id)
    return viewOf(await find(coordination_id))
  }

  /** A coordination that diverged cannot go on. Warn, and do not keep the rest of its session waiting. */
  async function workOn(coordination_id: string) {
    try {
      await work(coordination_id)
    } catch (error) {
      if (!isFault(error, 'coordination_diverged')) throw error
      ports.engine().warn('a plan cannot go on', { coordination_id, error: error.message })
    }
  }

  function takeUp(session_id: string): Promise<boolean> {
    const taken = ports
      .engine()
      .sessions.load(session_id)
      .then((state) => Promise.all(inTheMiddle(state).map(workOn)))
      .then(({ length }) => length === 0 || !isStopping)
      .finally(() => takingUp.delete(taken))
    takingUp.add(taken)
    return taken
  }

  /** Ends every coordination of a closing session. A diverged one stays open; the log is sealed anyway. */
  async function end(session_id: string) {
    for (const coordination_id of openIn(await ports.engine().sessions.load(session_id))) {
      await workOn(coordination_id)
      const isLeft = isStopping && !isTerminal(coordinationMachine, stateOf(await find(coordination_id)))
      if (isLeft) throw faults.session_busy({ session_id, run_id: coordination_id, asked: 'close it' })
    }
  }

  /** Drives the coordination first, so that earlier answers are applied when this one is refused. */
  async function tooLate(coordination_id: string, came_first: string | undefined) {
    const { state } = await rest(coordination_id)
    return faults.coordination_not_waiting({ coordination_id, state, ...(came_first && { came_first }) })
  }

  async function files(coordination_id: string) {
    const recorded = await find(coordination_id)
    const state = stateOf(recorded)
    if (!isTerminal(coordinationMachine, state)) throw faults.coordination_not_over({ coordination_id, state })
    return fetchFrozen(recorded.files, ports.blobs)
  }

  return {
    rest,
    files,
    autonomy: { checkPack, takeUp, end },
    show: async (coordination_id) => viewOf(await find(coordination_id)),

    async submit(submission) {
      return rest(await receive(ports, await core(), submission))
    },

    async answer(coordination_id, given) {
      const { answer_pack, choices, ...who } = readAnswer(given)
      const recorded = await find(coordination_id)
      const sent = recorded.asked.find(({ idempotency_key: key }) => key !== null && key === who.idempotency_key)
      const asked = sent ?? openPack(recorded)
      if (asked === null) {
        const isAnswered = stateOf(recorded) === 'AWAITING_ANSWERS' && !recorded.asked.some(({ is_open }) => is_open)
        throw await tooLate(coordination_id, isAnswered ? 'another answer came first' : undefined)
      }
      const engine = ports.engine()
      const pack = answer_pack ?? asJson(answersFrom(asked.question_pack, choices, engine.sha256))
      try {
        await reply(engine, asked.interaction_id, { reply: pack, ...who })
      } catch (error) {
        if (!isFault(error, 'interaction_closed')) throw error
        throw await tooLate(coordination_id, whatCameFirst(error.details))
      }
      return rest(coordination_id)
    },

    async documents(coordination_id) {
      const recorded = await find(coordination_id)
      if (isTerminal(coordinationMachine, stateOf(recorded)))
        return documentsIn(await fetchFrozen(recorded.files, ports.blobs))
      const ours = await core()
      return documentsOf(rerun(recorded, ours), ours)
    },

    async list({ state, limit = 100, after } = {}) {
      const tags = state === undefined ? stateNames(coordinationMachine) : [state]
      const page = { limit, backward: true, ...(after && { after }) }
      const rows = await mergedRows(ports.engine().runelog, coordinations, tags, page)
      return rows.map(({ value }) => value)
    },

    async verify(coordination_id) {
      const key = await ports.signing?.()
      return verifyPlan(await files(coordination_id), ports.engine(), key?.signature)
    },

    async recovery(coordination_id) {
      const { 'run_tape.json': text = '' } = await files(coordination_id)
      const tape = JSON.parse(text) as RunTape
      const recovers = recoveryOf({ run_id: tape.run_id, state: tape.state, tape }, ports.engine())
      if (recovers === null) throw faults.coordination_not_over({ coordination_id, state: tape.state })
      return recovers
    },

    async resumeAll() {
      const { runelog, warn } = ports.engine()
      const open = stateNames(coordinationMachine).filter((state) => !isTerminal(coordinationMachine, state))
      const rows = await Promise.all(open.map((tag) => runelog.rows(coordinations, { tag })))
      for (const session_id of new Set(rows.flat().map(({ value }) => value.session_id)))
        takeUp(session_id).catch((thrown) => {
          warn('a plan could not be taken up', { session_id, error: readThrown(thrown).message })
        })
    },

    async idle() {
      while (working.size + takingUp.size > 0) await Promise.allSettled([...takingUp, ...working.values()])
    },

    async stop() {
      isStopping = true
      await Promise.allSettled([...takingUp, ...working.values()])
    },
  }
}

/** Copies the answers, within limits. `repliedBy` and the key are checked when they are recorded. */
function readAnswer(given: PlanAnswer): RecordOf<PlanAnswer> & { readonly choices: Choices } {
  if (typeof given !== 'object' || given === null)
    throw faults.input_unfit({ what: 'An answer', problem: 'It is not an object with an answerPack or choices.' })
  const { answerPack, choices = {}, ...who } = pick(given, ['answerPack', 'choices', 'repliedBy', 'idempotencyKey'])
  const at = { of: 'plans.answer', name: 'choices' }
  return {
    ...asRecord(who),
    ...(answerPack === undefined ? {} : { answer_pack: plainJson('answer pack', answerPack) }),
    choices: readArgument(at, choices, choicesShape) as Choices,
  }
}

function openIn({ subjects }: SessionState): string[] {
  return [...subjects].flatMap(([id, { machine, state }]) =>
    machine === 'coordination' && !isTerminal(coordinationMachine, state) ? [id] : [],
  )
}

/** Open coordinations that can continue without an answer. Questions about an unwanted plan need no answer. */
function inTheMiddle(session: SessionState): string[] {
  const open = openIn(session)
  if (open.length === 0) return []
  const waiting = new Set(
    [...session.interactions.values()].flatMap((one) =>
      one.state === 'open' && whyMoot(session, one.goal_id) === undefined ? [one.coordination_id] : [],
    ),
  )
  return open.filter((id) => !waiting.has(id))
}

function whatCameFirst(closed: { readonly state?: string; readonly by?: string }): string {
  if (closed.state === 'answered') return `another answer came first, by ${closed.by}`
  return closed.state === 'expired'
    ? 'its time was over, and each question got its default or, without one, blocked it'
    : 'its questions were withdrawn'
}

/** Refuses answers that do not fit before they are recorded, so that a rerun can read every recorded answer. */
const checkPack: Autonomy['checkPack'] = (request, reply) => {
  const pack = questionPack.safeParse((request as { question_pack?: Json }).question_pack)
  if (!pack.success)
    return { problems: [{ pointer: '', problem: 'The questions are redacted and cannot be answered.' }] }
  const read = readAnswers(reply, pack.data satisfies QuestionPack)
  if (read.taken) return { reply }
  return {
    problems: read.problems.map(({ path = '(', message: problem }) => {
      const steps = path.replaceAll(/\[(\d+)\]/g, '.$1').replaceAll('.', '/')
      return { pointer: path.startsWith('(') ? '' : `/${steps}`, problem }
    }),
  }
}
