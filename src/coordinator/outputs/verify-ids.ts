import { auditLogId, idOf } from '../checksum.ts'
import type { Ports } from '../progress.ts'
import type { AuditLog } from '../schemas/audit-log.ts'
import { contextBundle } from '../schemas/context-bundle.ts'
import { executionGraph } from '../schemas/execution-graph.ts'
import { failurePack } from '../schemas/failure-pack.ts'
import { precheckReport } from '../schemas/precheck-report.ts'
import { questionPack } from '../schemas/question-pack.ts'
import { reviewPack } from '../schemas/review-pack.ts'
import { riskAssessment } from '../schemas/risk-assessment.ts'
import { ruleDecisions } from '../schemas/rule-decision.ts'
import type { RunTape } from '../schemas/run-tape.ts'
import type { Documents, PlanProblem } from './plan-problem.ts'

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
  const idsOf: Readonly<Record<string, (value: unknown) => readonly [string, string] | undefined>> = {
    precheck_report: (value) => {
      const it = precheckReport.safeParse(value).data
      return it && [it.report_id, id('precheck', run_id)]
    },
    context_bundle: (value) => {
      const it = contextBundle.safeParse(value).data
      return it && [it.bundle_id, id('ctx', run_id)]
    },
    rule_decisions: (value) => {
      const it = ruleDecisions.safeParse(value).data
      return it && [it.decisions_id, id('decs', [run_id, it.round])]
    },
    risk_assessment: (value) => {
      const it = riskAssessment.safeParse(value).data
      return it && [it.assessment_id, id('risk', it.factors)]
    },
    question_pack: (value) => {
      const it = questionPack.safeParse(value).data
      return it && [it.pack_id, id('qpack', [run_id, it.round, it.questions])]
    },
    execution_graph: (value) => {
      const it = executionGraph.safeParse(value).data
      return it && [it.graph_id, id('graph', [it.intent_id, it.stage, it.checksum])]
    },
    review_pack: (value) => {
      const it = reviewPack.safeParse(value).data
      return it && [it.pack_id, id('review', [run_id, final?.checksum ?? ''])]
    },
    failure_pack: (value) => {
      const it = failurePack.safeParse(value).data
      return it && [it.failure_id, id('failure', [run_id, failure_info?.failed_at_state ?? '', it.cause, it.problems])]
    },
  }
  return [...documents].flatMap(([file, value]) => {
    const type = file.replace(/(_draft)?(_\d+)?\.json$/, '')
    const [found, expected] = (Object.hasOwn(idsOf, type) ? idsOf[type]?.(value) : undefined) ?? []
    return found === expected
      ? []
      : [{ file, check: 'lineage' as const, message: `Its id is ${found}; its content gives ${expected}.` }]
  })
}
