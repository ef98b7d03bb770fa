import type { Json } from '../../kernel/json.ts'
import { isRecord } from '../checksum.ts'
import type { RuleDecisions } from '../schemas/judgement.ts'
import { type ExecutionGraph, type FailurePack, measures, type ReviewPack } from '../schemas/plan.ts'
import type { QuestionPack } from '../schemas/questions.ts'
import type { RunTape } from '../schemas/record.ts'

function decisionsMarkdown({ decisions, round }: RuleDecisions): string {
  return page(
    `# Verdicts, round ${round}`,
    table(
      ['Step', 'Command', 'Verdict', 'Risk', 'Why'],
      decisions.map((d) => [
        plain(d.step_id),
        plain(d.command_id),
        d.decision ?? '**undecidable**',
        d.risk_level,
        plain(d.reason),
      ]),
    ),
    '## Rules that spoke',
    table(
      ['Step', 'Rule', 'Version', 'Verdict', 'Severity', 'Reason'],
      decisions.flatMap((d) =>
        d.matched_rules.map((r) => [
          plain(d.step_id),
          plain(r.rule_id),
          r.version,
          r.verdict,
          r.severity,
          plain(r.reason),
        ]),
      ),
    ),
  )
}

function tapeMarkdown(tape: RunTape): string {
  return page(
    '# Run tape',
    `${tape.run_id}, ${tape.state}${tape.is_closed ? ', closed' : ''}.`,
    table(
      ['#', 'From', 'To', 'Trigger', 'Guards', 'Outputs'],
      tape.entries.map((e) => [
        String(e.sequence),
        plain(e.from_state),
        plain(e.to_state),
        plain(e.trigger),
        e.guards_evaluated.map(({ guard_name, passed }) => `${passed ? '✓' : '✗'} ${plain(guard_name)}`).join('<br>'),
        e.outputs_produced.map(({ artifact_type }) => plain(artifact_type)).join('<br>'),
      ]),
    ),
    '## Decisions',
    bullets(
      tape.decisions.map(
        ({ at_state, decision_type, rationale, outcome }) =>
          `${plain(at_state)}, ${plain(decision_type)}: ${plain(rationale)} → ${plain(outcome)}`,
      ),
    ),
  )
}

const shapes: { readonly [T in ExecutionGraph['nodes'][number]['node_type']]: readonly [string, string] } = {
  phase: ['([', '])'],
  action_proposal: ['[', ']'],
  decision_point: ['{', '}'],
  question: ['{{', '}}'],
  review_gate: ['[/', '/]'],
}

/** The plan as a picture for people and a table for those who check it. */
function graphMarkdown(graph: ExecutionGraph): string {
  return page(
    `# Execution graph (${graph.stage})`,
    `Graph ${graph.graph_id} of ${plain(graph.intent_id)}, checksum \`${graph.checksum}\`.`,
    ['```mermaid', ...mermaid(graph), '```'].join('\n'),
    '## Nodes',
    table(
      ['Node', 'Type', 'What', 'Risk', 'Effects', 'Evidence', 'Rules'],
      graph.nodes.map((n) => [
        n.node_id,
        n.node_type,
        plain(n.label),
        n.risk_level ?? '',
        (n.effects ?? []).join(', '),
        (n.evidence_refs ?? []).map(plain).join(', '),
        (n.rule_refs ?? []).map(plain).join(', '),
      ]),
    ),
    '## Who does what',
    table(
      ['Agent', 'Role', 'Nodes'],
      graph.swimlanes.map(({ agent_id, role, node_refs }) => [plain(agent_id), plain(role), node_refs.join(', ')]),
    ),
    '## Left out',
    bullets(graph.dropped_steps.map(({ step_id, reason }) => `${plain(step_id)}: ${plain(reason)}`)),
    '## Answers in force',
    bullets(
      graph.applied_answers.map(
        (a) =>
          `${plain(a.key)} = ${plain(a.value)} (${a.provided_by}): ${a.changed.map(plain).join('; ') || 'nothing changes'}`,
      ),
    ),
  )
}

function mermaid({ nodes, edges }: ExecutionGraph): string[] {
  return [
    'flowchart TD',
    ...nodes.map(({ node_id, node_type, label }) => {
      const [open, close] = shapes[node_type]
      return `  ${node_id}${open}"${quoted(label)}"${close}`
    }),
    ...edges.map(({ from_node, to_node, edge_type, condition }) =>
      edge_type === 'conditional'
        ? `  ${from_node} -- "${quoted(condition ?? 'if')}" --> ${to_node}`
        : `  ${from_node} --> ${to_node}`,
    ),
  ]
}

