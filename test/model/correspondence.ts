import type { ContractStatus } from '../../src/machines/contract.ts'
import type { RunStatus } from '../../src/machines/run.ts'
import type { ToolState } from '../../src/machines/tool.ts'
import type { TurnState } from '../../src/machines/turn.ts'
import type { WaitingReason } from '../../src/runes/kinds.ts'
import type { AgentState } from './world.ts'

/**
 * The implications of the couplings of `src/machines`; the exploration of this folder proves it for every reachable state.
 * Which contract statuses may stand next to a tool state between two appends.
 * `null` is a call without a contract: one whose key was taken.
 */
// biome-ignore format: tables are audited by eye, so their columns line up
const contractsBeside: { readonly [S in ToolState]: readonly (ContractStatus | null)[] } = {
  pending_call:      ['pending'],
  awaiting_approval: ['waiting'],
  executing:         ['running', 'waiting'],
  denied:            ['rejected', null],
  completed_result:  ['completed'],
  error_result:      ['failed', 'waiting', 'completed'],
  timeout_result:    ['failed', 'cancelled'],
  cancelled_result:  ['cancelled'],
}

/** Whether they fit. A waiting contract of a tool that executes or ended in an error can only be an unknown outcome. */
export function toolFitsContract(
  tool: ToolState,
  contract: ContractStatus | null,
  reason?: WaitingReason | undefined,
): boolean {
  if (!contractsBeside[tool].includes(contract)) return false
  if (contract !== 'waiting') return true
  return reason === (tool === 'awaiting_approval' ? 'approval' : 'outcome_unknown')
}

/** Where the turn of a run and the agent that runs it may be while the run is in a status. */
// biome-ignore format: as above
const besideRun: { readonly [S in RunStatus]: readonly (readonly [TurnState, AgentState])[] } = {
  queued:       [['idle', 'idle'], ['tool_executing', 'running_turn']],
  running:      [['streaming', 'running_turn'], ['tool_executing', 'running_turn']],
  waiting_user: [['tool_executing', 'running_turn']],
  succeeded:    [['idle', 'idle'], ['idle', 'terminated']],
  failed:       [['idle', 'idle'], ['idle', 'terminated']],
  canceled:     [['idle', 'idle'], ['idle', 'terminated']],
}

export function runFitsTurn(run: RunStatus, turn: TurnState, agent: AgentState): boolean {
  return besideRun[run].some(([t, a]) => t === turn && a === agent)
}
