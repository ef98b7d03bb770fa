import type { z } from 'zod'
import { auditLogId, checksumOf, idOf } from '../checksum.ts'
import { graphChecksum } from '../graph/build.ts'
import {
  actionsWithoutEvidence,
  cycleIn,
  danglingEdges,
  incompleteNodes,
  nodesNotInOneLane,
  placeholders,
  unreachableNodes,
} from '../graph/checks.ts'
import type { Ports } from '../progress.ts'
import { contextBundle } from '../schemas/context.ts'
import { failurePack } from '../schemas/ending.ts'
import { executionGraph } from '../schemas/execution-graph.ts'
import { precheckReport, riskAssessment, ruleDecisions } from '../schemas/judgement.ts'
import { questionPack } from '../schemas/questions.ts'
import type { AuditLog, Lineage, RunTape } from '../schemas/record.ts'
import { reviewPack } from '../schemas/review-pack.ts'
import type { Documents, PlanProblem } from './artifacts.ts'
import { originsIn, runIdOf } from './lineage.ts'

/** Whether the lineage leads from these inputs to these outputs. */
export function originProblems(
  lineage: Lineage,
  tape: RunTape,
  documents: Documents,
  sha256: Ports['sha256'],
): PlanProblem[] {
  const file = 'lineage.json'
  const digest = (value: unknown) => checksumOf(value ?? null, sha256)
  const context = contextBundle.safeParse(documents.get('context_bundle.json')).data
  const report = precheckReport.safeParse(documents.get('precheck_report.json')).data
  const expected: readonly [string, boolean][] = [
    [
      'the run id',
      runIdOf(originsIn(lineage), { sha256 }) === lineage.coordinator_run_id &&
        tape.run_id === lineage.coordinator_run_id,
    ],
    ['the intent', digest(documents.get('intent.json')) === lineage.intent_checksum],
    ['the policy', digest(documents.get('policy.json')) === lineage.policy_checksum],
    ['the memory', context === undefined || digest(context.memory_context) === lineage.memory_checksum],
    ['the facts', context === undefined || digest(context.fact_pack) === lineage.facts_checksum],
    ['the registry', report === undefined || digest(report.registry.confirmed) === digest(lineage.registry_versions)],
    ['the registry snapshot', report === undefined || report.registry.snapshot_id === lineage.registry_snapshot_id],
    ['the outputs', digest(outputsBefore(tape, lineage)) === digest(lineage.outputs)],
  ]
  return expected
    .filter(([, holds]) => !holds)
    .map(([what]) => ({ file, check: 'lineage', message: `It does not lead back to ${what}.` }))
}

/** A plan's lineage is made before the last move; that of a failure after it. */
function outputsBefore(tape: RunTape, { outputs }: Lineage) {
  const all = tape.entries.flatMap(({ outputs_produced }) => outputs_produced)
  return all.slice(0, tape.state === 'DONE' ? outputs.length : all.length)
}

/** What is wrong with the graphs. */
export function topologyProblems(documents: Documents, sha256: Ports['sha256']): PlanProblem[] {
  return [...documents].flatMap(([file, value]) => {
    const graph = file.startsWith('execution_graph') ? executionGraph.safeParse(value).data : undefined
    if (graph === undefined) return []
    const wrong = (offenders: readonly string[], message: string): PlanProblem[] =>
      offenders.length === 0 ? [] : [{ file, check: 'topology', message: `${message}: ${offenders.join(', ')}.` }]
    const structure = [
      ...wrong(danglingEdges(graph), 'Edges lead nowhere'),
      ...wrong(nodesNotInOneLane(graph), 'Not in exactly one lane'),
      ...(graphChecksum(graph, sha256) === graph.checksum
        ? []
        : wrong([graph.checksum], 'The checksum is not that of the graph')),
    ]
    if (file !== 'execution_graph.json') return structure
    return [
      ...structure,
      ...wrong(cycleIn(graph), 'It runs in a circle through'),
      ...wrong(unreachableNodes(graph), 'Not to be reached'),
      ...wrong(incompleteNodes(graph), 'Not complete'),
      ...wrong(placeholders(graph), 'Still open'),
      ...wrong(actionsWithoutEvidence(graph), 'Actions without evidence'),
    ]
  })
}

