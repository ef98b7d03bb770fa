import type { z } from 'zod'
import { machineDigest, type Sha256 } from '../../kernel/digest.ts'
import { canonicalJson, type Json } from '../../kernel/json.ts'
import { audit, type Move } from '../../kernel/transition.ts'
import { coordinationMachine } from '../../machines/coordination.ts'
import { auditLogId, checksumOf, idOf } from '../checksum.ts'
import { graphChecksum } from '../graph/build.ts'
import * as checks from '../graph/checks.ts'
import type { ArtifactType, Ports } from '../progress.ts'
import { coordinatorSchemas as schemas } from '../schemas/all.ts'
import type { AuditLog, Lineage, RunTape } from '../schemas/record.ts'
import { problemsOf } from '../schemas/scalars.ts'
import * as frozen from './freeze.ts'
import { artifactId, artifactTypes, type Documents, originsIn, type PlanProblem, runIdOf } from './lineage.ts'
import { markdownOf } from './markdown.ts'

/** Computes all files of a plan again and compares. Only `signature` finds a consistent rewrite of all files. */
export function verifyPlan(
  files: frozen.FrozenFiles,
  { sha256 }: Pick<Ports, 'sha256'>,
  signature?: frozen.SignatureCheck,
): readonly PlanProblem[] {
  const problems: PlanProblem[] = []
  const documents = readDocuments(files, problems)
  problems.push(...shapeProblems(files, documents))
  const tape = schemas.run_tape.safeParse(documents.get('run_tape.json')).data
  const lineage = schemas.lineage.safeParse(documents.get('lineage.json')).data
  const log = schemas.audit_log.safeParse(documents.get('audit_log.json')).data
  if (tape === undefined || lineage === undefined || log === undefined) return problems
  problems.push(
    ...tapeProblems(tape, documents, sha256),
    ...auditProblems(log, tape, sha256),
    ...idProblems(documents, tape, sha256),
    ...frozen.journalProblems(files[frozen.journalFile], tape),
    ...originProblems(lineage, tape, documents, sha256),
    ...topologyProblems(documents, sha256),
    ...statementProblems(files, lineage, sha256),
    ...signatureProblems(files, documents, signature),
  )
  return problems
}

function readDocuments(files: frozen.FrozenFiles, problems: PlanProblem[]): Documents {
  const documents = new Map<string, Json>()
  for (const [name, text] of Object.entries(files).sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (!name.endsWith('.json')) continue
    const value = parsed(text)
    if (value === undefined)
      problems.push({ file: name, check: 'schema', message: 'It is not JSON in canonical form.' })
    else documents.set(name, value)
  }
  return documents
}

/** Parses a text. Undefined: it is not the canonical text of its value. */
function parsed(text: string): Json | undefined {
  try {
    const value: Json = JSON.parse(text)
    return canonicalJson(value) === text ? value : undefined
  } catch {
    return undefined
  }
}

const others = { run_tape: schemas.run_tape, audit_log: schemas.audit_log, lineage: schemas.lineage } as const
const unchecked = new Set(['intent.json', 'policy.json', frozen.statementFile, frozen.envelopeFile, frozen.journalFile])
const required = ['intent.json', 'policy.json', 'run_tape.json', 'audit_log.json', 'lineage.json', frozen.statementFile]

function shapeProblems(files: frozen.FrozenFiles, documents: Documents): PlanProblem[] {
  const wrong = (file: string, message: string): PlanProblem => ({ file, check: 'checksum', message })
  const problems = required.filter((name) => !(name in files)).map((name) => wrong(name, 'It is missing.'))
  const expected = new Set<string>(unchecked)
  for (const [name, value] of documents) {
    if (unchecked.has(name)) continue
    const type = typeOf(name)
    if (type === null) {
      problems.push(wrong(name, 'No coordination leaves a file of this name.'))
      continue
    }
    const page = name.replace(/json$/, 'md')
    expected.add(name).add(page)
    const schema = type in others ? others[type as keyof typeof others] : artifactTypes[type as ArtifactType].schema
    const { error } = schema.safeParse(value)
    if (error !== undefined)
      for (const { path, message } of problemsOf(error, 'schema'))
        problems.push({ file: name, check: 'schema', message: `${path}: ${message}` })
    else if (files[page] !== markdownOf(type, value)) problems.push(wrong(page, `It is not what ${name} gives.`))
  }
  const strays = Object.keys(files).filter((name) => !expected.has(name) && !documents.has(name))
  return [...problems, ...strays.sort().map((name) => wrong(name, 'No artifact belongs to it.'))]
}

function typeOf(name: string): string | null {
  const base = name.replace(/(_\d+)?\.json$/, '')
  return Object.hasOwn(artifactTypes, base) || Object.hasOwn(others, base) ? base : null
}

