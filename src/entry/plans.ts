/**
 * The Coordinator for programs of your own: judge an intent, freeze the plan, verify it. It executes nothing. Each function
 * here copies what it is given, within limits, and refuses what does not fit with a fault that names the place.
 */
import './node-version.ts'
import * as z from 'zod'
import { scanProject as scan } from '../adapters/facts/project-folder.ts'
import { hostPorts } from '../adapters/host/ports.ts'
import { loadRules, readRegistry as readFolder } from '../app/open-plans.ts'
import {
  checkMembers,
  checkPorts,
  checkText,
  memberOf,
  pick,
  plainJson,
  readArgument,
  readInput,
} from '../coordinator/arguments.ts'
import * as sealing from '../coordinator/checksum.ts'
import * as core from '../coordinator/coordinate.ts'
import * as freezing from '../coordinator/outputs/freeze.ts'
import type { PlanProblem } from '../coordinator/outputs/lineage.ts'
import * as verifying from '../coordinator/outputs/verify.ts'
import type { AnswerRound, CoordinationInput, Ports } from '../coordinator/progress.ts'
import * as choosing from '../coordinator/questions/answers.ts'
import * as admitting from '../coordinator/registry.ts'
import { choicesShape, coordinationShape, filesShape, roundsShape, sourcesShape } from '../coordinator/schemas/all.ts'
import type { FactPack, MemoryPack } from '../coordinator/schemas/context.ts'
import type { ExecutionIntent } from '../coordinator/schemas/intent.ts'
import { type AnswerPack, type QuestionPack, questionPack } from '../coordinator/schemas/questions.ts'
import { type Recovers, type RunTape, runTape } from '../coordinator/schemas/record.ts'
import type { RegistrySnapshot } from '../coordinator/schemas/registry.ts'
import type { Sha256 } from '../kernel/digest.ts'
import { type Json, jsonLimits } from '../kernel/json.ts'

type Hash = Pick<Ports, 'sha256'>
type Ended = Parameters<typeof freezing.freeze>[0]

/** Everything that a plan is made of. Its parts may be read from files, or be of the types that are exported here. */
export interface PlanInput extends Pick<CoordinationInput, 'registry' | 'recovers'> {
  /** The execution intent. */
  readonly intent: Json | ExecutionIntent
  /** The execution policy. */
  readonly policy: Json
  /** Null: there is none, which ends in BLOCKED. */
  readonly memory: Json | MemoryPack
  /** The facts about the project. Null: there are none, which ends in BLOCKED. */
  readonly facts: Json | FactPack
}

/** The inputs that a waiting plan accepts. */
export type PlanRound = AnswerRound | { readonly answer_pack: AnswerPack }

/** The ports of `coordinate`: SHA-256 and Cedar. Cedar is loaded once. */
export async function planPorts(): Promise<Ports> {
  return { sha256: hostPorts.sha256, rules: await loadRules() }
}

/** Reads a folder of workflows, agents, commands and rules as it is now. One bad file refuses it all. */
export async function readRegistry(folder: string): Promise<RegistrySnapshot> {
  checkText({ of: 'readRegistry', name: 'folder' }, folder)
  return readFolder(folder, hostPorts.sha256)
}

/** Scans a project on disk. Links are not followed, so a scan never leaves the folder. */
export async function scanProject(folder: string, project_id: string, sha256: Sha256): Promise<FactPack> {
  checkText({ of: 'scanProject', name: 'folder' }, folder)
  checkText({ of: 'scanProject', name: 'project_id' }, project_id)
  checkHash('scanProject', { sha256 })
  return scan(folder, project_id, sha256)
}

/** Takes in the files of a registry, all of them or none. A refusal names every problem of every file. */
export function admitRegistry(sources: readonly admitting.RegistrySource[], ports: Ports): admitting.Admission {
  checkPorts('admitRegistry', ports)
  const read = readArgument({ of: 'admitRegistry', name: 'sources' }, sources, sourcesShape)
  return admitting.admitRegistry(read as readonly admitting.RegistrySource[], ports)
}

