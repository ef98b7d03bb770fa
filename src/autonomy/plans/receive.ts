import { pick, plainJson, readArgument, readSnapshot } from '../../coordinator/arguments.ts'
import { checksumOf, sealIntent, textAt } from '../../coordinator/checksum.ts'
import { begin } from '../../coordinator/engine.ts'
import type { SignatureCheck, Signer } from '../../coordinator/outputs/freeze.ts'
import type { CoordinationInput, Ports } from '../../coordinator/progress.ts'
import type { RuleEngine } from '../../coordinator/rules/engine.ts'
import { recovers as recoversShape } from '../../coordinator/schemas/record.ts'
import type { RegistrySnapshot } from '../../coordinator/schemas/registry.ts'
import { accepted, faults, isFault } from '../../faults/catalogue.ts'
import { asJson, canonicalJson, type Json } from '../../kernel/json.ts'
import { newSessionState } from '../../observation/fold-session.ts'
import type { SessionState } from '../../observation/session-state.ts'
import { readWhole, subjects } from '../../runelog/models.ts'
import type { Redactor } from '../../runelog/redactor.ts'
import type { Actor } from '../../runes/rune.ts'
import { type Batch, createBatch, subject } from '../../runtime/batch.ts'
import { refuseOver } from '../../runtime/commands/submit.ts'
import { decideAndAppend } from '../../runtime/decide-and-append.ts'
import type { Engine } from '../../runtime/engine.ts'
import { asRecord } from '../../runtime/options.ts'
import type { Blobs } from '../../runtime/store.ts'
import type { PlanSubmission } from './plans.ts'
import { inputOf, readBack, recordedIn } from './recorded.ts'

/** Records an intent, and returns the id of its coordination. The intent is not checked yet when the promise resolves. */
export async function receive(ports: PlanPorts, core: Ports, submission: PlanSubmission): Promise<string> {
  const engine = ports.engine()
  const given = givenIn(submission, core)
  const names = ['sessionId', 'goalId', 'coordinationId', 'answerTimeoutMs'] as const
  const { session_id, goal_id, coordination_id: named, answer_timeout_ms } = asRecord(pick(submission, names))
  const isSentAgain = async () => named !== undefined && wasReceived(engine, named, given)
  if (named !== undefined && (await isSentAgain())) return named
  const read = await readSubmission(given, ports, core, engine.redactor)
  const payload = { ...read, ...(answer_timeout_ms !== undefined && { answer_timeout_ms }) }
  const coordination_id = named ?? engine.ids.next('coord')

  const about = { coordination_id, ...(goal_id === undefined ? {} : { goal_id }) }
  const own = session_id ?? engine.ids.next('ses')
  const opened = await appendTo(engine, { session_id, own, actor: 'coordinator', refuse: refuseOver }, (batch) => {
    batch.on({ machine: 'coordination', id: coordination_id, about }, 'coordinator').open(payload)
  })
  // The same request, sent twice at once, may have won the race.
  const isTwin = isFault(opened, 'subject_exists', 'stale_write', 'contended') && (await isSentAgain())
  if (!isTwin) accepted(opened)
  return coordination_id
}

interface Place {
  /** An existing session. Undefined: the session `own` is opened. */
  readonly session_id: string | undefined
  readonly own: string
  readonly actor: Actor
  readonly refuse: (state: SessionState) => void
}

type Write = (batch: Batch, state: SessionState) => void

/** Appends to a session that exists, or to a new one. */
export function appendTo(engine: Engine, { session_id, own, actor, refuse }: Place, write: Write) {
  if (session_id !== undefined)
    return decideAndAppend(engine, session_id, (state) => {
      refuse(state)
      const batch = createBatch(state, engine.clock.now())
      write(batch, state)
      return { batch, read: [session_id], answer: () => undefined }
    })
  const state = newSessionState(own)
  const batch = createBatch(state, engine.clock.now())
  batch.on(subject.session(own), actor).open({ conversation_id: own, config: {} })
  write(batch, state)
  return engine.sessions.commit(state, batch, { expect: Object.fromEntries(batch.moved) })
}

