/** The Coordinator for programs of your own: judge an intent, freeze the plan, verify it. It executes nothing. */
import { hostPorts } from './adapters/host/ports.ts'
import type { Ports } from './coordinator/progress.ts'
import type { RegistrySnapshot } from './coordinator/schemas/registry.ts'
import { loadRules, readRegistry as readFolder } from './open-plans.ts'

/** What `coordinate` needs from outside: SHA-256 and Cedar. Cedar is loaded once. */
export async function planPorts(): Promise<Ports> {
  return { sha256: hostPorts.sha256, rules: await loadRules() }
}

/** Reads a folder of workflows, agents, commands and rules as it is now. One bad file refuses it all. */
export function readRegistry(folder: string): Promise<RegistrySnapshot> {
  return readFolder(folder, hostPorts.sha256)
}

export { scanProject } from './adapters/facts/project-folder.ts'
export { type Coordination, coordinate, recoveryOf } from './coordinator/coordinate.ts'
export { type SignatureCheck, type Signer, seal } from './coordinator/outputs/dsse.ts'
export { type FrozenFiles, freeze } from './coordinator/outputs/freeze.ts'
export { type Journal, journalOf } from './coordinator/outputs/journal.ts'
export type { PlanProblem } from './coordinator/outputs/plan-problem.ts'
export { verifyPlan } from './coordinator/outputs/verify.ts'
export { payloadCompanions, payloadNames } from './coordinator/payload-keys.ts'
export type { AnswerRound, Artifacts, CoordinationInput, Ports } from './coordinator/progress.ts'
export { answersFrom, type Choices } from './coordinator/questions/choose.ts'
export { type Admission, admitRegistry, type RegistrySource } from './coordinator/registry/admission.ts'
export type { RuleEngine } from './coordinator/rules/engine.ts'
export { type RuleContext, ruleAttributes, ruleVocabulary } from './coordinator/rules/vocabulary.ts'
export { type CoordinatorSchemaName, coordinatorJsonSchemas, coordinatorSchemas } from './coordinator/schemas/all.ts'
export type { Answer, AnswerPack } from './coordinator/schemas/answer-pack.ts'
export type { AuditEntry, AuditLog } from './coordinator/schemas/audit-log.ts'
export type { ContextBundle } from './coordinator/schemas/context-bundle.ts'
export type { ExecutionGraph, GraphEdge, GraphNode, Swimlane } from './coordinator/schemas/execution-graph.ts'
export type { FactPack } from './coordinator/schemas/fact-pack.ts'
export type { FailurePack, FailureType } from './coordinator/schemas/failure-pack.ts'
export type { ExecutionIntent, PlannedCommand } from './coordinator/schemas/intent.ts'
export type { Lineage, Recovers } from './coordinator/schemas/lineage.ts'
export type { MemoryPack } from './coordinator/schemas/memory-pack.ts'
export type { ExecutionPolicy } from './coordinator/schemas/policy.ts'
export { policyFields } from './coordinator/schemas/policy-fields.ts'
export type { PrecheckReport } from './coordinator/schemas/precheck-report.ts'
export type { Question, QuestionPack } from './coordinator/schemas/question-pack.ts'
export type { RedLine } from './coordinator/schemas/red-line.ts'
export type { RegistryEntry, RegistryFile, RegistrySnapshot } from './coordinator/schemas/registry.ts'
export type { Measure, ReviewPack } from './coordinator/schemas/review-pack.ts'
export type { RiskAssessment, RiskFactor } from './coordinator/schemas/risk-assessment.ts'
export type { MatchedRule, RuleDecision, RuleDecisions } from './coordinator/schemas/rule-decision.ts'
export type { RunSummary } from './coordinator/schemas/run-summary.ts'
export type { GuardReading, RunTape, TapeEntry } from './coordinator/schemas/run-tape.ts'
export { sealIntent } from './coordinator/seal.ts'