/** Fills the checksum of an intent whose author left its place empty. Any other intent comes back as it is. */
export function sealIntent(intent: Json | ExecutionIntent, sha256: Sha256): Json {
  checkHash('sealIntent', { sha256 })
  return sealing.sealIntent(plainJson('intent', intent), sha256)
}

/** From an intent to a judged plan, to the questions it waits for, or to the reason why there is none. Same input, same bytes. */
export function coordinate(input: PlanInput, answers: readonly PlanRound[], ports: Ports): core.Coordination {
  checkPorts('coordinate', ports)
  const rounds = readArgument({ of: 'coordinate', name: 'answers' }, answers, roundsShape)
  return core.coordinate(readInput('coordinate', input, ports), rounds as readonly AnswerRound[], ports)
}

/**
 * Builds an answer pack. Questions without a choice get their default. A choice for an unknown question is kept, so that
 * the Coordinator refuses it.
 */
export function answersFrom(pack: QuestionPack, choices: choosing.Choices, sha256: Sha256): AnswerPack {
  checkHash('answersFrom', { sha256 })
  const asked = readArgument({ of: 'answersFrom', name: 'pack' }, pack, questionPack)
  const chosen = readArgument({ of: 'answersFrom', name: 'choices' }, choices, choicesShape)
  return choosing.answersFrom(asked, chosen as choosing.Choices, sha256)
}

/** Returns the value for `recovers` of a plan that replaces this one. `null` until it has ended. */
export function recoveryOf(
  coordination: Pick<core.Coordination, 'run_id' | 'state' | 'tape'>,
  ports: Hash,
): Recovers | null {
  checkHash('recoveryOf', ports)
  const at = { of: 'recoveryOf', name: 'coordination' }
  const { run_id, tape } = readArgument(at, pick(coordination, ['run_id', 'tape']), endedShape, jsonLimits.planned)
  return core.recoveryOf({ run_id, state: tape.state, tape }, ports)
}

/** Everything an ended coordination leaves behind, file name to text. Refused while it waits for answers. */
export function freeze(
  coordination: Ended,
  input: Pick<PlanInput, 'intent' | 'policy'>,
  ports: Hash,
  signer?: freezing.Signer,
): freezing.FrozenFiles {
  checkHash('freeze', ports)
  if (signer !== undefined) checkSigner('freeze', signer)
  const at = { of: 'freeze', name: 'coordination' }
  const parts = pick(coordination, ['run_id', 'tape', 'audit', 'lineage', 'artifacts'])
  const read = readArgument(at, parts, coordinationShape, jsonLimits.planned) as Ended
  const given = {
    intent: plainJson('intent', memberOf(input, 'intent')),
    policy: plainJson('policy', memberOf(input, 'policy')),
  }
  return freezing.freeze(read, given, ports, signer)
}

/** When each move of a tape was made, and how long the state before it lasted. `times` has an instant for each entry. */
export function journalOf(tape: Pick<RunTape, 'run_id' | 'entries'>, times: readonly number[]): freezing.Journal {
  const { run_id, entries } = readArgument(
    { of: 'journalOf', name: 'tape' },
    pick(tape, ['run_id', 'entries']),
    runTape.pick({ run_id: true, entries: true }),
    jsonLimits.planned,
  )
  const instants = z
    .array(z.int().min(0))
    .length(entries.length, `must have ${entries.length} times, one for each entry`)
  return freezing.journalOf({ run_id, entries }, readArgument({ of: 'journalOf', name: 'times' }, times, instants))
}

/** A DSSE envelope around a text, signed. */
export function seal(text: string, signer: freezing.Signer): freezing.Envelope {
  checkText({ of: 'seal', name: 'text' }, text)
  checkSigner('seal', signer)
  return freezing.seal(text, signer)
}

