/**
 * Observation as functions, for runes that you have read. Each one is pure: the same runes give the same answer. Methods
 * and functions share these names, where a function works on the runes and a method finds them by an id:
 *
 * - `snapshot` (which also says whether the process of the run is gone), `consequenceView`, `transitionRecords`:
 *   `sw.executions.snapshot`, `.consequence`, `.transitions`
 * - `executionTrace`, `fcmpStream`: `sw.runs.trace`, `.fcmp`
 * - `executionTimeline`, `graphState`, `memoryFacts`: `sw.sessions.timeline`, `.graphState`, `.memory`
 * - `topology`: `sw.machines.topology`
 *
 * `contractHistories` and `dialogueOf` have no method: they give the parts that the others are made of.
 */
import './node-version.ts'

export type {
  Forbidden as ForbiddenMove,
  Machine,
  State as MachineState,
  Tone,
  Transition as MachineMove,
} from '../kernel/machine.ts'
export { type Topology, topology } from '../kernel/topology.ts'
export { type MachineName, machines } from '../machines/all.ts'
export {
  type ContractHistory,
  consequenceView,
  contractHistories,
  memoryFacts,
  snapshot,
  transitionRecords,
} from '../observation/contract.ts'
export { dialogueOf } from '../observation/dialogue.ts'
export { fcmpStream } from '../observation/fcmp.ts'
export { executionTimeline, executionTrace, graphState } from '../observation/graph-state.ts'
export type { Draft as RuneDraft } from '../runes/rune.ts'
