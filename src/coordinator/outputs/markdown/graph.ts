import type { ExecutionGraph } from '../../schemas/execution-graph.ts'
import { bullets, page, plain, table } from './text.ts'

const shapes: { readonly [T in ExecutionGraph['nodes'][number]['node_type']]: readonly [string, string] } = {
  phase: ['([', '])'],
  action_proposal: ['[', ']'],
  decision_point: ['{', '}'],
  question: ['{{', '}}'],
  review_gate: ['[/', '/]'],
}

/** The plan as a picture for people and a table for those who check it. */
export function graphMarkdown(graph: ExecutionGraph): string {
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
