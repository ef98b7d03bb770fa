import type { Json } from '../../kernel/json.ts'
import { givenOf } from '../given.ts'
import { actionsWithoutEvidence } from '../graph/checks.ts'
import type { Progress } from '../progress.ts'
import { executionPayloads, fullAutoRisk, redLinesOf } from '../red-lines.ts'
import type { RegistryIndex } from '../registry/references.ts'
import type { ExecutionGraph } from '../schemas/execution-graph.ts'
import type { Problem, RedLine } from '../schemas/problem.ts'

/**
 * The five red lines on the plan as it is about to be frozen. Answers and
 * defaults may have changed its risk, its steps and its evidence since the
 * precheck, so nothing is taken over from there.
 */
export function finalRedLines(progress: Progress, graph: ExecutionGraph): RedLine[] {
  const { context, index } = givenOf(progress)
  const { input, artifacts, ledger } = progress
  const { mode } = context.effective
  const assessed = artifacts.risk_assessment.at(-1)?.overall_risk
  return redLinesOf({
    RL1: { problems: [input.intent, ...takenPacks(ledger)].flatMap((carried) => executionPayloads(carried)) },
    RL2: { problems: mode === 'full_auto' ? ledger.asked.map(askedIn) : [] },
    RL3:
      assessed === undefined
        ? { not_evaluated: 'The risk of the plan was never assessed.' }
        : { problems: fullAutoRisk(mode, assessed) },
    RL4: { problems: actionsWithoutEvidence(graph).map(bare) },
    RL5:
      artifacts.precheck_report === undefined
        ? { not_evaluated: 'The registry was never looked at.' }
        : { problems: strangers(graph, artifacts.precheck_report.registry.confirmed, index) },
  })
}

/** As they arrived; a pack that was refused is not part of the plan. */
function takenPacks({ arrived, read, refused }: Progress['ledger']): readonly Json[] {
  const isRefused = (i: number) => refused.some((one) => one.arrived === i)
  return arrived
    .slice(0, read)
    .flatMap((round, i) => ('answer_pack' in round && !isRefused(i) ? [round.answer_pack] : []))
}

function askedIn(question_id: string): Problem {
  return { code: 'full_auto_asked', message: `${question_id} was asked in full_auto.`, refs: [question_id] }
}

function bare(node_id: string): Problem {
  return { code: 'action_without_evidence', message: `${node_id} has no evidence.`, refs: [node_id] }
}

/** Commands, agents and roles of the graph that the precheck did not find in the registry. */
function strangers(
  { nodes, swimlanes }: ExecutionGraph,
  confirmed: readonly { readonly kind: string; readonly id: string; readonly version: string }[],
  index: RegistryIndex,
): Problem[] {
  const commands = nodes
    .filter(({ command_ref }) => command_ref !== undefined)
    .filter(
      ({ command_ref, command_version }) =>
        !confirmed.some(
          ({ kind, id, version }) => kind === 'command' && id === command_ref && version === command_version,
        ),
    )
    .map(({ command_ref, command_version }) => `command ${command_ref} ${command_version}`)
  const agents = swimlanes.flatMap(({ agent_id, role }) => {
    const agent = confirmed.find(({ kind, id }) => kind === 'agent' && id === agent_id)
    if (agent === undefined) return [`agent ${agent_id}`]
    const entry = index.versions('agent', agent_id).find(({ version }) => version === agent.version)
    return entry?.roles.includes(role) === true ? [] : [`agent ${agent_id} as ${role}`]
  })
  return [...commands, ...agents].map((what) => ({
    code: 'reference_missing',
    message: `The plan uses ${what}, which the registry does not have.`,
  }))
}