type Sha256 = Ports['sha256']

/** The audit log has every entry that the tape names, in order, each with the id that its content gives. */
export function auditProblems(log: AuditLog, tape: RunTape, sha256: Sha256): PlanProblem[] {
  const file = 'audit_log.json'
  const problems: string[] = []
  const { entries, coordinator_run_id } = log
  if (coordinator_run_id !== tape.run_id || entries.some((entry) => entry.coordinator_run_id !== tape.run_id))
    problems.push('It belongs to another run.')
  if (entries.some(({ sequence }, i) => sequence !== i + 1))
    problems.push('Its entries are not numbered from 1 without gaps.')
  for (const { log_id, ...entry } of entries)
    if (auditLogId(entry, sha256) !== log_id) problems.push(`${log_id} is not the id of entry ${entry.sequence}.`)
  const held = entries.map(({ log_id }) => log_id)
  const named = tape.entries.flatMap(({ audit_log_ids }) => audit_log_ids)
  for (const id of named.filter((one) => !held.includes(one)))
    problems.push(`The tape names the entry ${id}, which is not in it.`)
  for (const id of held.filter((one) => !named.includes(one))) problems.push(`The tape does not name the entry ${id}.`)
  if (problems.length === 0 && held.some((id, i) => id !== named[i]))
    problems.push('Its entries do not stand in the order in which the tape names them.')
  return problems.map((message) => ({ file, check: 'lineage', message }))
}

/** Every artifact whose id is a hash of what it names has that id. A document without its shape is reported elsewhere. */
export function idProblems(documents: Documents, { run_id, failure_info }: RunTape, sha256: Sha256): PlanProblem[] {
  const id = (prefix: string, value: unknown) => idOf(prefix, value, sha256)
  const final = executionGraph.safeParse(documents.get('execution_graph.json')).data
  const ids = {
    precheck_report: hashed(precheckReport, (it) => [it.report_id, id('precheck', run_id)]),
    context_bundle: hashed(contextBundle, (it) => [it.bundle_id, id('ctx', run_id)]),
    rule_decisions: hashed(ruleDecisions, (it) => [it.decisions_id, id('decs', [run_id, it.round])]),
    risk_assessment: hashed(riskAssessment, (it) => [it.assessment_id, id('risk', it.factors)]),
    question_pack: hashed(questionPack, (it) => [it.pack_id, id('qpack', [run_id, it.round, it.questions])]),
    execution_graph: hashed(executionGraph, (it) => [it.graph_id, id('graph', [it.intent_id, it.stage, it.checksum])]),
    review_pack: hashed(reviewPack, (it) => [it.pack_id, id('review', [run_id, final?.checksum ?? ''])]),
    failure_pack: hashed(failurePack, (it) => {
      const at = failure_info?.failed_at_state ?? ''
      return [it.failure_id, id('failure', [run_id, at, it.cause, it.problems])]
    }),
  }
  const idsOf = new Map(Object.entries(ids))
  return [...documents].flatMap(([file, value]) => {
    const type = file.replace(/(_draft)?(_\d+)?\.json$/, '')
    const [found, expected] = idsOf.get(type)?.(value) ?? []
    return found === expected
      ? []
      : [{ file, check: 'lineage' as const, message: `Its id is ${found}; its content gives ${expected}.` }]
  })
}

/** The id that a document carries and the one that its content gives. Undefined for a document without its shape. */
function hashed<S extends z.ZodType>(schema: S, ids: (it: z.output<S>) => readonly [found: string, expected: string]) {
  return (value: unknown) => {
    const { data } = schema.safeParse(value)
    return data === undefined ? undefined : ids(data)
  }
}