/** A label may hold anything; a diagram may not end because of it. */
function quoted(label: string): string {
  return label.replaceAll(/["`<>\n]/g, ' ')
}

function questionsMarkdown({ pack_id, round, questions, resolved_by_default }: QuestionPack): string {
  return page(
    `# Questions, round ${round}`,
    `Answer with \`question_pack_id\` ${pack_id}.`,
    ...questions.flatMap((question) => [
      `## ${plain(question.question_text)}`,
      `${question.question_id}, ${question.type}, ${question.blocking_level}. ${plain(question.impact.description)}`,
      plain(question.context),
      bullets(
        question.suggested_answers.map(
          ({ value, answer_text, rationale }) => `**${plain(value)}**: ${plain(answer_text)} ${plain(rationale)}`,
        ),
      ),
      question.default_strategy.action === 'use'
        ? `Without an answer: ${plain(question.default_strategy.value)}. ${plain(question.default_strategy.explanation)}`
        : `Without an answer the plan is blocked. ${plain(question.default_strategy.explanation)}`,
      `Evidence: ${question.evidence_refs.map(plain).join(', ')}`,
    ]),
    '## Settled by default',
    bullets(resolved_by_default.map(({ key, value, reason }) => `${plain(key)} = ${plain(value)}: ${plain(reason)}`)),
  )
}

function failureMarkdown(pack: FailurePack): string {
  return page(
    `# ${pack.outcome}: ${plain(pack.message)}`,
    `${pack.failure_type} (${plain(pack.cause)}) in ${plain(pack.failed_at_state)}.${pack.needs_person ? ' A person has to look.' : ''}`,
    '## What is wrong',
    bullets(pack.problems.map(({ path, message }) => `${path === undefined ? '' : `\`${path}\`: `}${plain(message)}`)),
    '## What to do',
    bullets(pack.recovery_suggestions.map(plain)),
  )
}

function reviewMarkdown(pack: ReviewPack): string {
  const { plan_summary: plan, risk, change_impact: impact } = pack
  return page(
    '# Review',
    plain(plan.goal),
    bullets(plan.success_criteria.map(plain)),
    `${plan.actions} actions in ${plan.phases} phases, ${durationOf(plan)}, complexity ${plan.complexity_score} of 100.`,
    `## Risk: ${risk.overall}`,
    bullets(
      risk.justification.map(
        ({ level, reason, evidence_refs }) => `${level}: ${plain(reason)} (${evidence_refs.map(plain).join(', ')})`,
      ),
    ),
    '## Impact',
    table(
      ['What', 'Estimated', 'Allowed', 'Within', 'Not estimated'],
      measures
        .map((what) => [what, impact[what]] as const)
        .map(([what, m]) => [
          plain(what),
          m.estimated === null ? 'not estimated' : String(m.estimated),
          m.allowed === null ? 'any' : String(m.allowed),
          m.within === 'no' ? '**no**' : m.within.replace('_', ' '),
          m.not_estimated.map(plain).join(', '),
        ]),
    ),
    '## Red lines',
    bullets(
      pack.red_lines.map(
        ({ red_line, rule, verdict, reason }) =>
          `${red_line} ${verdict === 'holds' ? `holds: ${plain(rule)}` : `**${verdict.replace('_', ' ')}**: ${plain(reason)}`}`,
      ),
    ),
    '## Who has to look',
    bullets(
      pack.review_gates.map(
        ({ node_id, category, step_id, criteria }) =>
          `${node_id} (${category ?? plain(step_id ?? 'plan')}): ${criteria.map(plain).join(' ')}`,
      ),
    ),
    '## How to undo it',
    table(
      ['Order', 'Step', 'Irreversible', 'Instruction'],
      pack.rollback_guide.map((r) => [
        String(r.order),
        plain(r.step_id),
        r.is_irreversible ? '**yes**' : 'no',
        plain(r.instruction),
      ]),
    ),
    '## Warnings',
    bullets(
      pack.warnings.map(({ step_id, rule_id, reason }) => `${plain(step_id)}: ${plain(reason)} (${plain(rule_id)})`),
    ),
    '## Left out',
    bullets(plan.dropped_steps.map(({ step_id, reason }) => `${plain(step_id)}: ${plain(reason)}`)),
  )
}

function durationOf({ estimated_duration_ms, duration_not_estimated }: ReviewPack['plan_summary']): string {
  if (estimated_duration_ms === null) return 'duration not estimated'
  const open = duration_not_estimated.length === 0 ? '' : ` without ${duration_not_estimated.map(plain).join(', ')}`
  return `about ${estimated_duration_ms} ms${open}`
}

/** Writes the page of one type of artifact. A method, so that each page can name the type that it is called with. */
interface Page {
  write(artifact: unknown): string
}

/** Those that people read first have a page of their own. */
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
  const page = pages[type]
  return page === undefined ? genericMarkdown(type.replaceAll('_', ' '), artifact) : page.write(artifact)
}

/** Words from outside stand in Markdown as words: they cannot open a table cell, a heading or a link. */
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

/** A Markdown table. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '_None._'
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

/** A Markdown list. */
function bullets(items: readonly string[]): string {
  return items.length === 0 ? '_None._' : items.map((item) => `- ${item}`).join('\n')
}

/** Parts with a blank line between them, and a newline at the end. */
function page(...parts: readonly string[]): string {
  return `${parts.join('\n\n')}\n`
}

/** Any JSON value as nested lists, keys sorted: for artifacts that people look into rarely. */
function genericMarkdown(title: string, value: Json): string {
  return page(`# ${plain(title)}`, lines(value, 0).join('\n') || '_Empty._')
}

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
  return (
    value === null ||
    typeof value !== 'object' ||
    (Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0)
  )
}

function leaf(value: Json): string {
  if (typeof value === 'string') return plain(value)
  return value !== null && typeof value === 'object' ? '_none_' : String(value)
}
