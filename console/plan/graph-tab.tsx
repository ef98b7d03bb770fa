import { useState } from 'react'
import type { ExecutionGraph, GraphNode } from '../../src/coordinator/schemas/plan.ts'
import { planEndpoints } from '../../src/wire/plan.ts'
import { ask } from '../api/request.ts'
import { Empty } from '../parts/states.tsx'
import { amend, usePlace } from '../route.ts'
import { useAsked } from '../use-asked.ts'
import { differenceOf } from './difference.ts'
import { LaneGraph } from './lane-graph.tsx'

const kinds: { readonly [K in GraphNode['node_type']]: string } = {
  phase: '▤ phase',
  action_proposal: '▶ action',
  decision_point: '◇ decision',
  question: '? question',
  review_gate: '⊓ review',
}

/** The graph in swimlanes, as a draft and as it was finally, and what answers changed in between. */
export function GraphTab({ coordination_id, version }: { coordination_id: string; version: string }) {
  const { query } = usePlace()
  const [chosen, setChosen] = useState<string>()
  const draft = useAsked(`draft ${coordination_id} ${version}`, (signal) =>
    ask(planEndpoints.getPlanGraph, { params: { coordination_id }, query: { version: 'draft' } }, signal),
  ).value
  const final = useAsked(`final ${coordination_id} ${version}`, (signal) =>
    ask(planEndpoints.getPlanGraph, { params: { coordination_id }, query: { version: 'final' } }, signal),
  ).value
  const wanted = query.get('version') ?? (final === undefined ? 'draft' : 'final')
  const graph = wanted === 'final' ? final : draft
  const isOutline = query.get('as') === 'outline'
  const node = graph?.nodes.find(({ node_id }) => node_id === chosen)
  return (
    <>
      <div className="row">
        {(['draft', 'final'] as const).map((name) => (
          <button
            key={name}
            type="button"
            aria-pressed={wanted === name}
            disabled={(name === 'draft' ? draft : final) === undefined}
            onClick={() => amend({ version: name })}
          >
            {name}
          </button>
        ))}
        <button type="button" aria-pressed={isOutline} onClick={() => amend({ as: isOutline ? null : 'outline' })}>
          as an outline
        </button>
        {draft !== undefined && final !== undefined && <span>{differenceOf(draft, final)}</span>}
      </div>
      {graph === undefined ? (
        <Empty title={`There is no ${wanted} graph.`}>
          <p>A graph is drawn once the rules have judged every command; see the tape for the guard it waits for.</p>
        </Empty>
      ) : isOutline ? (
        <Outline graph={graph} />
      ) : (
        <div className={node === undefined ? '' : 'split'}>
          <LaneGraph
            name={`The ${wanted} graph`}
            nodes={graph.nodes.map((one) => ({
              id: one.node_id,
              lane: laneOf(graph, one.node_id),
              className: `is-${one.node_type}${one.risk_level === undefined ? '' : ` risk-${one.risk_level}`}`,
              title: one.label,
              label: (
                <>
                  <span className="lane-kind">
                    {kinds[one.node_type]} {one.risk_level !== undefined && `· ${one.risk_level}`}
                  </span>
                  <span className="lane-label">{one.label}</span>
                </>
              ),
            }))}
            edges={graph.edges.map(({ from_node, to_node, edge_type }) => ({
              from: from_node,
              to: to_node,
              className: `is-${edge_type}`,
            }))}
            chosen={chosen}
            choose={setChosen}
          />
          {node !== undefined && <NodeFacts node={node} />}
        </div>
      )}
      {graph !== undefined && graph.dropped_steps.length > 0 && (
        <section>
          <h3>Left out</h3>
          <ul className="plain-list">
            {graph.dropped_steps.map(({ step_id, reason, rule_refs }) => (
              <li key={step_id}>
                ⊘ <strong>{step_id}</strong>: {reason} <span className="faint">{rule_refs.join(', ')}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  )
}

function laneOf(graph: ExecutionGraph, node_id: string): string {
  const lane = graph.swimlanes.find(({ node_refs }) => node_refs.includes(node_id))
  return lane === undefined ? 'plan' : lane.role
}

function NodeFacts({ node }: { node: GraphNode }) {
  const {
    label,
    description,
    node_type,
    command_ref,
    effects = [],
    risk_level,
    evidence_refs = [],
    rule_refs = [],
  } = node
  return (
    <aside className="details" aria-label={label}>
      <h2>{label}</h2>
      <p>
        {kinds[node_type]} {risk_level !== undefined && <span className="chip">risk {risk_level}</span>}
      </p>
      {description !== undefined && <p>{description}</p>}
      <dl className="facts-list">
        <dt>Command</dt>
        <dd>{command_ref ?? 'none'}</dd>
        <dt>Effects</dt>
        <dd>{effects.join(', ') || 'none'}</dd>
        <dt>Rules</dt>
        <dd>{rule_refs.join(', ') || 'none'}</dd>
        <dt>Evidence</dt>
        <dd>{evidence_refs.join(', ') || 'none'}</dd>
        {node.review_criteria !== undefined && (
          <>
            <dt>Reviewed for</dt>
            <dd>{node.review_criteria.join(' ')}</dd>
          </>
        )}
      </dl>
    </aside>
  )
}

/** The same graph as a list, lane by lane. */
function Outline({ graph }: { graph: ExecutionGraph }) {
  const byId = new Map(graph.nodes.map((node) => [node.node_id, node]))
  return (
    <ul className="outline">
      {graph.swimlanes.map(({ swimlane_id, role, node_refs }) => (
        <li key={swimlane_id}>
          <strong>{role}</strong>
          <ol>
            {node_refs.map((id) => {
              const after = graph.edges
                .filter(({ to_node }) => to_node === id)
                .map(({ from_node }) => byId.get(from_node)?.label)
              return (
                <li key={id}>
                  {kinds[byId.get(id)?.node_type ?? 'phase']}: {byId.get(id)?.label}
                  {after.length > 0 && <span className="faint"> after {after.join(', ')}</span>}
                </li>
              )
            })}
          </ol>
        </li>
      ))}
    </ul>
  )
}
