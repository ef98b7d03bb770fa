import type { RuneLike } from './audit-runes.ts'

interface Call {
  readonly turn: string | undefined
  approval: 'not_asked' | 'asked' | 'given'
  is_over: boolean
  results: number
}

const turnEnds: ReadonlySet<string> = new Set(['turn.completed', 'turn.interrupted', 'turn.error'])

/** The named invariants of specification 002, over the runes of any number of sessions, oldest first. */
export function auditInvariants(runes: readonly RuneLike[]): readonly string[] {
  const sessions = Map.groupBy(runes, (rune) => rune.session_id)
  return [...sessions.values()].flatMap((log) => [...toolInvariants(log), ...turnInvariant(log)])
}

function toolInvariants(log: readonly RuneLike[]): readonly string[] {
  const calls = new Map<string, Call>()
  const ended = new Set(log.filter((r) => turnEnds.has(r.kind)).map((r) => r.turn_id))
  const problems = log.flatMap((rune) => ofToolRune(calls, rune))
  const unfinished = [...calls].flatMap(([id, call]) => {
    const is_due = call.is_over || (call.turn !== undefined && ended.has(call.turn))
    return is_due && call.results === 0 ? [`INV-TOOL-TERMINAL: call ${id} is over and has no tool.result`] : []
  })
  return [...problems, ...unfinished]
}

function ofToolRune(calls: Map<string, Call>, rune: RuneLike): readonly string[] {
  const { kind, call_id } = rune
  if (call_id === undefined) return []
  if (kind === 'tool.call') {
    if (!calls.has(call_id))
      calls.set(call_id, { turn: rune.turn_id, approval: 'not_asked', is_over: false, results: 0 })
    return []
  }
  const call = calls.get(call_id)
  if (kind === 'tool.result') {
    if (call === undefined) return [`INV-TOOL-CALL-BEFORE-RESULT: call ${call_id} has a result and was never made`]
    call.results += 1
    const success = call.approval === 'asked' && rune.to === 'completed_result'
    return [
      ...(call.results === 2 ? [`INV-TOOL-TERMINAL: call ${call_id} has more than one tool.result`] : []),
      ...(success ? [ranUnapproved(call_id)] : []),
    ]
  }
  if (call === undefined) return []
  if (kind === 'tool.approval_requested') call.approval = 'asked'
  if (kind === 'tool.approved') call.approval = 'given'
  if (kind === 'tool.denied') call.is_over = true
  const runs = kind === 'tool.progress' || (rune.machine === 'tool' && rune.to === 'executing')
  return runs && call.approval === 'asked' ? [ranUnapproved(call_id)] : []
}

function ranUnapproved(call_id: string): string {
  return `INV-TOOL-APPROVAL-BEFORE-EXEC: call ${call_id} ran before it was approved`
}

function turnInvariant(log: readonly RuneLike[]): readonly string[] {
  const open = new Map<string, string>()
  return log.flatMap(({ kind, agent_id, turn_id = 'unnamed' }) => {
    if (agent_id === undefined) return []
    if (turnEnds.has(kind) && open.get(agent_id) === turn_id) open.delete(agent_id)
    if (kind !== 'turn.started') return []
    const other = open.get(agent_id)
    open.set(agent_id, turn_id)
    return other === undefined
      ? []
      : [`INV-TURN-SEQUENTIAL: agent ${agent_id} began turn ${turn_id} while ${other} was under way`]
  })
}
