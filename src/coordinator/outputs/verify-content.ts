import { checksumOf } from '../checksum.ts'
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
import { contextBundle } from '../schemas/context-bundle.ts'
import { executionGraph } from '../schemas/execution-graph.ts'
import type { Lineage } from '../schemas/lineage.ts'
import { precheckReport } from '../schemas/precheck-report.ts'
import type { RunTape } from '../schemas/run-tape.ts'
import { originsIn, runIdOf } from './lineage.ts'
import type { Documents, PlanProblem } from './plan-problem.ts'

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