/**
 * Checks the files of a plan with nothing but the files, and with a key also who signed them. Returns the problems; an
 * empty list means that the plan is sound.
 */
export function verifyPlan(
  files: freezing.FrozenFiles,
  ports: Hash,
  signature?: freezing.SignatureCheck,
): readonly PlanProblem[] {
  checkHash('verifyPlan', ports)
  if (signature !== undefined)
    checkMembers({ of: 'verifyPlan', name: 'signature' }, signature, { keyid: 'string', verify: 'function' })
  const read = readArgument({ of: 'verifyPlan', name: 'files' }, files, filesShape, jsonLimits.planned)
  return verifying.verifyPlan(read, ports, signature)
}

const endedShape = z.strictObject({ run_id: z.string(), tape: runTape })

function checkHash(of: string, ports: unknown): void {
  checkMembers({ of, name: 'ports' }, ports, { sha256: 'function' })
}

function checkSigner(of: string, signer: unknown): void {
  checkMembers({ of, name: 'signer' }, signer, { keyid: 'string', sign: 'function' })
}

export type { PlanOptions, PlansOfStore } from '../app/open-plans.ts'
export type {
  PlanAnswer,
  PlanDocuments,
  PlanFile,
  PlanMove,
  PlanQuery,
  PlanQuestions,
  PlanRow,
  PlanSubmission,
  PlanView,
} from '../autonomy/plans/plans.ts'
export type { Coordination } from '../coordinator/coordinate.ts'
export type { Envelope, FrozenFiles, Journal, SignatureCheck, Signer } from '../coordinator/outputs/freeze.ts'
export type { PlanProblem } from '../coordinator/outputs/lineage.ts'
export { payloadCompanions, payloadNames } from '../coordinator/payload-keys.ts'
export type {
  AnswerRound,
  Artifacts,
  CoordinationInput,
  Ports,
  Refused as RefusedAnswers,
} from '../coordinator/progress.ts'
export type { Choice, Choices } from '../coordinator/questions/answers.ts'
export type { Admission, RegistrySource } from '../coordinator/registry.ts'
export type { RuleAnswer, RuleCheck, RuleEngine, RuleRequest, RuleSets } from '../coordinator/rules/engine.ts'
export { type RuleContext, ruleAttributes, ruleVocabulary } from '../coordinator/rules/engine.ts'
export { type CoordinatorSchemaName, coordinatorJsonSchemas, coordinatorSchemas } from '../coordinator/schemas/all.ts'
export type { ContextBundle, ExecutionPolicy, FactPack, MemoryPack } from '../coordinator/schemas/context.ts'
export { policyFields } from '../coordinator/schemas/context.ts'
export type { ExecutionIntent, PlannedCommand } from '../coordinator/schemas/intent.ts'
export type {
  MatchedRule,
  PrecheckReport,
  RiskAssessment,
  RiskFactor,
  RuleDecision,
  RuleDecisions,
} from '../coordinator/schemas/judgement.ts'
export type {
  ExecutionGraph,
  FailurePack,
  FailureType,
  GraphEdge,
  GraphNode,
  Measure,
  ReviewPack,
  RunSummary,
  Swimlane,
} from '../coordinator/schemas/plan.ts'
export type { Answer, AnswerPack, Question, QuestionPack } from '../coordinator/schemas/questions.ts'
export type {
  AuditEntry,
  AuditLog,
  GuardReading,
  Lineage,
  Recovers,
  RunTape,
  TapeEntry,
} from '../coordinator/schemas/record.ts'
export type { RegistryEntry, RegistryFile, RegistrySnapshot } from '../coordinator/schemas/registry.ts'
export type { Problem as InputProblem, RedLine, Verdict } from '../coordinator/schemas/scalars.ts'
export type { Sha256 } from '../kernel/digest.ts'
export type { CoordinationState } from '../machines/coordination.ts'
