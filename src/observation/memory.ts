import type { Rune } from '../runes/rune.ts'
import type { MemoryFact } from '../wire/contract.ts'

/** Which facts are asked for. */
export interface MemoryQuery {
  /** Only what this agent remembers. */
  readonly agentId?: string | undefined
}

/** The fact that a rune commits to memory; undefined if it is none, or none that is asked for. */
export function memoryFact(rune: Rune, wanted?: string): MemoryFact | undefined {
  if (rune.kind !== 'memory.committed') return undefined
  const { event_id, at, session_id, run_id = null, agent_id = null } = rune
  if (wanted !== undefined && wanted !== agent_id) return undefined
  return { event_id, at, session_id, run_id, agent_id, ...rune.payload }
}
