import { pick } from '../../coordinator/arguments.ts'
import type { CoordinationInput, Ports as CorePorts } from '../../coordinator/progress.ts'
import { accepted, faults, isFault } from '../../faults/catalogue.ts'
import { canonicalJson } from '../../kernel/canonical-json.ts'
import type { Json } from '../../kernel/json.ts'
import { newSessionState } from '../../observation/fold-session.ts'
import { subjects } from '../../runelog/models.ts'
import { readWhole } from '../../runelog/queries.ts'
import { type Batch, createBatch, subject } from '../../runtime/batch.ts'
import { refuseOver } from '../../runtime/commands/submit.ts'
import { decideAndAppend } from '../../runtime/decide-and-append.ts'
import type { Engine } from '../../runtime/engine.ts'
import { asRecord } from '../../runtime/options.ts'
import type { PlanSubmission } from './plans.ts'
import type { PlanPorts } from './ports.ts'
import { inputOf, recordedIn } from './recorded.ts'
import { type Given, givenIn, readSubmission, takenIn } from './submission.ts'

/** Records that an intent was taken in. Nothing of it has been looked at when the promise resolves. */
export async function receive(ports: PlanPorts, core: CorePorts, submission: PlanSubmission): Promise<string> {
  const engine = ports.engine()
  const given = givenIn(submission, core)
  const names = ['sessionId', 'goalId', 'coordinationId', 'answerTimeoutMs'] as const
  const { session_id, goal_id, coordination_id: named, answer_timeout_ms } = asRecord(pick(submission, names))
  const isSentAgain = async () => named !== undefined && wasReceived(engine, named, given)
  if (named !== undefined && (await isSentAgain())) return named
  const timeout = answer_timeout_ms === undefined ? {} : { answer_timeout_ms }
  const payload = await readSubmission({ ...given, ...timeout }, ports, core, engine.redactor)
  const coordination_id = named ?? engine.ids.next('coord')

  const about = { coordination_id, ...(goal_id === undefined ? {} : { goal_id }) }
  const open = (batch: Batch) =>
    batch.on({ machine: 'coordination', id: coordination_id, about }, 'coordinator').open(payload)
  const opened =
    session_id === undefined
      ? await openAlone(engine, open)
      : await decideAndAppend(engine, session_id, (state) => {
          refuseOver(state)
          const batch = createBatch(state, engine.clock.now())
          open(batch)
          return { batch, read: [session_id], answer: () => undefined }
        })
  // A twin of this request may have been faster.
  const isTwin = isFault(opened, 'subject_exists', 'stale_write', 'contended') && (await isSentAgain())
  if (!isTwin) accepted(opened)
  return coordination_id
}

/** A plan that stands alone has a session without agents; one that is given a task later gets them then. */
async function openAlone(engine: Engine, open: (batch: Batch) => void) {
  const session_id = engine.ids.next('ses')
  const state = newSessionState(session_id)
  const batch = createBatch(state, engine.clock.now())
  const payload = { conversation_id: session_id, config: {} }
  batch.on(subject.session(session_id), 'coordinator').open(payload)
  open(batch)
  return engine.sessions.commit(state, batch, { expect: Object.fromEntries(batch.moved) })
}

/**
 * Whether this was received before. What counts is what was submitted: policy
 * and registry are the operator's where the submission brings none, and may have
 * changed since.
 */
async function wasReceived(engine: Engine, coordination_id: string, given: Given): Promise<boolean> {
  const { runelog } = engine
  const row = await runelog.row(subjects, coordination_id)
  if (row === undefined) return false
  const { machine, session_id } = row.value
  if (machine !== 'coordination') throw faults.subject_exists({ subject_id: coordination_id, machine, session_id })
  const recorded = recordedIn(await readWhole(runelog, session_id), coordination_id)
  const before: Partial<CoordinationInput> = recorded === undefined ? {} : inputOf(recorded)
  const text = (value: unknown) => canonicalJson((value ?? null) as Json)
  const taken = takenIn(given, engine, engine.redactor)
  const parts = new Set(['recovers', ...Object.keys(given)]) as Set<keyof Given>
  const isSame = [...parts].every((part) => text(taken[part]) === text(before[part]))
  if (isSame) return true
  throw faults.key_reused({ idempotency_key: coordination_id, what: `the coordination ${coordination_id}` })
}
