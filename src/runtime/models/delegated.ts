import type { ReadModel } from '../../runelog/read-model.ts'

type Delegated = { readonly session_id: string }

/** Agents that were spawned for a task that a run handed on, until they are over. */
export const delegated: ReadModel<Delegated> = {
  name: 'delegated',
  version: 1,
  keys(rune, look) {
    const { agent_id } = rune
    if (agent_id === undefined) return []
    if (rune.kind === 'run.submitted') return rune.payload.parent_call_id === null ? [] : [agent_id]
    return rune.kind === 'agent.terminated' && look(agent_id) !== undefined ? [agent_id] : []
  },
  fold(_row, rune, key) {
    if (rune.kind !== 'run.submitted') return undefined
    return { key, tag: 'open', sort: rune.at, value: { session_id: rune.session_id } }
  },
}