/** The moves on a tape, with what the guards found, as the audit of a machine reads them. */
export function tapeMoves({ entries }: RunTape): readonly Move[] {
  return entries.slice(1).map(({ from_state: from, to_state: to, trigger, guards_evaluated }) => {
    const guards = guards_evaluated.map(({ guard_name, passed, reason }) => {
      return { guard: guard_name, holds: passed, because: reason }
    })
    return { from, to, trigger, guards }
  })
}

function tapeProblems(tape: RunTape, documents: Documents, sha256: Sha256): PlanProblem[] {
  const file = 'run_tape.json'
  const wrong = (message: string): PlanProblem => ({ file, check: 'lineage', message })
  const problems = audit(coordinationMachine, tapeMoves(tape)).map(wrong)
  const digest = machineDigest(coordinationMachine, sha256)
  if (tape.machine.digest !== digest) problems.push(wrong(`It was recorded by another machine than ${digest}.`))
  if (tape.entries.at(-1)?.to_state !== tape.state || !tape.is_closed)
    problems.push(wrong('Its last entry does not lead to its state, or it is not closed.'))
  if (tape.entries.some(({ sequence }, i) => sequence !== i + 1))
    problems.push(wrong('Its entries are not numbered from 1 without gaps.'))

  return [...problems, ...outputProblems(tape, documents, sha256)]
}

/** Checks that every output on the tape is a file with the recorded checksum, and every such file is on the tape. */
function outputProblems(tape: RunTape, documents: Documents, sha256: Sha256): PlanProblem[] {
  const recorded = tape.entries.flatMap(({ outputs_produced }) => outputs_produced)
  const kept = [...documents].flatMap(([name, value]) => {
    const type = typeOf(name)
    if (type === null || !(type in artifactTypes)) return []
    return [{ name, type, id: artifactId(type as ArtifactType, value), checksum: sha256(canonicalJson(value)) }]
  })
  const same = (file: (typeof kept)[number], output: (typeof recorded)[number]) =>
    file.type === output.artifact_type && file.id === output.artifact_id && file.checksum === output.checksum
  const lost = recorded.flatMap((output): PlanProblem[] => {
    if (kept.some((file) => same(file, output))) return []
    const { artifact_type, artifact_id, checksum } = output
    const message = `The tape records ${artifact_id} with the checksum ${checksum}, and there is no such file.`
    const file = kept.find(({ type, id }) => type === artifact_type && id === artifact_id)?.name ?? 'run_tape.json'
    return [{ file, check: 'checksum', message }]
  })
  const stray = kept.flatMap((file): PlanProblem[] => {
    if (recorded.some((output) => same(file, output)) || (file.type === 'lineage' && tape.state !== 'DONE')) return []
    return [{ file: file.name, check: 'lineage', message: 'The tape does not record it.' }]
  })
  return [...lost, ...stray]
}

function statementProblems(files: frozen.FrozenFiles, lineage: Lineage, sha256: Sha256): PlanProblem[] {
  const present = frozen.digests(files, sha256)
  const text = files[frozen.statementFile] ?? ''
  if (text === canonicalJson(frozen.statementOf(lineage, present))) return []
  const { data } = frozen.statementSubjects.safeParse(parsed(text))
  const stated = new Map(data?.subject.map(({ name, digest }) => [name, digest.sha256]))
  const changed = present.flatMap(({ name: file, sha256: digest }): PlanProblem[] => {
    const claimed = stated.get(file) ?? 'nothing of it'
    if (claimed === digest) return []
    return [{ file, check: 'checksum', message: `Its checksum is ${digest}; the statement says ${claimed}.` }]
  })
  const message = 'It does not match the files and their lineage.'
  return changed.length > 0 ? changed : [{ file: frozen.statementFile, check: 'lineage', message }]
}

function signatureProblems(
  files: frozen.FrozenFiles,
  documents: Documents,
  check: frozen.SignatureCheck | undefined,
): PlanProblem[] {
  const envelope = documents.get(frozen.envelopeFile)
  if (check === undefined && !(frozen.envelopeFile in files)) return []
  const problem =
    envelope === undefined ? 'it is missing' : frozen.sealProblem(envelope, files[frozen.statementFile] ?? '', check)
  if (problem === null) return []
  return [{ file: frozen.envelopeFile, check: 'signature', message: `The envelope cannot be trusted: ${problem}.` }]
}

