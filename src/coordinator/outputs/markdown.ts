import type { Json } from '../../kernel/json.ts'
import { isRecord } from '../checksum.ts'
import type { RuleDecisions } from '../schemas/judgement.ts'
import { type ExecutionGraph, type FailurePack, type GraphNode, measures, type ReviewPack } from '../schemas/plan.ts'
import type { QuestionPack } from '../schemas/questions.ts'
import type { RunTape } from '../schemas/record.ts'

function decisionsMarkdown({ decisions, round }: RuleDecisions): string {
  const matched = decisions.flatMap(({ step_id, matched_rules }) => matched_rules.map((rule) => ({ step_id, ...rule })))
  return page(
    `# Verdicts, round ${round}`,
    table(['Step', 'Command', 'Verdict', 'Risk', 'Why'], decisions, (d) => {
      return [plain(d.step_id), plain(d.command_id), d.decision ?? '**undecidable**', d.risk_level, plain(d.reason)]
    }),
    '## Rules that spoke',
    table(['Step', 'Rule', 'Version', 'Verdict', 'Severity', 'Reason'], matched, (r) => {
      return [plain(r.step_id), plain(r.rule_id), r.version, r.verdict, r.severity, plain(r.reason)]
    }),
  )
}

function tapeMarkdown({ run_id, state, is_closed, entries, decisions }: RunTape): string {
  return page(
    '# Run tape',
    `${run_id}, ${state}${is_closed ? ', closed' : ''}.`,
    table(['#', 'From', 'To', 'Trigger', 'Guards', 'Outputs'], entries, (e) => [
      String(e.sequence),
      ...[e.from_state, e.to_state, e.trigger].map(plain),
      e.guards_evaluated.map(({ guard_name, passed }) => `${passed ? '✓' : '✗'} ${plain(guard_name)}`).join('<br>'),
      e.outputs_produced.map(({ artifact_type }) => plain(artifact_type)).join('<br>'),
    ]),
    '## Decisions',
    bullets(decisions, (d) => {
      return `${plain(d.at_state)}, ${plain(d.decision_type)}: ${plain(d.rationale)} → ${plain(d.outcome)}`
    }),
  )
}

const shapes: { readonly [T in GraphNode['node_type']]: readonly [string, string] } = {
  phase: ['([', '])'],
  action_proposal: ['[', ']'],
  decision_point: ['{', '}'],
  question: ['{{', '}}'],
  review_gate: ['[/', '/]'],
}

function graphMarkdown(graph: ExecutionGraph): string {
  return page(
    `# Execution graph (${graph.stage})`,
    `Graph ${graph.graph_id} of ${plain(graph.intent_id)}, checksum \`${graph.checksum}\`.`,
    ['```mermaid', ...mermaid(graph), '```'].join('\n'),
    '## Nodes',
    table(['Node', 'Type', 'What', 'Risk', 'Effects', 'Evidence', 'Rules'], graph.nodes, (n) => {
      const [evidence, rules] = [plainList(n.evidence_refs), plainList(n.rule_refs)]
      return [n.node_id, n.node_type, plain(n.label), n.risk_level ?? '', (n.effects ?? []).join(', '), evidence, rules]
    }),
    '## Who does what',
    table(['Agent', 'Role', 'Nodes'], graph.swimlanes, ({ agent_id, role, node_refs }) => {
      return [plain(agent_id), plain(role), node_refs.join(', ')]
    }),
    '## Left out',
    bullets(graph.dropped_steps, leftOut),
    '## Answers in force',
    bullets(graph.applied_answers, ({ key, value, provided_by, changed }) => {
      const effect = changed.map(plain).join('; ') || 'nothing changes'
      return `${plain(key)} = ${plain(value)} (${provided_by}): ${effect}`
    }),
  )
}

function leftOut({ step_id, reason }: { readonly step_id: string; readonly reason: string }): string {
  return `${plain(step_id)}: ${plain(reason)}`
}