/** Compares only the submitted parts: the operator's policy and registry may have changed since. */
async function wasReceived(engine: Engine, coordination_id: string, given: Given): Promise<boolean> {
  const { runelog } = engine
  const row = await runelog.row(subjects, coordination_id)
  if (row === undefined) return false
  const { machine, session_id } = row.value
  if (machine !== 'coordination') throw faults.subject_exists({ subject_id: coordination_id, machine, session_id })
  const recorded = recordedIn(await readWhole(runelog, session_id), coordination_id)
  const before: Partial<CoordinationInput> = recorded === undefined ? {} : inputOf(recorded)
  const text = (value: unknown) => canonicalJson((value ?? null) as Json)
  const taken = takenIn(given, engine)
  const parts = new Set(['recovers', ...Object.keys(given)]) as Set<keyof Given>
  if ([...parts].every((part) => text(taken[part]) === text(before[part]))) return true
  throw faults.key_reused({ idempotency_key: coordination_id, what: `the coordination ${coordination_id}` })
}

/** The policy and the registry of the application, for submissions that bring none. */
type Defaults = { readonly policy: Json; readonly registry: () => Promise<RegistrySnapshot> }

/** Builds the payload to record, with the whole input. Secrets are removed before the Coordinator sees it. */
async function readSubmission(given: Given, defaults: Defaults, ports: Ports, redactor: Redactor) {
  const registry = given.registry ?? (await defaults.registry())
  const whole: CoordinationInput = { policy: defaults.policy, ...given, registry }
  // `begin` refuses by name a part without canonical text, also one of the operator.
  begin(whole, ports)
  const input = takenIn(whole, { ...ports, redactor })
  const { run_id } = begin(input, ports)
  const intent_id = textAt(input.intent, 'id') ?? ''
  return { intent_id, run_id, input_sha256: checksumOf(input, ports.sha256), input: asJson(input) }
}

type Given = Omit<CoordinationInput, 'policy' | 'registry'> & Partial<CoordinationInput>

/** Copies the submitted parts of the input, each within limits. A part that does not fit is refused by its name. */
function givenIn(submission: PlanSubmission, { sha256 }: Pick<Ports, 'sha256'>): Given {
  if (typeof submission !== 'object' || submission === null)
    throw faults.input_unfit({ what: 'A plan', problem: 'It is not an object with an intent.' })
  const parts = pick(submission, ['intent', 'policy', 'registry', 'memory', 'facts', 'recovers'])
  const { policy, registry, memory, facts, recovers } = parts
  const intent = plainJson('intent', parts.intent)
  const project_id = textAt(intent, 'scope', 'project_id') ?? 'unknown'
  const emptyMemory = { schema_version: '1.0.0', project_id, memories: [] }
  const before = { of: 'plans.submit', name: 'recovers' }
  return {
    intent,
    memory: memory === undefined ? emptyMemory : plainJson('memory pack', memory),
    facts: plainJson('fact pack', facts ?? null),
    ...(policy === undefined ? {} : { policy: plainJson('policy', policy) }),
    ...(registry === undefined ? {} : { registry: readSnapshot(registry, sha256) }),
    ...(recovers === undefined ? {} : { recovers: readArgument(before, recovers, recoversShape) }),
  }
}

type Recording = Pick<Engine, 'sha256' | 'redactor'>

/** The input as it is recorded: secrets removed first, then an empty checksum filled, so that the checksum fits. */
export function takenIn<G extends { readonly intent: Json }>(given: G, { sha256, redactor }: Recording): G {
  const cleaned = readBack<G>(redactor.clean(asJson(given)).value)
  return { ...cleaned, intent: sealIntent(cleaned.intent, sha256) }
}

/** The ports that plans need from the application. */
export interface PlanPorts extends Defaults {
  /** The runtime whose sessions the plans live in. */
  readonly engine: () => Engine
  readonly blobs: Blobs
  /** Loads the rule engine; called by the first plan. */
  readonly rules: () => Promise<RuleEngine>
  /** The key that signs frozen files, and the check of its signatures. Without it, nothing is signed. */
  readonly signing?: () => Promise<{ readonly signer: Signer; readonly signature: SignatureCheck }>
}