function originProblems(lineage: Lineage, tape: RunTape, documents: Documents, sha256: Sha256): PlanProblem[] {
  const digest = (value: unknown) => checksumOf(value ?? null, sha256)
  const context = schemas.context_bundle.safeParse(documents.get('context_bundle.json')).data
  const report = schemas.precheck_report.safeParse(documents.get('precheck_report.json')).data
  const run_id = runIdOf(originsIn(lineage), { sha256 })
  const expected: readonly [string, boolean][] = [
    ['the run id', run_id === lineage.coordinator_run_id && tape.run_id === run_id],
    ['the intent', digest(documents.get('intent.json')) === lineage.intent_checksum],
    ['the policy', digest(documents.get('policy.json')) === lineage.policy_checksum],
    ['the memory', context === undefined || digest(context.memory_context) === lineage.memory_checksum],
    ['the facts', context === undefined || digest(context.fact_pack) === lineage.facts_checksum],
    ['the registry', report === undefined || digest(report.registry.confirmed) === digest(lineage.registry_versions)],
    ['the registry snapshot', report === undefined || report.registry.snapshot_id === lineage.registry_snapshot_id],
    ['the outputs', digest(outputsBefore(tape, lineage)) === digest(lineage.outputs)],
  ]
  return expected.flatMap(([what, holds]): PlanProblem[] =>
    holds ? [] : [{ file: 'lineage.json', check: 'lineage', message: `It does not lead back to ${what}.` }],
  )
}

/** A plan's lineage is made before the last move; that of a failure after it. */
function outputsBefore(tape: RunTape, { outputs }: Lineage) {
  const all = tape.entries.flatMap(({ outputs_produced }) => outputs_produced)
  return all.slice(0, tape.state === 'DONE' ? outputs.length : all.length)
}

function topologyProblems(documents: Documents, sha256: Sha256): PlanProblem[] {
  return [...documents].flatMap(([file, value]) => {
    const graph = file.startsWith('execution_graph') ? schemas.execution_graph.safeParse(value).data : undefined
    if (graph === undefined) return []
    const wrong = (offenders: readonly string[], message: string): PlanProblem[] =>
      offenders.length === 0 ? [] : [{ file, check: 'topology', message: `${message}: ${offenders.join(', ')}.` }]
    const forged = graphChecksum(graph, sha256) === graph.checksum ? [] : [graph.checksum]
    const structure = [
      ...wrong(checks.danglingEdges(graph), 'Edges from or to a missing node'),
      ...wrong(checks.nodesNotInOneLane(graph), 'Nodes that are not in exactly one lane'),
      ...wrong(forged, 'The checksum is not that of the graph'),
    ]
    if (file !== 'execution_graph.json') return structure
    return [
      ...structure,
      ...wrong(checks.cycleIn(graph), 'It has a cycle'),
      ...wrong(checks.unreachableNodes(graph), 'Unreachable nodes'),
      ...wrong(checks.incompleteNodes(graph), 'Nodes without a required field'),
      ...wrong(checks.placeholders(graph), 'Questions that are not answered'),
      ...wrong(checks.actionsWithoutEvidence(graph), 'Actions without evidence'),
    ]
  })
}

/** Checks that the audit log has every entry that the tape names, in order, each with the id of its content. */
function auditProblems(log: AuditLog, tape: RunTape, sha256: Sha256): PlanProblem[] {
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
    problems.push('Its entries are not in the order in which the tape names them.')
  return problems.map((message) => ({ file, check: 'lineage', message }))
}

/** Checks ids that are hashes of their content. A document without its shape is reported elsewhere. */
function idProblems(documents: Documents, { run_id, failure_info }: RunTape, sha256: Sha256): PlanProblem[] {
  const id = (prefix: string, value: unknown) => idOf(prefix, value, sha256)
  const final = schemas.execution_graph.safeParse(documents.get('execution_graph.json')).data
  const ids = {
    precheck_report: hashed(schemas.precheck_report, (it) => [it.report_id, id('precheck', run_id)]),
    context_bundle: hashed(schemas.context_bundle, (it) => [it.bundle_id, id('ctx', run_id)]),
    rule_decisions: hashed(schemas.rule_decisions, (it) => [it.decisions_id, id('decs', [run_id, it.round])]),
    risk_assessment: hashed(schemas.risk_assessment, (it) => [it.assessment_id, id('risk', it.factors)]),
    question_pack: hashed(schemas.question_pack, (it) => [it.pack_id, id('qpack', [run_id, it.round, it.questions])]),
    execution_graph: hashed(schemas.execution_graph, (it) => [
      it.graph_id,
      id('graph', [it.intent_id, it.stage, it.checksum]),
    ]),
    review_pack: hashed(schemas.review_pack, (it) => [it.pack_id, id('review', [run_id, final?.checksum ?? ''])]),
    failure_pack: hashed(schemas.failure_pack, (it) => {
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