function mermaid({ nodes, edges }: ExecutionGraph): string[] {
  return [
    'flowchart TD',
    ...nodes.map(({ node_id, node_type, label }) => {
      const [open, close] = shapes[node_type]
      return `  ${node_id}${open}"${quoted(label)}"${close}`
    }),
    ...edges.map(({ from_node, to_node, edge_type, condition }) => {
      const label = edge_type === 'conditional' ? ` -- "${quoted(condition ?? 'if')}"` : ''
      return `  ${from_node}${label} --> ${to_node}`
    }),
  ]
}

/** Replaces the characters of a label that could end the diagram. */
const quoted = (label: string): string => label.replaceAll(/["`<>\n]/g, ' ')

function questionsMarkdown({ pack_id, round, questions, resolved_by_default }: QuestionPack): string {
  return page(
    `# Questions, round ${round}`,
    `Answer with \`question_pack_id\` ${pack_id}.`,
    ...questions.flatMap(({ default_strategy: fallback, ...question }) => [
      `## ${plain(question.question_text)}`,
      `${question.question_id}, ${question.type}, ${question.blocking_level}. ${plain(question.impact.description)}`,
      plain(question.context),
      bullets(question.suggested_answers, ({ value, answer_text, rationale }) => {
        return `**${plain(value)}**: ${plain(answer_text)} ${plain(rationale)}`
      }),
      `Without an answer${fallback.action === 'use' ? `: ${plain(fallback.value)}` : ' the plan is blocked'}. ${plain(fallback.explanation)}`,
      `Evidence: ${plainList(question.evidence_refs)}`,
    ]),
    '## Answered by default',
    bullets(resolved_by_default, ({ key, value, reason }) => `${plain(key)} = ${plain(value)}: ${plain(reason)}`),
  )
}

function failureMarkdown(pack: FailurePack): string {
  return page(
    `# ${pack.outcome}: ${plain(pack.message)}`,
    `${pack.failure_type} (${plain(pack.cause)}) in ${plain(pack.failed_at_state)}.${pack.needs_person ? ' A person has to look.' : ''}`,
    '## What is wrong',
    bullets(pack.problems, ({ path, message }) => `${path === undefined ? '' : `\`${path}\`: `}${plain(message)}`),
    '## What to do',
    bullets(pack.recovery_suggestions, plain),
  )
}

function reviewMarkdown(pack: ReviewPack): string {
  const { plan_summary: plan, risk } = pack
  return page(
    '# Review',
    plain(plan.goal),
    bullets(plan.success_criteria, plain),
    `${plan.actions} actions in ${plan.phases} phases, ${durationOf(plan)}, complexity ${plan.complexity_score} of 100.`,
    `## Risk: ${risk.overall}`,
    bullets(risk.justification, (r) => `${r.level}: ${plain(r.reason)} (${plainList(r.evidence_refs)})`),
    '## Impact',
    table(['What', 'Estimated', 'Allowed', 'Within', 'Not estimated'], measures, (what) => {
      const { estimated, allowed, within, not_estimated } = pack.change_impact[what]
      const kept = within === 'no' ? '**no**' : within.replace('_', ' ')
      return [plain(what), `${estimated ?? 'not estimated'}`, `${allowed ?? 'any'}`, kept, plainList(not_estimated)]
    }),
    '## Red lines',
    bullets(pack.red_lines, ({ red_line, rule, verdict, reason }) => {
      const found = verdict === 'holds' ? `holds: ${plain(rule)}` : `**${verdict.replace('_', ' ')}**: ${plain(reason)}`
      return `${red_line} ${found}`
    }),
    '## Who has to look',
    bullets(pack.review_gates, ({ node_id, category, step_id, criteria }) => {
      return `${node_id} (${category ?? plain(step_id ?? 'plan')}): ${criteria.map(plain).join(' ')}`
    }),
    '## How to undo it',
    table(['Order', 'Step', 'Irreversible', 'Instruction'], pack.rollback_guide, (r) => {
      return [String(r.order), plain(r.step_id), r.is_irreversible ? '**yes**' : 'no', plain(r.instruction)]
    }),
    '## Warnings',
    bullets(pack.warnings, (w) => `${plain(w.step_id)}: ${plain(w.reason)} (${plain(w.rule_id)})`),
    '## Left out',
    bullets(plan.dropped_steps, leftOut),
  )
}

function durationOf({ estimated_duration_ms, duration_not_estimated }: ReviewPack['plan_summary']): string {
  if (estimated_duration_ms === null) return 'duration not estimated'
  const open = duration_not_estimated.length === 0 ? '' : ` without ${plainList(duration_not_estimated)}`
  return `about ${estimated_duration_ms} ms${open}`
}

/** Writes the page of one type of artifact. A method, so that each page can name the type that it is called with. */
type Page = { write(artifact: unknown): string }

/** Artifacts that people read first. The others are written as nested lists. */
const pages: Readonly<Record<string, Page>> = {
  execution_graph: { write: graphMarkdown },
  execution_graph_draft: { write: graphMarkdown },
  review_pack: { write: reviewMarkdown },
  rule_decisions: { write: decisionsMarkdown },
  run_tape: { write: tapeMarkdown },
  question_pack: { write: questionsMarkdown },
  failure_pack: { write: failureMarkdown },
}

/** The same artifact always gives the same page, so a page can be checked against its artifact. */
export function markdownOf(type: string, artifact: Json): string {
  const title = plain(type.replaceAll('_', ' '))
  return pages[type]?.write(artifact) ?? page(`# ${title}`, lines(artifact, 0).join('\n') || '_Empty._')
}

/** Escapes a text from outside, so that it cannot open a table cell, a heading or a link. */
export function plain(text: string): string {
  const marked = text.replaceAll(/[\\`*_{}[\]<>#|]/g, (mark) => `\\${mark}`)
  if (!marked.includes('\n')) return marked
  // Line by line: a pattern with blanks on both sides of the break takes minutes over a long row of blanks.
  const lines = marked.split('\n')
  const last = lines.length - 1
  return lines
    .map((line, i) => (i === 0 ? line.trimEnd() : i === last ? line.trimStart() : line.trim()))
    .filter((line, i) => line !== '' || i === 0 || i === last)
    .join(' ')
}

const plainList = (texts: readonly string[] = []): string => texts.map(plain).join(', ')

function table<T>(head: readonly string[], items: readonly T[], cells: (item: T) => readonly string[]): string {
  if (items.length === 0) return '_None._'
  return [head, head.map(() => '---'), ...items.map(cells)].map((row) => `| ${row.join(' | ')} |`).join('\n')
}

function bullets<T>(items: readonly T[], text: (item: T) => string): string {
  return items.length === 0 ? '_None._' : items.map((item) => `- ${text(item)}`).join('\n')
}

const page = (...parts: readonly string[]): string => `${parts.join('\n\n')}\n`

/** Nested lists, keys sorted. */
function lines(value: Json, depth: number): string[] {
  const indent = '  '.repeat(depth)
  const item = (label: string, member: Json) =>
    isLeaf(member)
      ? [`${indent}- ${label}${leaf(member)}`]
      : [`${indent}- ${label.trimEnd()}`, ...lines(member, depth + 1)]
  if (Array.isArray(value)) return value.flatMap((member: Json, i) => item(isLeaf(member) ? '' : `${i + 1}:`, member))
  if (!isRecord(value)) return [`${indent}- ${leaf(value)}`]
  return Object.keys(value)
    .sort()
    .flatMap((key) => item(`**${plain(key)}**: `, value[key] as Json))
}

function isLeaf(value: Json): boolean {
  return value === null || typeof value !== 'object' || Object.keys(value).length === 0
}

function leaf(value: Json): string {
  if (typeof value === 'string') return plain(value)
  return value !== null && typeof value === 'object' ? '_none_' : String(value)
}
