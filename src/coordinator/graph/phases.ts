import { agentOf, type Given, mustResolve } from '../given.ts'
import type { Workflow } from '../schemas/registry.ts'
import type { PhaseName } from '../schemas/scalars.ts'

/** A selected phase with the selected phases it follows. */
export interface PlannedPhase {
  readonly node_id: string
  readonly workflow_id: string
  readonly phase: PhaseName
  readonly agent_id: string
  readonly parallel: boolean
  /** Node ids. Empty for the first phase of the first workflow. */
  readonly after: readonly string[]
}

/** Workflows follow one another as selected; within one, phases follow as the registry says. */
export function phasesOf({ intent, index }: Given): readonly PlannedPhase[] {
  const planned: PlannedPhase[] = []
  let earlier: readonly string[] = []
  for (const { workflow_id, version, phases } of intent.selected_workflows) {
    const workflow = mustResolve(index, 'workflow', workflow_id, version)
    const chosen = workflow.phases.filter(({ phase }) => phases.includes(phase))
    const first = planned.length
    const nodeOf = (phase: PhaseName) => `node_phase_${pad(first + chosen.findIndex((one) => one.phase === phase) + 1)}`
    const ofThis: PlannedPhase[] = chosen.map(({ phase, role, parallel }) => {
      const before = selectedBefore(workflow, phase, phases)
      return {
        node_id: nodeOf(phase),
        workflow_id,
        phase,
        agent_id: agentOf({}, role, intent).agent_id,
        parallel,
        after: before.length > 0 ? before.map(nodeOf) : earlier,
      }
    })
    planned.push(...ofThis)
    const followed = new Set(ofThis.flatMap(({ after }) => after))
    const last = ofThis.filter(({ node_id }) => !followed.has(node_id)).map(({ node_id }) => node_id)
    if (last.length > 0) earlier = last
  }
  return planned
}

/** The nearest selected phases before this one. It looks through phases that are not selected. */
function selectedBefore(workflow: Workflow, phase: PhaseName, selected: readonly PhaseName[]): PhaseName[] {
  const found = new Set<PhaseName>()
  const seen = new Set<PhaseName>([phase])
  const look = (name: PhaseName) => {
    for (const before of directlyBefore(workflow, name)) {
      if (selected.includes(before)) found.add(before)
      else if (!seen.has(before)) {
        seen.add(before)
        look(before)
      }
    }
  }
  look(phase)
  return workflow.phases.map((one) => one.phase).filter((name) => found.has(name))
}

function directlyBefore(workflow: Workflow, phase: PhaseName): readonly PhaseName[] {
  const at = workflow.phases.findIndex((one) => one.phase === phase)
  const previous = workflow.phases[at - 1]
  return workflow.phases[at]?.after ?? (previous === undefined ? [] : [previous.phase])
}

/** A number as it stands in node ids. */
export function pad(n: number): string {
  return String(n).padStart(3, '0')
}
