/**
 * Observation as functions: what `sw.sessions`, `sw.runs` and `sw.executions` show, from runes that you have read. Each
 * one is pure: the same runes give the same answer.
 */
import './node-version.ts'

export { type Topology, topology } from '../kernel/topology.ts'
export { machines } from '../machines/all.ts'
export {
  type ContractHistory,
  consequenceView,
  contractHistories,
  snapshot,
  transitionRecords,
} from '../observation/contract.ts'
export { dialogueOf } from '../observation/dialogue.ts'
export { fcmpStream } from '../observation/fcmp.ts'
export { executionTimeline, executionTrace, graphState } from '../observation/graph-state.ts'
